//! Where does one document end and the next begin in a stream of YAML?
//!
//! The items of a List as kubectl prints it are given out one by one, so a List of a whole cluster is never held in memory.

use std::io::{self, BufRead};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Document(String),
    Item(String, Option<String>),
    /// The end of a document of which all but the shell was given out as items.
    Shell(String),
}

pub(super) struct Pieces<R> {
    from: R,
    document: String,
    /// What stood behind a separator.
    carried: Option<String>,
    list: Option<List>,
    /// A separator was read, or the end.
    ended: bool,
    finished: bool,
}

/// Inside `items:`.
struct List {
    kind: Option<String>,
    /// Column of the dashes, once seen.
    dash: Option<usize>,
    item: String,
    open: bool,
}

impl<R: BufRead> Pieces<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            document: String::new(),
            carried: None,
            list: None,
            ended: false,
            finished: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if self.ended
                && let Some(piece) = self.end_of_document()
            {
                return Ok(Some(piece));
            }
            if self.finished {
                return Ok(None);
            }
            let mut line = self.carried.take().unwrap_or_default();
            if line.is_empty() && self.from.read_line(&mut line)? == 0 {
                (self.ended, self.finished) = (true, true);
            } else if let Some(behind) = behind_separator(&line) {
                self.ended = true;
                self.carried = (!behind.is_empty()).then(|| behind.to_owned());
            } else if let Some(piece) = self.eat(&line) {
                return Ok(Some(piece));
            }
        }
    }

    fn eat(&mut self, line: &str) -> Option<Piece> {
        let Some(list) = &mut self.list else {
            if line.starts_with('%') && is_blank(&self.document) {
                return None; // a directive: `%YAML 1.2`
            }
            self.document.push_str(line);
            if line.trim_end() == "items:" {
                self.list = Some(List {
                    kind: kind_of_items(&self.document),
                    dash: None,
                    item: String::new(),
                    open: false,
                });
            }
            return None;
        };
        let text = line.trim_start();
        let column = line.len() - text.len();
        let dashed = text.starts_with("- ") || text.trim_end() == "-";
        if dashed && column == *list.dash.get_or_insert(column) {
            let before = list.take();
            list.item = line.replacen('-', " ", 1);
            list.open = true;
            return before;
        }
        let inside = text.trim_end().is_empty()
            || text.starts_with('#')
            || list.dash.is_some_and(|dash| column > dash);
        if inside {
            list.item.push_str(line);
            return None;
        }
        let before = list.take();
        self.list = None;
        self.document.push_str(line);
        before
    }

    fn end_of_document(&mut self) -> Option<Piece> {
        if let Some(list) = &mut self.list {
            if let Some(item) = list.take() {
                return Some(item);
            }
            self.list = None;
        }
        self.ended = false;
        let document = std::mem::take(&mut self.document);
        if is_blank(&document) {
            return None;
        }
        let shell = document.lines().any(|line| line.trim_end() == "items:");
        Some(if shell {
            Piece::Shell(document)
        } else {
            Piece::Document(document)
        })
    }
}

impl List {
    fn take(&mut self) -> Option<Piece> {
        let item = std::mem::take(&mut self.item);
        std::mem::take(&mut self.open).then(|| Piece::Item(item, self.kind.clone()))
    }
}

/// A document may begin on the line of its separator; `None` if there is no separator.
fn behind_separator(line: &str) -> Option<&str> {
    if line.trim_end() == "..." {
        return Some("");
    }
    let behind = line.strip_prefix("---")?;
    let separates = behind.is_empty() || behind.starts_with(char::is_whitespace);
    separates.then(|| behind.trim_start())
}

/// Holds nothing, or comments only.
fn is_blank(document: &str) -> bool {
    let mut lines = document.lines().map(str::trim_start);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

/// `kind: PodList` before the items says what they are; a plain `List` does not.
fn kind_of_items(head: &str) -> Option<String> {
    let kind = head.lines().find_map(|line| line.strip_prefix("kind:"))?;
    let kind = kind.trim().trim_matches('"').strip_suffix("List")?;
    (!kind.is_empty()).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut pieces = Pieces::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            all.push(match piece {
                Piece::Document(text) => text,
                Piece::Item(text, kind) => format!("item {}\n{text}", kind.unwrap_or_default()),
                Piece::Shell(text) => format!("shell\n{text}"),
            });
        }
        all
    }

    #[test]
    fn documents_are_split_at_separators_and_empty_ones_are_skipped() {
        assert_eq!(
            split("# head\n---\na: 1\n---\n\n---\nb: |\n  ---\n"),
            ["a: 1\n", "b: |\n  ---\n"]
        );
    }

    #[test]
    fn a_document_may_begin_on_the_line_of_its_separator_or_behind_a_directive() {
        assert_eq!(
            split("%YAML 1.2\n---\na: 1\n--- {b: 2}\n--- # c\nc: 3\n---d: 4\n...\n"),
            ["a: 1\n", "{b: 2}\n", "# c\nc: 3\n---d: 4\n"]
        );
    }

    #[test]
    fn the_items_of_a_list_come_one_by_one_whatever_their_indent() {
        let flush = split("apiVersion: v1\nitems:\n- a: 1\n  b:\n  - 2\n- a: 3\nkind: List\n");
        assert_eq!(
            flush,
            [
                "item \n  a: 1\n  b:\n  - 2\n",
                "item \n  a: 3\n",
                "shell\napiVersion: v1\nitems:\nkind: List\n"
            ]
        );
        let indented = split("kind: PodList\nitems:\n  - a: 1\n  - a: 3\n---\nc: 1\n");
        assert_eq!(indented[1], "item Pod\n    a: 3\n");
        assert_eq!(indented[3], "c: 1\n");
    }
}
