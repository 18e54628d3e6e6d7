//! Which documents do these files hold?

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::trouble::{Place, Trouble};
use super::{json, yaml};

/// One object as JSON text, and where it was found.
pub(super) struct Document {
    pub(super) place: Place,
    pub(super) text: Vec<u8>,
    /// The kind its List gave it, where it has none of its own.
    pub(super) kind: Option<String>,
}

type Take<'a> = &'a mut dyn FnMut(Document) -> Result<(), Trouble>;

/// Calls `take` for every object, file by file; folders are read in the order of names, without their subfolders.
pub(super) fn each(paths: &[PathBuf], take: Take<'_>) -> Result<(), Trouble> {
    for path in paths {
        if path.as_os_str() == "-" {
            stream(Path::new("standard input"), io::stdin().lock(), take)?;
        } else if path.is_dir() {
            for file in files_in(path)? {
                one_file(&file, take)?;
            }
        } else {
            one_file(path, take)?;
        }
    }
    Ok(())
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let entries = fs::read_dir(folder).map_err(|error| Trouble::file(folder, error.to_string()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && is_ours(path))
        .collect();
    if files.is_empty() {
        return Err(Trouble::file(
            folder,
            "no file in this folder ends in .yaml, .yml, .json or .jsonl",
        ));
    }
    files.sort();
    Ok(files)
}

fn is_ours(path: &Path) -> bool {
    let kind = path.extension().and_then(|kind| kind.to_str());
    matches!(kind, Some("yaml" | "yml" | "json" | "jsonl" | "ndjson"))
}

fn one_file(path: &Path, take: Take<'_>) -> Result<(), Trouble> {
    let file = File::open(path).map_err(|error| Trouble::file(path, error.to_string()))?;
    stream(path, BufReader::with_capacity(1 << 18, file), take)
}

fn stream(path: &Path, mut from: impl BufRead, take: Take<'_>) -> Result<(), Trouble> {
    let mut head = Vec::new();
    let json =
        is_json(&mut from, &mut head).map_err(|error| Trouble::file(path, error.to_string()))?;
    let from = head.chain(from);
    if json {
        from_json(path, from, take)
    } else {
        from_yaml(path, from, take)
    }
}

/// Does it begin as JSON does? `{` alone may also begin YAML. What was read to know is put into `head`.
fn is_json(from: &mut impl BufRead, head: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let mut text = head.iter().filter(|byte| !byte.is_ascii_whitespace());
        match (text.next(), text.next()) {
            (Some(b'{'), Some(second)) => return Ok(matches!(second, b'"' | b'}')),
            (Some(b'{') | None, None) => {}
            _ => return Ok(false),
        }
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let used = buffer.len().min(64);
        head.extend_from_slice(&buffer[..used]);
        from.consume(used);
    }
}

/// Counts documents and items.
struct Counter {
    place: Place,
}

impl Counter {
    fn new(path: &Path) -> Self {
        let place = Place {
            file: path.display().to_string(),
            document: 1,
            item: None,
        };
        Self { place }
    }

    fn item(&mut self) -> Place {
        *self.place.item.get_or_insert(0) += 1;
        self.place.clone()
    }

    fn document(&mut self) -> Place {
        let place = Place {
            item: None,
            ..self.place.clone()
        };
        self.place = Place {
            document: place.document + 1,
            ..place.clone()
        };
        place
    }
}

fn from_json(path: &Path, from: impl BufRead, take: Take<'_>) -> Result<(), Trouble> {
    let mut pieces = json::Pieces::new(from);
    let mut counter = Counter::new(path);
    loop {
        let piece = pieces
            .next()
            .map_err(|error| Trouble::new(counter.place.clone(), "", error.to_string()))?;
        let (place, text, kind) = match piece {
            None => return Ok(()),
            Some(json::Piece::Item(text, kind)) => (counter.item(), text, kind),
            Some(json::Piece::Object(text) | json::Piece::Shell(text)) => {
                (counter.document(), text, None)
            }
        };
        take(Document { place, text, kind })?;
    }
}

fn from_yaml(path: &Path, from: impl BufRead, take: Take<'_>) -> Result<(), Trouble> {
    let mut pieces = yaml::Pieces::new(from);
    let mut counter = Counter::new(path);
    let mut anchors = Anchors::default();
    loop {
        let piece = pieces
            .next()
            .map_err(|error| Trouble::new(counter.place.clone(), "", unreadable(&error)))?;
        let (place, value, kind) = match piece {
            None => return Ok(()),
            Some(yaml::Piece::Item(text, kind)) => (counter.item(), anchors.item(&text), kind),
            Some(yaml::Piece::Document(text) | yaml::Piece::Shell(text)) => {
                anchors = Anchors::default();
                (counter.document(), parse(&text), None)
            }
        };
        let value = value.map_err(|said| Trouble::new(place.clone(), "", said))?;
        if value.is_null() {
            continue;
        }
        for (place, value) in items(place, value) {
            let text = serde_json::to_vec(&value)
                .map_err(|error| Trouble::new(place.clone(), "", error.to_string()))?;
            let kind = kind.clone();
            take(Document { place, text, kind })?;
        }
    }
}

/// Items of a List that later items of it may point at: `&name` here, `*name` there.
#[derive(Default)]
struct Anchors {
    /// As a list of their own.
    items: String,
}

impl Anchors {
    fn item(&mut self, text: &str) -> Result<Value, String> {
        let alone = parse(text);
        let item = if alone.is_err() && !self.items.is_empty() {
            let together = parse(&format!("{}-\n{text}", self.items));
            let last = together.ok().and_then(|mut all| all.as_array_mut()?.pop());
            last.map_or(alone, Ok)
        } else {
            alone
        };
        if has_anchor(text) {
            self.items.push_str("-\n");
            self.items.push_str(text);
        }
        item
    }
}

fn has_anchor(text: &str) -> bool {
    let begins_name = |rest: &str| rest.starts_with(|first: char| first.is_alphanumeric());
    let mut marks = text.match_indices(" &");
    marks.any(|(at, mark)| begins_name(&text[at + mark.len()..]))
}

/// Why bytes are no text.
pub(super) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => "not text in UTF-8; write YAML or JSON".to_owned(),
        _ => error.to_string(),
    }
}

pub(super) fn parse(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        // `n` and `no` are names like any other; only `true` and `false` are not.
        strict_booleans: true,
        // A catalog of thousands of types that share a few anchors is no attack.
        budget: serde_saphyr::budget! {
            max_events: 100_000_000,
            max_nodes: 50_000_000,
            max_total_scalar_bytes: 4 << 30,
            max_aliases: 1_000_000,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 5_000_000 },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| not_yaml(&error.to_string()))
}

/// The first line, without what only means something to who wrote the reader.
fn not_yaml(said: &str) -> String {
    let first = said.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let told = first.split(", set ").next().unwrap_or(first);
    let told = told.split("; use from_str").next().unwrap_or(told);
    let told = told.replace("rejected by the configured policy", "is no number");
    let told = match told.split_once("budget breached") {
        Some((place, _)) => format!("{place}nested too deep, or too large"),
        None => told,
    };
    match told
        .strip_prefix("line ")
        .and_then(|told| told.split_once(" column "))
    {
        Some((line, rest)) => format!("not YAML: its line {line}, column {rest}"),
        None => format!("not YAML: {told}"),
    }
}

/// A List that was written in one line was not split before.
fn items(place: Place, mut value: Value) -> Vec<(Place, Value)> {
    let listed = value.get_mut("items").and_then(Value::as_array_mut);
    let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
        return vec![(place, value)];
    };
    let items = std::mem::take(listed).into_iter().enumerate();
    items
        .map(|(at, value)| {
            let place = Place {
                item: Some(at + 1),
                ..place.clone()
            };
            (place, value)
        })
        .collect()
}
