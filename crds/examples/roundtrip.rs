//! Do very many random objects of every kind survive conversion in both directions?
//!
//! `cargo run --release -p crds --example roundtrip -- 100000`

#[path = "../tests/support/mod.rs"]
mod support;

use support::dice::Dice;
use support::{kinds, laws, random};

fn main() {
    let asked = std::env::args().nth(1).unwrap_or_else(|| "1000".to_owned());
    let Ok(count) = asked.parse::<u64>() else {
        eprintln!("{asked:?} is not a number of objects; write for example 100000");
        std::process::exit(2);
    };
    for kind in kinds::all() {
        for seed in 1..=count {
            let mut dice = Dice::Seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (hub, spoke) = (
                random::hub(&kind, &mut dice),
                random::spoke(&kind, &mut dice),
            );
            if let Err(broken) = laws::nothing_is_lost(&kind, &hub, &spoke) {
                eprintln!("{} with seed {seed}: {broken}", kind.pair.kind);
                std::process::exit(1);
            }
        }
        println!(
            "{count} {} objects, both directions, nothing lost",
            kind.pair.kind
        );
    }
}
