//! Do very many random objects of every kind survive conversion in both directions?
//!
//! `cargo run --release -p crds --example roundtrip -- 100000`

#[path = "../tests/support/mod.rs"]
mod support;

use support::dice::Dice;
use support::{kinds, laws, random};

fn main() {
    let count: u64 = std::env::args().nth(1).map_or(1000, |count| count.parse().expect("a number of objects"));
    for kind in kinds::all() {
        for seed in 1..=count {
            let mut dice = Dice::Seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let (hub, spoke) = (random::hub(&kind, &mut dice), random::spoke(&kind, &mut dice));
            if let Err(broken) = laws::nothing_is_lost(&kind, &hub, &spoke) {
                eprintln!("{} with seed {seed}: {broken}", kind.pair.kind);
                std::process::exit(1);
            }
        }
        println!("{count} {} objects, both directions, nothing lost", kind.pair.kind);
    }
}
