//! Which parts of a text may nobody read?
//!
//! A cloud quotes back what it was sent: Nova's 400 holds the whole user data. Every text of a vendor goes through here
//! before it becomes `Said`. A registered secret is masked in plain and in base64, whole or in pieces.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::said::Said;

/// So many characters in a row that also stand in a secret are a piece of it.
const PIECE: usize = 12;
/// Shorter secrets would mask ordinary words.
const SHORTEST: usize = 3;
/// Old tokens are forgotten; they have expired long before so many new ones came.
const REMEMBERED: usize = 64;
const MASK: &str = "[redacted]";

#[derive(Default)]
pub struct Redactor {
    secrets: Mutex<VecDeque<SecretString>>,
}

impl Redactor {
    /// From now on this text is masked wherever it appears.
    pub fn learn(&self, secret: SecretString) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.len() >= REMEMBERED {
            secrets.pop_front();
        }
        secrets.push_back(secret);
    }

    /// A vendor's text, fit to be read by anybody. `more` are secrets of this one call.
    pub fn say(&self, text: &str, more: &[SecretString]) -> Said {
        Said::new(&self.masked(text, more))
    }

    /// The whole text with every secret masked.
    pub fn masked(&self, text: &str, more: &[SecretString]) -> String {
        let mut hidden = vec![false; text.len()];
        let known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in known.iter().chain(more) {
            let plain = secret.expose_secret();
            hide(text, plain.as_bytes(), &mut hidden);
            hide(text, STANDARD.encode(plain).as_bytes(), &mut hidden);
        }
        drop(known);
        let mut shown = String::with_capacity(text.len().min(1024));
        let mut masking = false;
        for (at, character) in text.char_indices() {
            let hide = hidden[at..at + character.len_utf8()].contains(&true);
            match (hide, masking) {
                (true, false) => shown.push_str(MASK),
                (true, true) => {}
                (false, _) => shown.push(character),
            }
            masking = hide;
        }
        shown
    }
}

/// Marks every piece of `secret` in `text`.
fn hide(text: &str, secret: &[u8], hidden: &mut [bool]) {
    if secret.len() < SHORTEST {
        return;
    }
    let piece = secret.len().min(PIECE);
    let pieces: HashSet<&[u8]> = secret.windows(piece).collect();
    for (at, window) in text.as_bytes().windows(piece).enumerate() {
        if pieces.contains(window) {
            hidden[at..at + piece].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, secret: &str) -> String {
        Redactor::default().masked(text, &[secret.into()])
    }

    #[test]
    fn a_secret_is_masked_in_plain_and_in_base64() {
        let secret = "correct horse battery";
        let encoded = STANDARD.encode(secret);
        assert_eq!(masked(&format!("no <{secret}>"), secret), "no <[redacted]>");
        assert_eq!(
            masked(&format!("no <{encoded}>"), secret),
            "no <[redacted]>"
        );
    }

    #[test]
    fn a_quotation_that_breaks_off_is_masked_too() {
        let secret = "line one of the user data\nline two with a token abcdef.0123456789abcdef";
        let quoted =
            "Invalid input: 'line one of the user data\\nline two with a token abcdef.01234";
        let shown = masked(quoted, secret);
        assert_eq!(shown, "Invalid input: '[redacted]\\n[redacted]");
    }

    #[test]
    fn a_short_password_is_masked_and_innocent_text_is_not() {
        assert_eq!(
            masked("user pw1x is wrong", "pw1x"),
            "user [redacted] is wrong"
        );
        assert_eq!(
            masked("Flavor big could not be found.", "pw1x"),
            "Flavor big could not be found."
        );
    }

    #[test]
    fn what_was_learnt_is_masked_for_every_call() {
        let redactor = Redactor::default();
        redactor.learn("gAAAAAtoken".into());
        assert_eq!(
            redactor.say("token gAAAAAtoken expired", &[]).text(),
            "token [redacted] expired"
        );
    }
}
