//! Where do random choices come from, so that a failure can be replayed and made smaller?

/// Choices drawn from a seed, or from bytes: when the bytes run out every choice is 0, which is always the simplest one,
/// so that a shorter or smaller byte string is a simpler object.
pub enum Dice<'a> {
    Seed(u64),
    Bytes(&'a [u8]),
}

impl Dice<'_> {
    pub fn below(&mut self, limit: usize) -> usize {
        match self {
            Self::Seed(state) => {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                usize::try_from((*state >> 11) % limit as u64).unwrap()
            }
            Self::Bytes(bytes) => {
                let (first, rest) = bytes.split_first().map_or((0, *bytes), |(first, rest)| (*first, rest));
                *bytes = rest;
                usize::from(first) % limit
            }
        }
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == chances - 1
    }

    pub fn pick<'b, T>(&mut self, from: &'b [T]) -> &'b T {
        &from[self.below(from.len())]
    }
}
