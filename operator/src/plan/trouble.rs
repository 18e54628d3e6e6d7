//! What is wrong with the input, and where exactly?

use std::fmt;
use std::path::Path;

/// Something that cannot be read: which file, which document, which field, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub place: Place,
    /// As in `spec.containers[0].image`; empty for the document as a whole.
    pub field: String,
    pub said: String,
}

/// A document of a file, counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    /// 0: the file as a whole.
    pub document: usize,
    /// The item of a List, counted from 1.
    pub item: Option<usize>,
}

impl Trouble {
    pub fn file(path: &Path, said: impl Into<String>) -> Self {
        let place = Place {
            file: path.display().to_string(),
            ..Place::default()
        };
        Self::new(place, "", said)
    }

    pub fn new(place: Place, field: impl Into<String>, said: impl Into<String>) -> Self {
        Self {
            place,
            field: field.into(),
            said: said.into(),
        }
    }
}

impl std::error::Error for Trouble {}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.said)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.document > 0 {
            write!(f, ", document {}", self.document)?;
        }
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}
