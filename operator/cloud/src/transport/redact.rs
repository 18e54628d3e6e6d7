//! Which parts of a text may nobody read?
//!
//! A cloud quotes back what it was sent: Nova's 400 holds the whole user data. Every text of a vendor goes through here
//! before it becomes `Said`. A registered secret is masked in plain and in base64, whole or in pieces.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use crate::said::Said;

/// So many characters in a row that also stand in a secret are a piece of it.
const PIECE: usize = 12;
/// Shorter secrets would mask ordinary words.
const SHORTEST: usize = 3;
/// Old tokens and user data are forgotten; they are of no use long before so many new ones came.
const REMEMBERED: usize = 64;
const MASK: &str = "[redacted]";
/// A bootstrap token: six characters, a dot, sixteen characters.
const TOKEN: (usize, usize) = (6, 16);

#[derive(Default)]
pub struct Redactor {
    secrets: Mutex<Secrets>,
}

#[derive(Default)]
struct Secrets {
    /// What we sign in with.
    kept: Vec<SecretString>,
    /// What comes and goes.
    lately: VecDeque<SecretString>,
}

impl Redactor {
    /// This text is masked wherever it appears, for as long as there is this redactor.
    pub fn keep(&self, secret: SecretString) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.kept.push(secret);
    }

    /// From now on this text is masked wherever it appears, until many others have been learnt.
    pub fn learn(&self, secret: SecretString) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.lately.len() >= REMEMBERED {
            secrets.lately.pop_front();
        }
        secrets.lately.push_back(secret);
    }

    /// A vendor's text, fit to be read by anybody. `more` are secrets of this one call.
    pub fn say(&self, text: &str, more: &[SecretString]) -> Said {
        Said::new(&self.masked(text, more))
    }

    /// The whole text with every secret masked.
    pub fn masked(&self, text: &str, more: &[SecretString]) -> String {
        let mut hidden = Hidden::of(text);
        let known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in known.kept.iter().chain(&known.lately).chain(more) {
            let plain = secret.expose_secret();
            hidden.hide(plain.as_bytes());
            hidden.hide(STANDARD.encode(plain).as_bytes());
        }
        drop(known);
        hidden.hide_join_tokens();
        hidden.shown()
    }
}

/// A text and which of its bytes nobody may read.
struct Hidden<'a> {
    text: &'a str,
    unseen: Vec<bool>,
    /// Where each piece of the text stands: the text is short, secrets are many and long.
    pieces: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> Hidden<'a> {
    fn of(text: &'a str) -> Self {
        let mut pieces: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (at, piece) in text.as_bytes().windows(PIECE).enumerate() {
            pieces.entry(piece).or_default().push(at);
        }
        Self {
            text,
            unseen: vec![false; text.len()],
            pieces,
        }
    }

    /// Marks every piece of `secret`.
    fn hide(&mut self, secret: &[u8]) {
        if secret.len() < SHORTEST {
            return;
        }
        if secret.len() < PIECE {
            for (at, window) in self.text.as_bytes().windows(secret.len()).enumerate() {
                if window == secret {
                    self.unseen[at..at + secret.len()].fill(true);
                }
            }
            return;
        }
        for piece in secret.windows(PIECE) {
            for at in self.pieces.get(piece).into_iter().flatten() {
                self.unseen[*at..*at + PIECE].fill(true);
            }
        }
    }

    /// Whatever looks like a token that joins machines is one: after a restart nobody remembers which there are.
    fn hide_join_tokens(&mut self) {
        let bytes = self.text.as_bytes();
        let is_letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let (before, after) = TOKEN;
        for (dot, _) in self.text.match_indices('.') {
            let (Some(from), to) = (dot.checked_sub(before), dot + 1 + after) else {
                continue;
            };
            let (Some(id), Some(secret)) = (bytes.get(from..dot), bytes.get(dot + 1..to)) else {
                continue;
            };
            let longer = from.checked_sub(1).is_some_and(|at| is_letter(&bytes[at]))
                || bytes.get(to).is_some_and(is_letter);
            if !longer && id.iter().chain(secret).all(is_letter) {
                self.unseen[from..to].fill(true);
            }
        }
    }

    fn shown(&self) -> String {
        let mut shown = String::with_capacity(self.text.len().min(1024));
        let mut masking = false;
        for (at, character) in self.text.char_indices() {
            let hide = self.unseen[at..at + character.len_utf8()].contains(&true);
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

    #[test]
    fn what_we_sign_in_with_is_not_forgotten_for_all_that_comes_and_goes() {
        let redactor = Redactor::default();
        redactor.keep("the password".into());
        for number in 0..=REMEMBERED {
            redactor.learn(format!("token number {number:04}").into());
        }
        let shown = redactor.masked("the password, token number 0064", &[]);
        assert_eq!(shown, "[redacted], [redacted]");
    }

    #[test]
    fn a_token_that_joins_machines_is_masked_even_if_nobody_knows_it() {
        let redactor = Redactor::default();
        let shown = redactor.masked("token: abcdef.0123456789abcdef\n", &[]);
        assert_eq!(shown, "token: [redacted]\n");
        let innocent = "host nodeab.region0123456789abcdef.example is down";
        assert_eq!(redactor.masked(innocent, &[]), innocent);
    }
}
