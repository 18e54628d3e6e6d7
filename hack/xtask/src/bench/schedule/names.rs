//! What are labels, zones and types called in this run?
//!
//! A plan must not depend on names, so every seed but the first has its own.

use super::dice::Dice;

/// The seed that keeps the names of Karpenter's own benchmark.
pub const KNOWN_SEED: u64 = 42;

#[derive(Clone, Debug)]
pub struct Names {
    pub zones: Vec<String>,
    pub kind: String,
    /// Labels of pods.
    pub label: String,
    pub near: String,
    pub app: String,
    pub apart: String,
    /// Labels of instance types.
    pub size: String,
    pub special: String,
    pub integer: String,
    pub letters: Vec<String>,
}

impl Names {
    pub fn of(seed: u64) -> Self {
        let letters = ["a", "b", "c", "d", "e", "f", "g"];
        let known = Self {
            zones: (1..=3).map(|at| format!("test-zone-{at}")).collect(),
            kind: "fake-it".to_owned(),
            label: "my-label".to_owned(),
            near: "my-affininity".to_owned(),
            app: "app".to_owned(),
            apart: "nginx".to_owned(),
            size: "size".to_owned(),
            special: "special".to_owned(),
            integer: "integer".to_owned(),
            letters: letters.map(str::to_owned).to_vec(),
        };
        if seed == KNOWN_SEED {
            return known;
        }
        let mut dice = Dice::new(seed ^ 0xface);
        let mut word = || dice.word();
        Self {
            zones: (0..3).map(|_| word()).collect(),
            kind: word(),
            label: word(),
            near: word(),
            app: word(),
            apart: word(),
            size: word(),
            special: word(),
            integer: word(),
            letters: (0..7).map(|_| word()).collect(),
        }
    }
}
