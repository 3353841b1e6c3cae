//! The second reading of a message that could not be read whole.
//!
//! It takes the text apart along a [`Shape`], leaves out what cannot be read, and puts the rest
//! together again for the ordinary reader. Slow next to that reader, and only for broken lines.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::codec::shape::{Form, Need, Shape};
use crate::codec::{Effect, Note, reason_of};

/// Why an object, and with it whatever needs it, is lost.
pub(super) struct Lost {
    pub(super) member: String,
    pub(super) reason: String,
}

/// The readable part of `text` as JSON, and a note for each part that is not in it.
pub(super) fn repair(text: &str, shape: &'static Shape) -> Result<(String, Vec<Note>), Lost> {
    let mut notes = Vec::new();
    let repaired = object(text, shape, "", &mut notes)?;
    Ok((repaired, notes))
}

fn object(
    text: &str,
    shape: &'static Shape,
    path: &str,
    notes: &mut Vec<Note>,
) -> Result<String, Lost> {
    let members = match serde_json::from_str::<Members<'_>>(text) {
        Ok(Members(members)) => members,
        Err(error) => return Err(lost(path, reason_of(&error))),
    };
    let mut kept = Vec::new();
    for member in shape.members {
        let path = join(path, member.name);
        let mut values = members.iter().filter(|(name, _)| name == member.name);
        let value = values.next().map(|(_, value)| value.get());
        if values.next().is_some() {
            return Err(lost(&path, "given twice".to_owned()));
        }
        let Some(value) = value.filter(|&it| it != "null") else {
            match member.need {
                Need::Required => return Err(lost(&path, "missing".to_owned())),
                Need::Optional | Need::Sound => continue,
            }
        };
        match form(value, &member.form, &path, notes) {
            Ok(repaired) => kept.push(format!("\"{}\":{repaired}", member.name)),
            Err(lost) if member.need == Need::Optional => notes.push(Note {
                member: lost.member,
                reason: lost.reason,
                effect: Effect::ReadAsAbsent,
            }),
            Err(lost) => return Err(lost),
        }
    }
    Ok(format!("{{{}}}", kept.join(",")))
}

fn form(
    text: &str,
    form: &'static Form,
    path: &str,
    notes: &mut Vec<Note>,
) -> Result<String, Lost> {
    match form {
        Form::Leaf(check) => match check(text) {
            Ok(()) => Ok(text.to_owned()),
            Err(error) => Err(lost(path, reason_of(&error))),
        },
        Form::Object(shape) => object(text, shape, path, notes),
        Form::List(element, list) => {
            let elements: Vec<&RawValue> =
                serde_json::from_str(text).map_err(|error| lost(path, reason_of(&error)))?;
            let mut kept = Vec::with_capacity(elements.len());
            for (index, value) in elements.into_iter().enumerate() {
                // What is noted inside an element that is lost after all does not matter.
                let mut within = Vec::new();
                match self::form(
                    value.get(),
                    element,
                    &format!("{path}[{index}]"),
                    &mut within,
                ) {
                    Ok(repaired) => {
                        kept.push(repaired);
                        notes.append(&mut within);
                    }
                    Err(lost) => notes.push(Note {
                        member: lost.member,
                        reason: lost.reason,
                        effect: Effect::Excluded(*list),
                    }),
                }
            }
            Ok(format!("[{}]", kept.join(",")))
        }
    }
}

fn lost(member: &str, reason: String) -> Lost {
    Lost {
        member: member.to_owned(),
        reason,
    }
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// The members of an object in order, duplicates included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}
