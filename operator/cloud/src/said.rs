//! What did the cloud say, as far as anybody may read it?
//!
//! Texts of a vendor reach the rest of the program only as `Said`: redacted, one line, at most 200 characters.

use std::fmt;

const LONGEST: usize = 200;

/// A short text for people, with the vendor's request id if there was one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    text: String,
    request_id: Option<String>,
}

impl Said {
    /// Of our own words, or of words that were redacted already. The redactor makes one of a vendor's text.
    pub fn new(text: &str) -> Self {
        Self {
            text: shortened(text),
            request_id: None,
        }
    }

    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id.filter(|id| is_request_id(id));
        self
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.request_id {
            Some(id) => write!(f, " [{id}]"),
            None => Ok(()),
        }
    }
}

/// One line, no markup left over from a web page, at most 200 characters.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty() && *word != "<br" && *word != "/>")
        .collect();
    let line = words.join(" ").replace("<br", "").replace("/>", "");
    let line = line.trim();
    match line.char_indices().nth(LONGEST - 1) {
        Some((at, _)) if line[at..].chars().count() > 1 => format!("{}…", &line[..at]),
        _ => line.to_owned(),
    }
}

/// A request id is shown as it is, so it may not be anything else.
fn is_request_id(id: &str) -> bool {
    id.len() <= 80 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_after_two_hundred_characters() {
        let said = Said::new(&"ä".repeat(5_000));
        assert_eq!(said.text().chars().count(), 200);
        assert!(said.text().ends_with('…'));
        assert_eq!(Said::new(&"a".repeat(200)).text(), "a".repeat(200));
    }

    #[test]
    fn lines_and_markup_become_one_line() {
        let said = Said::new("No image found with ID nope<br /><br />\n\n\n");
        assert_eq!(said.text(), "No image found with ID nope");
    }

    #[test]
    fn only_a_request_id_is_shown_as_one() {
        let id = |text: &str| {
            Said::new("no")
                .with_request_id(Some(text.to_owned()))
                .to_string()
        };
        assert_eq!(id("req-55e34cac"), "no [req-55e34cac]");
        assert_eq!(id("gAAAA token=secret"), "no");
    }
}
