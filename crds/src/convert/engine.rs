//! How does one whole object travel between an older version and the hub, losing nothing?
//!
//! Both directions are the same walk: every field is projected by the table, corrected by what was put aside for the
//! target version, and whatever the target still cannot express is put aside for the way back.

use serde_json::{Map, Value};

use super::Trouble;
use super::merge::merge;
use super::project::project;
use super::stash::{self, Entry, Stash};
use super::table::{Direction, FieldMap, Pair};

/// Deeper objects are refused: the stash must stay readable, and JSON readers stop at 128.
const DEPTH: usize = 64;

type Object = Map<String, Value>;

pub(crate) fn convert(pair: &Pair, direction: Direction, object: Value) -> Result<Value, Trouble> {
    if deeper_than(DEPTH, &object) {
        return Err(Trouble::TooDeep { limit: DEPTH });
    }
    let Value::Object(mut from) = object else {
        return Err(Trouble::NotAnObject { field: "the object" });
    };
    let bare = bare_annotations(&from);
    let brought = bring(pair, direction, &mut from)?;
    let mut left = Stash::default();
    let mut to = Object::new();
    to.insert("apiVersion".into(), target_version(pair, direction).into());
    for field in ["kind", "metadata"] {
        if let Some(value) = from.remove(field) {
            to.insert(field.into(), value);
        }
    }
    from.remove("apiVersion");
    for (name, maps) in [("spec", pair.spec), ("status", pair.status)] {
        let mut walk = Section { name, maps, direction, brought: &brought, left: &mut left };
        let source = take_section(&mut from, name)?;
        let target = walk.convert(source.as_ref());
        if source.is_some() || !target.is_empty() {
            to.insert(name.into(), Value::Object(target));
        }
    }
    for (name, value) in from {
        left.put(stash::OBJECT, &name, Entry::of(Some(value)));
    }
    for (name, entry) in brought.section(stash::OBJECT) {
        if let Some(value) = &entry.value {
            to.insert(name.to_owned(), value.clone());
        }
    }
    let note = Note { pair, direction, brought: &brought, bare };
    note.give(&mut to, left)?;
    Ok(Value::Object(to))
}

/// `spec` or `status` on its way.
struct Section<'a> {
    name: &'static str,
    maps: &'static [FieldMap],
    direction: Direction,
    brought: &'a Stash,
    left: &'a mut Stash,
}

impl Section<'_> {
    fn convert(&mut self, source: Option<&Object>) -> Object {
        let mut target = Object::new();
        for (name, entry) in self.brought.section(self.name) {
            let unmapped = !self.maps.iter().any(|map| map.target(self.direction) == name);
            if let (true, Some(value)) = (unmapped, &entry.value) {
                target.insert(name.to_owned(), value.clone());
            }
        }
        for map in self.maps {
            let now = source.and_then(|source| source.get(map.source(self.direction)));
            let value = self.field(map, now);
            self.leave(map, now, value.as_ref());
            if let Some(value) = value {
                target.insert(map.target(self.direction).to_owned(), value);
            }
        }
        for (name, value) in source.into_iter().flatten() {
            if !self.maps.iter().any(|map| map.source(self.direction) == name) {
                self.left.put(self.name, name, Entry::of(Some(value.clone())));
            }
        }
        target
    }

    fn field(&self, map: &FieldMap, now: Option<&Value>) -> Option<Value> {
        match self.brought.get(self.name, map.target(self.direction)) {
            None => project(map.how, self.direction, now),
            Some(Entry { value, beside: Some(beside) }) if beside.as_ref() == now => value.clone(),
            Some(Entry { value, .. }) => merge(map.how, self.direction, now, value.as_ref()),
        }
    }

    /// Puts the source's value aside if the target's would not lead back to it.
    fn leave(&mut self, map: &FieldMap, now: Option<&Value>, became: Option<&Value>) {
        if project(map.how, self.direction.back(), became).as_ref() == now {
            return;
        }
        let expected = project(map.how, self.direction, now);
        let beside = (expected.as_ref() != became).then(|| became.cloned());
        let entry = Entry { value: now.cloned(), beside };
        self.left.put(self.name, map.source(self.direction), entry);
    }
}

fn target_version(pair: &Pair, direction: Direction) -> String {
    match direction {
        Direction::Up => pair.hub_api_version(),
        Direction::Down => pair.spoke_api_version(),
    }
}

fn take_section(from: &mut Object, field: &'static str) -> Result<Option<Object>, Trouble> {
    match from.remove(field) {
        None => Ok(None),
        Some(Value::Object(section)) => Ok(Some(section)),
        Some(_) => Err(Trouble::NotAnObject { field }),
    }
}

/// Takes the annotation meant for the target version off the object.
fn bring(pair: &Pair, direction: Direction, from: &mut Object) -> Result<Stash, Trouble> {
    let annotation = pair.brought(direction);
    let Some(annotations) = annotations(from)? else {
        return Ok(Stash::default());
    };
    let Some(text) = annotations.get(&annotation) else {
        return Ok(Stash::default());
    };
    match Stash::read(&annotation, text, &[pair.hub_stash(), pair.spoke_stash()]) {
        Ok(stash) => {
            annotations.remove(&annotation);
            Ok(stash)
        }
        // Writing with a broken stash would lose fields: refuse. Reading must never make an object unreadable: leave it.
        Err(broken) if direction == Direction::Up => Err(broken.into()),
        Err(_) => Ok(Stash::default()),
    }
}

/// The annotations of an object on its way.
struct Note<'a> {
    pair: &'a Pair,
    direction: Direction,
    brought: &'a Stash,
    /// `annotations` as it came, if it was there and held nothing.
    bare: Option<Value>,
}

impl Note<'_> {
    /// Puts what is left over into the annotation meant for the way back, and annotations where they were before.
    fn give(self, to: &mut Object, mut left: Stash) -> Result<(), Trouble> {
        let annotation = self.pair.given(self.direction);
        let mut standing = annotations(to)?.map(std::mem::take).unwrap_or_default();
        if let Some(stray) = standing.get(&annotation).cloned()
            && !self.stays(&annotation, &stray, &left)
        {
            standing.remove(&annotation);
            left.put(stash::ANNOTATIONS, &annotation, Entry::of(Some(stray)));
        }
        for (name, entry) in self.brought.section(stash::ANNOTATIONS) {
            if let Some(value) = &entry.value {
                standing.insert(name.to_owned(), value.clone());
            }
        }
        if !left.is_empty() {
            if self.bare.is_some() {
                left.put(stash::METADATA, "annotations", Entry::of(self.bare.clone()));
            }
            standing.insert(annotation.clone(), left.write(&annotation)?);
        }
        let Some(Value::Object(metadata)) = to.get_mut("metadata") else {
            return Err(Trouble::NotAnObject { field: "metadata" });
        };
        let restored = self.brought.get(stash::METADATA, "annotations").and_then(|entry| entry.value.clone());
        if !standing.is_empty() {
            metadata.insert("annotations".into(), Value::Object(standing));
        } else if let Some(empty) = restored.or(self.bare) {
            metadata.insert("annotations".into(), empty);
        } else {
            metadata.remove("annotations");
        }
        Ok(())
    }

    /// An unreadable leftover passed through when the object was read; it goes back to the hub as it was.
    fn stays(&self, annotation: &str, stray: &Value, left: &Stash) -> bool {
        let ours = [self.pair.hub_stash(), self.pair.spoke_stash()];
        self.direction == Direction::Up && left.is_empty() && Stash::read(annotation, stray, &ours).is_err()
    }
}

fn bare_annotations(object: &Object) -> Option<Value> {
    let annotations = object.get("metadata")?.get("annotations")?;
    let bare = annotations.is_null() || annotations.as_object().is_some_and(Map::is_empty);
    bare.then(|| annotations.clone())
}

fn annotations(object: &mut Object) -> Result<Option<&mut Object>, Trouble> {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return Err(Trouble::NotAnObject { field: "metadata" });
    };
    match metadata.get_mut("annotations") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(annotations)) => Ok(Some(annotations)),
        Some(_) => Err(Trouble::NotAnObject { field: "metadata.annotations" }),
    }
}

fn deeper_than(limit: usize, object: &Value) -> bool {
    let mut open = vec![(object, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    false
}
