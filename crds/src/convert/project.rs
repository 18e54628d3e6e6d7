//! What does a value of one version look like in the other, knowing nothing but the table?

use serde_json::{Map, Value, json};

use super::table::{Direction, FieldMap, How};

/// The value as the other version would write it; `None` where it is absent or cannot be written there.
pub(crate) fn project(how: How, direction: Direction, value: Option<&Value>) -> Option<Value> {
    let value = value?;
    match (how, direction) {
        (How::Same, _) => Some(value.clone()),
        (How::Rewrite(rewrite), Direction::Up) => (rewrite.up)(value),
        (How::Rewrite(rewrite), Direction::Down) => (rewrite.down)(value),
        (How::Fields(maps), _) => fields(maps, direction, value.as_object()?),
        (How::Each(element), _) => {
            let list = value.as_array()?.iter();
            Some(list.map(|item| project_element(*element, direction, item)).collect())
        }
        (How::First(element), Direction::Up) => Some(json!([project(*element, direction, Some(value))?])),
        (How::First(element), Direction::Down) => project(*element, direction, value.as_array()?.first()),
        (How::Inside(member), Direction::Up) => {
            let inner = project(member.how, direction, Some(value))?;
            Some(Value::Object(Map::from_iter([(member.name.to_owned(), inner)])))
        }
        (How::Inside(member), Direction::Down) => {
            project(member.how, direction, value.as_object()?.get(member.name))
        }
    }
}

/// The same for an element of a list, which cannot be absent: an element the other version cannot write becomes an empty
/// one, so that the list keeps its length and its order.
pub(crate) fn project_element(how: How, direction: Direction, item: &Value) -> Value {
    project(how, direction, Some(item)).unwrap_or_else(|| match (how, direction) {
        (How::Fields(_), _) | (_, Direction::Up) => json!({}),
        (_, Direction::Down) => json!(""),
    })
}

/// An object of which nothing can be written is absent on the other side; an empty one stays an empty one.
fn fields(maps: &[FieldMap], direction: Direction, from: &Map<String, Value>) -> Option<Value> {
    let to: Map<_, _> = maps
        .iter()
        .filter_map(|map| {
            let value = project(map.how, direction, from.get(map.source(direction)))?;
            Some((map.target(direction).to_owned(), value))
        })
        .collect();
    (from.is_empty() || !to.is_empty()).then_some(Value::Object(to))
}
