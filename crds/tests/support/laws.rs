//! What must hold for every object that is converted?
//!
//! Each law is a function of a kind and an object, so that the property tests, the mutants and the 100,000 objects of the
//! example all ask the same questions.

use crds::convert::{FieldMap, Pair};
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::kinds::Kind;
use super::random;

pub type Law = Result<(), String>;

/// Every law, on objects drawn from these dice.
pub fn all(kind: &Kind, dice: &mut Dice<'_>) -> Law {
    let (hub, spoke) = (random::hub(kind, dice), random::spoke(kind, dice));
    nothing_is_lost(kind, &hub, &spoke)?;
    the_older_version_is_fully_expressed(kind, &spoke)?;
    types_hold_what_was_converted(kind, &hub, &spoke)?;
    an_edit_in_the_older_version_survives(kind, &hub, dice)?;
    an_edit_in_the_hub_survives(kind, &spoke, dice)?;
    let (mut bad_hub, mut bad_spoke) = (hub, spoke);
    random::spoil(kind, &mut bad_hub, dice);
    random::spoil(kind, &mut bad_spoke, dice);
    nothing_is_lost(kind, &bad_hub, &bad_spoke)
}

pub fn nothing_is_lost(kind: &Kind, hub: &Value, spoke: &Value) -> Law {
    let down = down(&kind.pair, hub)?;
    same("up(down(hub))", &up(&kind.pair, &down)?, hub)?;
    same("down again", &self::down(&kind.pair, &up(&kind.pair, &down)?)?, &down)?;
    let up = up(&kind.pair, spoke)?;
    same("down(up(spoke))", &self::down(&kind.pair, &up)?, spoke)?;
    same("up again", &self::up(&kind.pair, &self::down(&kind.pair, &up)?)?, &up)
}

/// The hub says everything the older version says in fields of its own: only `spoke_only` fields are put aside.
pub fn the_older_version_is_fully_expressed(kind: &Kind, spoke: &Value) -> Law {
    let hub = up(&kind.pair, spoke)?;
    let text = annotation(&hub, &kind.pair.spoke_stash()).unwrap_or_else(|| "{}".into());
    let mut aside: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(spec) = aside.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| !kind.spoke_only.contains(&field.as_str()));
    }
    let rest: Map<_, _> = aside.as_object().unwrap().clone();
    match rest.iter().find(|(section, fields)| *section != "metadata" && **fields != json!({})) {
        Some((section, fields)) => Err(format!("put aside although both versions have it: {section} {fields}")),
        None => Ok(()),
    }
}

pub fn types_hold_what_was_converted(kind: &Kind, hub: &Value, spoke: &Value) -> Law {
    let typed = |read: fn(&Value) -> Result<Value, String>, object: &Value| {
        let back = read(object).map_err(|error| format!("{error} in {object}"))?;
        same("through the Rust type", &back["spec"], &object["spec"])
    };
    typed(kind.hub_type, &up(&kind.pair, spoke)?)?;
    typed(kind.spoke_type, spoke)?;
    typed(kind.hub_type, hub)?;
    typed(kind.spoke_type, &down(&kind.pair, hub)?)
}

/// Whatever is changed in the older version is what the older version shows afterwards, and all else stays.
pub fn an_edit_in_the_older_version_survives(kind: &Kind, hub: &Value, dice: &mut Dice<'_>) -> Law {
    let mut edited = down(&kind.pair, hub)?;
    let donor = random::spoke(kind, dice);
    let map = dice.pick(kind.pair.spec);
    graft(&mut edited, &donor, map.spoke);
    let after = up(&kind.pair, &edited)?;
    same("the edit shown again", &down(&kind.pair, &after)?["spec"], &edited["spec"])?;
    for (field, value) in fields(hub).filter(|(field, _)| *field != map.hub) {
        same(&format!("{field} after an edit of {}", map.spoke), &after["spec"][field], value)?;
    }
    let unseen = kind.unseen.iter().filter(|path| path.starts_with(&format!("/spec/{}/", map.hub)));
    for path in unseen.filter(|path| hub.pointer(path).is_some()) {
        same(path, after.pointer(path).unwrap_or(&Value::Null), hub.pointer(path).unwrap())?;
    }
    Ok(())
}

/// The mirror image: what only the older version could say outlives edits made in the hub.
pub fn an_edit_in_the_hub_survives(kind: &Kind, spoke: &Value, dice: &mut Dice<'_>) -> Law {
    let mut spoke = spoke.clone();
    spoke["spec"]["onlyHere"] = json!({"kept": [false, ""]});
    let mut edited = up(&kind.pair, &spoke)?;
    let donor = random::hub(kind, dice);
    let map = dice.pick(kind.pair.spec);
    graft(&mut edited, &donor, map.hub);
    let after = down(&kind.pair, &edited)?;
    same("the edit shown again", &up(&kind.pair, &after)?["spec"], &edited["spec"])?;
    for (field, value) in fields(&spoke).filter(|(field, _)| *field != map.spoke) {
        same(&format!("{field} after an edit of {}", map.hub), &after["spec"][field], value)?;
    }
    Ok(())
}

pub fn up(pair: &Pair, object: &Value) -> Result<Value, String> {
    pair.up(object.clone()).map_err(|error| format!("up: {error}: {object}"))
}

pub fn down(pair: &Pair, object: &Value) -> Result<Value, String> {
    pair.down(object.clone()).map_err(|error| format!("down: {error}: {object}"))
}

/// Every table with one entry missing, nested ones included, with the name of what is missing.
pub fn mutants(maps: &'static [FieldMap], path: &str) -> Vec<(String, &'static [FieldMap])> {
    let mut mutants = Vec::new();
    for (at, map) in maps.iter().enumerate() {
        let name = format!("{path}.{}", map.spoke);
        let mut without = maps.to_vec();
        without.remove(at);
        mutants.push((name.clone(), &*without.leak()));
        for (inner, how) in inner_mutants(map.how, &name) {
            let mut changed = maps.to_vec();
            changed[at].how = how;
            mutants.push((inner, changed.leak()));
        }
    }
    mutants
}

fn inner_mutants(how: crds::convert::How, name: &str) -> Vec<(String, crds::convert::How)> {
    use crds::convert::How;
    let wrap = |inner: &How, name: &str, with: fn(&'static How) -> How| {
        let all = inner_mutants(*inner, name).into_iter();
        all.map(|(name, how)| (name, with(Box::leak(Box::new(how))))).collect()
    };
    match how {
        How::Fields(maps) => mutants(maps, name).into_iter().map(|(name, maps)| (name, How::Fields(maps))).collect(),
        How::Each(inner) => wrap(inner, &format!("{name}[]"), How::Each),
        How::First(inner) => wrap(inner, &format!("{name}[0]"), How::First),
        How::Same | How::Inside(_) | How::Rewrite(_) => Vec::new(),
    }
}

fn graft(object: &mut Value, donor: &Value, field: &str) {
    let spec = object["spec"].as_object_mut().unwrap();
    match donor["spec"].get(field) {
        Some(value) => spec.insert(field.to_owned(), value.clone()),
        None => spec.remove(field),
    };
}

fn fields(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object["spec"].as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value))
}

fn annotation(object: &Value, name: &str) -> Option<String> {
    Some(object["metadata"].get("annotations")?.get(name)?.as_str()?.to_owned())
}

fn same(what: &str, is: &Value, should: &Value) -> Law {
    if is == should { Ok(()) } else { Err(format!("{what}\n  is     {is}\n  should {should}")) }
}
