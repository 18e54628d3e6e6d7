//! Where does chance come from, and how can a run be replayed with the same luck?
//!
//! Jitter, name suffixes and ids come from a small generator (xoshiro256**, seeded through splitmix64). Secrets do not:
//! in a real process they are drawn from the operating system each time, because the generator's past tells its future.

use rustls::crypto::aws_lc_rs::default_provider;
use thiserror::Error;

#[derive(Debug, Error)]
#[error(
    "the operating system gave no random bytes; nothing that needs a secret can be made until it does"
)]
pub struct NoEntropy;

#[derive(Debug, Clone)]
pub struct Dice {
    state: [u64; 4],
    secrets: Secrets,
}

#[derive(Debug, Clone, Copy)]
enum Secrets {
    FromSystem,
    /// Only in tests and simulations: whoever knows the seed knows the secret.
    FromSeed,
}

impl Dice {
    pub fn real() -> Result<Self, NoEntropy> {
        let mut seed = [0; 8];
        system_bytes(&mut seed)?;
        Ok(Dice {
            state: expand(u64::from_le_bytes(seed)),
            secrets: Secrets::FromSystem,
        })
    }

    pub fn seeded(seed: u64) -> Self {
        Dice {
            state: expand(seed),
            secrets: Secrets::FromSeed,
        }
    }

    /// Independent dice for one part of the process, so that its draws do not depend on how often others draw.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Dice {
            state: expand(self.number()),
            secrets: self.secrets,
        }
    }

    pub fn number(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = self.state[1] << 17;
        self.state[2] ^= self.state[0];
        self.state[3] ^= self.state[1];
        self.state[1] ^= self.state[2];
        self.state[0] ^= self.state[3];
        self.state[2] ^= shifted;
        self.state[3] = self.state[3].rotate_left(45);
        result
    }

    /// From 0 up to, not including, `end`; 0 when `end` is 0. The bias of the multiplication is below 2^-32 for the small
    /// ranges we draw from.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// From 0 up to, not including, 1.
    #[allow(clippy::cast_precision_loss)] // 53 bits are exactly what an f64 holds
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Does an event of this probability happen now?
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// A version 4 UUID.
    pub fn uuid(&mut self) -> String {
        let high = (self.number() & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (self.number() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// Bytes nobody can guess (guessable, and replayable, when these dice were seeded).
    pub fn secret<const N: usize>(&mut self) -> Result<[u8; N], NoEntropy> {
        let mut bytes = [0; N];
        match self.secrets {
            Secrets::FromSystem => system_bytes(&mut bytes)?,
            Secrets::FromSeed => {
                for chunk in bytes.chunks_mut(8) {
                    chunk.copy_from_slice(&self.number().to_le_bytes()[..chunk.len()]);
                }
            }
        }
        Ok(bytes)
    }
}

fn system_bytes(into: &mut [u8]) -> Result<(), NoEntropy> {
    default_provider()
        .secure_random
        .fill(into)
        .map_err(|_| NoEntropy)
}

/// splitmix64: turns one number into a state that is never all zeroes.
fn expand(seed: u64) -> [u64; 4] {
    let mut x = seed;
    std::array::from_fn(|_| {
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = x;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_luck_and_another_seed_another() {
        let draw = |seed| {
            let mut dice = Dice::seeded(seed);
            (dice.number(), dice.uuid(), dice.secret::<12>().unwrap())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn xoshiro_matches_its_published_vector() {
        // The first outputs of xoshiro256** from the state 1, 2, 3, 4.
        let mut dice = Dice {
            state: [1, 2, 3, 4],
            secrets: Secrets::FromSeed,
        };
        assert_eq!(
            [dice.number(), dice.number(), dice.number(), dice.number()],
            [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]
        );
    }

    #[test]
    fn draws_stay_in_range_and_reach_both_ends() {
        let mut dice = Dice::seeded(1);
        let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|_| dice.below(6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(dice.below(0), 0);
        assert!(
            (0..1000)
                .map(|_| dice.fraction())
                .all(|f| (0.0..1.0).contains(&f))
        );
        assert!(!dice.chance(0.0));
        assert!(dice.chance(1.0));
    }

    #[test]
    fn a_uuid_has_its_version_and_variant_where_parsers_look() {
        let mut dice = Dice::seeded(3);
        for _ in 0..100 {
            let uuid = dice.uuid();
            assert_eq!(uuid.len(), 36);
            assert_eq!(uuid.as_bytes()[14], b'4', "{uuid}");
            assert!(
                matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'),
                "{uuid}"
            );
        }
    }

    #[test]
    fn a_fork_does_not_depend_on_later_draws_of_its_parent() {
        let mut first = Dice::seeded(5);
        let mut second = Dice::seeded(5);
        let (mut a, mut b) = (first.fork(), second.fork());
        second.number();
        assert_eq!(a.number(), b.number());
    }

    #[test]
    fn real_dice_differ_from_each_other() {
        let (mut a, mut b) = (Dice::real().unwrap(), Dice::real().unwrap());
        assert_ne!(a.number(), b.number());
        assert_ne!(a.secret::<16>().unwrap(), b.secret::<16>().unwrap());
    }
}
