//! Where do ids, tokens and addresses come from, so that the same seed gives the same world?

/// A small seeded generator (splitmix64): statistics hardly matter here, replay does.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A version 4 UUID with dashes.
    pub fn uuid(&mut self) -> String {
        let high = (self.roll() & !0xf000) | 0x4000;
        let low = (self.roll() & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// 32 hexadecimal digits, as Keystone names projects and users.
    pub fn hex(&mut self) -> String {
        self.uuid().replace('-', "")
    }

    /// `length` characters that need no quoting anywhere.
    pub fn word(&mut self, length: usize) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut word = String::with_capacity(length);
        while word.len() < length {
            let mut bits = self.roll();
            for _ in 0..10 {
                word.push(char::from(LETTERS[(bits & 63) as usize]));
                bits >>= 6;
            }
        }
        word.truncate(length);
        word
    }

    pub fn mac(&mut self) -> String {
        let bits = self.roll();
        format!(
            "fa:16:3e:{:02x}:{:02x}:{:02x}",
            (bits >> 16) & 0xff,
            (bits >> 8) & 0xff,
            bits & 0xff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids() {
        let (mut one, mut two) = (Dice::new(7), Dice::new(7));
        assert_eq!(
            (one.uuid(), one.hex(), one.word(40), one.mac()),
            (two.uuid(), two.hex(), two.word(40), two.mac())
        );
        assert_ne!(Dice::new(7).uuid(), Dice::new(8).uuid());
    }

    #[test]
    fn a_uuid_is_of_version_four() {
        let uuid = Dice::new(1).uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
    }
}
