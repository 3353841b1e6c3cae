//! A message to its line and back (SPEC.md, "Framing"). Does not know who is at the other end.
//!
//! Broken input is data here, not failure. The envelope is decoded as a whole; only if that
//! fails, element by element in every list, so that one bad frame costs itself and not its
//! neighbours. Everything that was left out is noted.

pub mod lines;
mod repair;
mod shape;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::wire::envelope::{Envelope, payload};
use crate::wire::identity::RequestId;
use crate::wire::text::shown;

/// Writes a message as one compact line that ends in `\n`.
///
/// ```
/// use contextgraph_sync::{codec::encode, wire::Envelope};
///
/// assert_eq!(encode(&Envelope::Shutdown), b"{\"type\":\"shutdown\"}\n");
/// ```
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "it cannot: see the text")]
pub fn encode(envelope: &Envelope) -> Vec<u8> {
    let mut line = Vec::with_capacity(256);
    serde_json::to_writer(&mut line, envelope)
        .expect("wire types have string keys and writing to memory cannot fail");
    line.push(b'\n');
    line
}

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Decoded {
    /// A message, perhaps with notes about what could not be read.
    Envelope {
        /// The message.
        envelope: Envelope,
        /// What was left out of it; empty for a clean line.
        notes: Vec<Note>,
    },
    /// An object of a type we do not know: ignored by a host, refused by a provider.
    Unknown {
        /// The word in `type`.
        kind: String,
        /// Its id, to be echoed.
        id: Option<RequestId>,
    },
    /// Not a message.
    Malformed(Malformed),
}

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The word in `type`, if the line had one of ours.
    pub kind: Option<&'static str>,
    /// Its id, if one could be read, to be echoed.
    pub id: Option<RequestId>,
    /// The member that could not be read, such as `result.truncated`; empty if none is meant.
    pub member: String,
    /// For a person. Text of the peer in it is escaped and cut.
    pub reason: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{kind}: ")?;
        }
        if !self.member.is_empty() {
            write!(f, "{}: ", self.member)?;
        }
        f.write_str(&self.reason)
    }
}

/// Something in a message that could not be read, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where, such as `result.frames[2].token_cost`.
    pub member: String,
    /// For a person. Text of the peer in it is escaped and cut.
    pub reason: String,
    /// What was done.
    pub effect: Effect,
}

impl Note {
    /// Whether a whole frame of an answer was left out; it still counts as a frame (B4).
    #[must_use]
    pub fn is_lost_frame(&self) -> bool {
        self.effect == Effect::Excluded(List::Frames)
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let effect = match self.effect {
            Effect::Excluded(_) => "left out",
            Effect::ReadAsAbsent => "read as absent",
        };
        write!(f, "{}: {}; {effect}", self.member, self.reason)
    }
}

/// What was done about an element or a member that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An element of a list was left out.
    Excluded(List),
    /// An optional member was read as if it were not there.
    ReadAsAbsent,
}

/// Which list an element was left out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The frames of an answer.
    Frames,
    /// Any other list.
    Other,
}

/// Reads one line: UTF-8, one leading byte order mark skipped, one JSON object.
///
/// Any bytes may come in. Unknown members are ignored (U1); `null` for an optional member is
/// "no value"; a known member given twice makes the object that holds it unreadable.
///
/// ```
/// use contextgraph_sync::{codec::{Decoded, decode}, wire::Envelope};
///
/// let Decoded::Envelope { envelope, notes } = decode(b"{\"type\":\"shutdown\"}") else {
///     panic!("a plain message");
/// };
/// assert_eq!((envelope, notes.len()), (Envelope::Shutdown, 0));
/// ```
#[must_use]
pub fn decode(line: &[u8]) -> Decoded {
    let malformed = |reason: String| {
        Decoded::Malformed(Malformed {
            kind: None,
            id: None,
            member: String::new(),
            reason,
        })
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            return malformed(format!("not UTF-8 from byte {} on", error.valid_up_to()));
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if !text.starts_with('{') {
        return malformed("not a JSON object".to_owned());
    }
    let head: Head<'_> = match serde_json::from_str(text) {
        Ok(head) => head,
        Err(error) => return malformed(reason_of(&error)),
    };
    let id = head.id.and_then(|it| serde_json::from_str(it.get()).ok());
    let Some(kind) = head.kind else {
        return malformed("type is missing".to_owned());
    };
    match serde_json::from_str::<String>(kind.get()) {
        Ok(kind) => route(&kind, id, text),
        Err(_) => malformed("type is not a string".to_owned()),
    }
}

/// The two members that decide where a line goes.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

fn route(kind: &str, id: Option<RequestId>, text: &str) -> Decoded {
    match kind {
        "handshake" => read::<payload::Handshake>(&shape::HANDSHAKE, id, text),
        "handshake_ack" => read::<payload::HandshakeAck>(&shape::HANDSHAKE_ACK, id, text),
        "query" => read::<payload::Query>(&shape::QUERY, id, text),
        "frames" => read::<payload::Frames>(&shape::FRAMES, id, text),
        "verify" => read::<payload::Verify>(&shape::VERIFY, id, text),
        "verified" => read::<payload::Verified>(&shape::VERIFIED, id, text),
        "shutdown" => read::<payload::Shutdown>(&shape::SHUTDOWN, id, text),
        "error" => read::<payload::Error>(&shape::ERROR, id, text),
        unknown => Decoded::Unknown {
            kind: unknown.to_owned(),
            id,
        },
    }
}

/// Reads the members of a message: whole if possible, repaired if not.
fn read<P>(shape: &'static shape::Shape, id: Option<RequestId>, text: &str) -> Decoded
where
    P: DeserializeOwned + Into<Envelope>,
{
    if let Ok(payload) = serde_json::from_str::<P>(text) {
        return Decoded::Envelope {
            envelope: payload.into(),
            notes: Vec::new(),
        };
    }
    let malformed = |member: String, reason: String| {
        Decoded::Malformed(Malformed {
            kind: Some(shape.name),
            id: id.clone(),
            member,
            reason,
        })
    };
    match repair::repair(text, shape) {
        Err(lost) => malformed(lost.member, lost.reason),
        Ok((repaired, notes)) => match serde_json::from_str::<P>(&repaired) {
            Ok(payload) => Decoded::Envelope {
                envelope: payload.into(),
                notes,
            },
            Err(error) => malformed(String::new(), reason_of(&error)),
        },
    }
}

/// What the JSON reader says, without its line number (there is one line) and fit to be shown.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (reason, at) = match text.rsplit_once(" at line ") {
        Some((reason, _)) => (reason, error.column()),
        None => (text.as_str(), 0),
    };
    let reason = shown(reason);
    match at {
        0 => reason.to_string(),
        column if error.is_syntax() || error.is_eof() => {
            format!("not JSON: {reason} (column {column})")
        }
        _ => reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
