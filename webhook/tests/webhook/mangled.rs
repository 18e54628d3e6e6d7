//! What do broken reviews get, whatever they are broken by?

use crate::kit;
use runtime::Dice;
use serde_json::Value;
use webhook::{Outcome, Reviewers, Route, answer};

/// One random injury to a text.
fn injure(text: &mut Vec<u8>, dice: &mut Dice) {
    let at =
        |dice: &mut Dice, text: &[u8]| usize::try_from(dice.below(text.len() as u64 + 1)).unwrap();
    let byte = |dice: &mut Dice| u8::try_from(dice.below(256)).unwrap();
    let (from, to) = {
        let (a, b) = (at(dice, text), at(dice, text));
        (a.min(b), a.max(b))
    };
    match dice.below(7) {
        0 => text.truncate(from),
        1 => text.insert(from, byte(dice)),
        2 if from < text.len() => text[from] ^= byte(dice),
        3 => drop(text.drain(from..to.min(from + 40))),
        4 => text.splice(from..from, b"[".repeat(300)).for_each(drop),
        5 => {
            let piece = text[from..to.min(from + 200)].to_vec();
            let place = at(dice, text);
            text.splice(place..place, piece).for_each(drop);
        }
        _ => text
            .splice(from..to.min(from + 20), *b"null")
            .for_each(drop),
    }
}

/// One random injury to a document: some value becomes another kind of value.
fn replace_something(value: &mut Value, dice: &mut Dice) {
    let stop = dice.chance(0.15);
    match value {
        Value::Object(map) if !stop && !map.is_empty() => {
            let number = usize::try_from(dice.below(map.len() as u64)).unwrap();
            if let Some(inner) = map.values_mut().nth(number) {
                replace_something(inner, dice);
            }
        }
        Value::Array(list) if !stop && !list.is_empty() => {
            let number = usize::try_from(dice.below(list.len() as u64)).unwrap();
            replace_something(&mut list[number], dice);
        }
        other => {
            let kinds = [
                Value::Null,
                7.into(),
                (-1e300).into(),
                "".into(),
                "ü/..".into(),
                true.into(),
                serde_json::json!([{}]),
                serde_json::json!({"a": []}),
            ];
            *other = kinds[usize::try_from(dice.below(kinds.len() as u64)).unwrap()].clone();
        }
    }
}

#[test]
fn a_mangled_review_always_gets_an_answer_an_api_server_understands() {
    let (fakes, mut dice) = (kit::yes(), Dice::seeded(1));
    for round in 0..5_000 {
        let route = if round % 2 == 0 {
            Route::Convert
        } else {
            Route::Validate
        };
        let review = if route == Route::Convert {
            kit::conversion("u1", 2)
        } else {
            kit::admission("u1")
        };
        let mut text = review.to_string().into_bytes();
        for _ in 0..=dice.below(3) {
            injure(&mut text, &mut dice);
        }
        let said = answer(route, &text, fakes.of(route));
        let body: Value = serde_json::from_slice(&said.body).expect("an answer is JSON");
        match said.status {
            200 => assert!(body["response"]["uid"].is_string(), "round {round}: {body}"),
            400 => assert_eq!(
                (&body["kind"], said.outcome),
                (&"Status".into(), Outcome::Malformed),
                "round {round}"
            ),
            other => panic!("round {round}: status {other}"),
        }
    }
}

#[test]
fn the_real_reviewers_survive_documents_whose_values_have_other_types() {
    let (reviewers, mut dice) = (Reviewers::of_crds(), Dice::seeded(2));
    for round in 0..5_000 {
        let (route, mut review) = match round % 2 {
            0 => (Route::Convert, kit::conversion("u1", 2)),
            _ => (Route::Validate, kit::admission("u1")),
        };
        for _ in 0..=dice.below(3) {
            replace_something(&mut review, &mut dice);
        }
        let reviewer = reviewers.of(route);
        let survived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reviewer(&review)));
        assert!(survived.is_ok(), "round {round}: {review}");
    }
}
