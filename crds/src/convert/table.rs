//! How is the correspondence between an older version and the hub written down?
//!
//! A table names only fields both versions can express. Whatever is not in the table, on either side, is put aside as a
//! whole and comes back unchanged; so a forgotten entry loses nothing, it only hides a field from the other version.

use serde_json::Value;

use super::{Trouble, engine};

/// An older version ("spoke") and the hub version of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub group: &'static str,
    pub kind: &'static str,
    pub spoke: &'static str,
    pub hub: &'static str,
    pub spec: &'static [FieldMap],
    pub status: &'static [FieldMap],
}

/// One field of the older version and the field of the hub that means the same.
#[derive(Debug, Clone, Copy)]
pub struct FieldMap {
    pub spoke: &'static str,
    pub hub: &'static str,
    pub how: How,
}

/// How a value of the older version and a value of the hub correspond.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// The same JSON in both.
    Same,
    /// Objects, field by field.
    Fields(&'static [FieldMap]),
    /// Lists, element by element.
    Each(&'static How),
    /// A single value is the first element of the hub's list.
    First(&'static How),
    /// A value is one member of the hub's object.
    Inside(&'static Member),
    /// Anything else.
    Rewrite(&'static Rewrite),
}

/// The member of a hub object that holds the older version's value.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub name: &'static str,
    pub how: How,
    /// Members that say the same thing in another way: an edit made in the older version replaces them.
    pub instead_of: &'static [&'static str],
}

/// Functions for values no other `How` describes. `None` means "cannot be expressed there": the value is put aside.
#[derive(Debug, Clone, Copy)]
pub struct Rewrite {
    pub up: fn(&Value) -> Option<Value>,
    pub down: fn(&Value) -> Option<Value>,
}

/// Which way an object travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the older version to the hub.
    Up,
    /// From the hub to the older version.
    Down,
}

impl FieldMap {
    /// A field with the same name and the same JSON in both versions.
    pub const fn same(name: &'static str) -> Self {
        Self::new(name, name, How::Same)
    }

    pub const fn new(spoke: &'static str, hub: &'static str, how: How) -> Self {
        Self { spoke, hub, how }
    }

    /// The name on the side an object comes from.
    pub fn source(&self, direction: Direction) -> &'static str {
        match direction {
            Direction::Up => self.spoke,
            Direction::Down => self.hub,
        }
    }

    /// The name on the side an object goes to.
    pub fn target(&self, direction: Direction) -> &'static str {
        self.source(direction.back())
    }
}

impl Direction {
    pub const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

impl Pair {
    pub fn up(&self, object: Value) -> Result<Value, Trouble> {
        engine::convert(self, Direction::Up, object)
    }

    pub fn down(&self, object: Value) -> Result<Value, Trouble> {
        engine::convert(self, Direction::Down, object)
    }

    pub fn hub_api_version(&self) -> String {
        format!("{}/{}", self.group, self.hub)
    }

    pub fn spoke_api_version(&self) -> String {
        format!("{}/{}", self.group, self.spoke)
    }

    /// On an object of the older version: what only the hub can say.
    pub fn hub_stash(&self) -> String {
        format!("{}/conversion-data", self.group)
    }

    /// On an object of the hub: what only the older version could say.
    pub fn spoke_stash(&self) -> String {
        format!("{}/{}-data", self.group, self.spoke)
    }

    /// The annotation an object travelling this way brings along.
    pub(crate) fn brought(&self, direction: Direction) -> String {
        match direction {
            Direction::Up => self.hub_stash(),
            Direction::Down => self.spoke_stash(),
        }
    }

    /// The annotation an object travelling this way gets.
    pub(crate) fn given(&self, direction: Direction) -> String {
        self.brought(direction.back())
    }
}
