//! Where does one object end and the next begin in a stream of JSON?
//!
//! The items of a List are given out one by one, so a List of a whole cluster is never held in memory.

use std::io::{self, BufRead};

/// One piece of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Object(Vec<u8>),
    /// An item of a List, with the kind the List had told before its items.
    Item(Vec<u8>, Option<String>),
    /// What was around the items.
    Shell(Vec<u8>),
}

/// Splits a stream. Takes in at most one object at a time.
pub(super) struct Pieces<R> {
    from: R,
    state: State,
}

#[derive(Default)]
struct State {
    text: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Set while inside the `items` of a List: its own text and the kind of its items.
    list: Option<(Vec<u8>, Option<String>)>,
    was_list: bool,
}

impl<R: BufRead> Pieces<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            state: State::default(),
        }
    }

    /// The next piece; `None` at the end. What is cut off at the end is given out as it is: its reader will complain.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            let buffer = self.from.fill_buf()?;
            if buffer.is_empty() {
                return Ok(self.state.rest());
            }
            let mut used = 0;
            let mut found = None;
            for byte in buffer {
                used += 1;
                found = self.state.eat(*byte);
                if found.is_some() {
                    break;
                }
            }
            self.from.consume(used);
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

impl State {
    fn eat(&mut self, byte: u8) -> Option<Piece> {
        if self.in_string {
            self.text.push(byte);
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return None;
        }
        if self.between() && (byte.is_ascii_whitespace() || matches!(byte, b',' | b'-')) {
            return None;
        }
        match byte {
            b'"' => self.in_string = true,
            b'[' if self.depth == 1 && self.list.is_none() && self.opens_items() => {
                self.text.push(byte);
                let shell = std::mem::take(&mut self.text);
                let kind = kind_of_items(&shell);
                self.list = Some((shell, kind));
                self.depth = 2;
                return None;
            }
            b'{' | b'[' => self.depth += 1,
            b']' if self.depth == 2 && self.list.is_some() => {
                let (shell, _) = self.list.take()?;
                self.text = shell;
                self.was_list = true;
                self.depth = 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.text.push(byte);
        let floor = if self.list.is_some() { 2 } else { 0 };
        (self.depth == floor && matches!(byte, b'}' | b']')).then(|| self.out())
    }

    /// Nothing of an object has been seen yet.
    fn between(&self) -> bool {
        self.text.is_empty() && (self.depth == 0 || self.list.is_some())
    }

    fn out(&mut self) -> Piece {
        let text = std::mem::take(&mut self.text);
        match &self.list {
            Some((_, kind)) => Piece::Item(text, kind.clone()),
            None if std::mem::take(&mut self.was_list) => Piece::Shell(text),
            None => Piece::Object(text),
        }
    }

    fn rest(&mut self) -> Option<Piece> {
        let text = std::mem::take(&mut self.text);
        let list = self.list.take();
        *self = Self::default();
        match (text.is_empty(), list) {
            (true, Some((shell, _))) => Some(Piece::Shell(shell)),
            (false, Some((_, kind))) => Some(Piece::Item(text, kind)),
            (empty, None) => (!empty).then_some(Piece::Object(text)),
        }
    }

    fn opens_items(&self) -> bool {
        let text = self.text.trim_ascii_end();
        text.strip_suffix(b":")
            .is_some_and(|text| text.trim_ascii_end().ends_with(b"\"items\""))
    }
}

/// `PodList` holds Pods; a plain `List` says nothing.
fn kind_of_items(shell: &[u8]) -> Option<String> {
    let mut closed = shell.to_vec();
    closed.extend_from_slice(b"]}");
    let head: serde_json::Value = serde_json::from_slice(&closed).ok()?;
    let kind = head.get("kind")?.as_str()?.strip_suffix("List")?;
    (!kind.is_empty()).then(|| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut pieces = Pieces::new(io::BufReader::with_capacity(3, text.as_bytes()));
        let mut all = Vec::new();
        while let Some(piece) = pieces.next().unwrap() {
            let (sign, text) = match piece {
                Piece::Object(text) => ("", text),
                Piece::Item(text, kind) => {
                    all.push(format!(
                        "item {}{}",
                        kind.map(|kind| kind + " ").unwrap_or_default(),
                        String::from_utf8(text).unwrap()
                    ));
                    continue;
                }
                Piece::Shell(text) => ("shell ", text),
            };
            all.push(format!("{sign}{}", String::from_utf8(text).unwrap()));
        }
        all
    }

    #[test]
    fn lines_and_pretty_objects_are_one_stream() {
        assert_eq!(
            split("{\"a\":\"}\\\"\"}\n{\n\"b\":[1]}"),
            ["{\"a\":\"}\\\"\"}", "{\n\"b\":[1]}"]
        );
    }

    #[test]
    fn the_items_of_a_list_come_one_by_one_before_its_shell() {
        assert_eq!(
            split("{\"items\" : [ {\"x\":[{}]},\n{}], \"kind\":\"List\"} {}"),
            [
                "item {\"x\":[{}]}",
                "item {}",
                "shell {\"items\" : [], \"kind\":\"List\"}",
                "{}"
            ]
        );
        assert_eq!(
            split("{\"kind\":\"PodList\",\"items\":[{}]}")[0],
            "item Pod {}"
        );
    }

    #[test]
    fn what_is_cut_off_is_given_out_to_be_complained_about() {
        assert_eq!(split("{\"a\":"), ["{\"a\":"]);
        assert_eq!(split("{\"items\":[{\"a\""), ["item {\"a\""]);
        assert_eq!(split("{\"items\":[{},"), ["item {}", "shell {\"items\":["]);
        assert_eq!(split("}{\"a\":1}"), ["}", "{\"a\":1}"]);
    }
}
