//! What a line of a child is, as far as routing needs to know: its type, its id, and whether it
//! has the shape of a reply. The payload is decoded by the caller that waits for it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::lines::without_mark;

/// What a line turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Routed {
    pub(super) kind: Kind,
    pub(super) id: Id,
}

/// The messages that a host may expect, by their shape: members that must be there are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ack,
    Frames,
    Verified,
    Error,
    /// A message, but none that answers anything.
    Other,
    /// No message.
    Junk,
}

/// The `id` of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Absent,
    Text(String),
    /// Something else than text, as it was written.
    Odd(String),
}

impl Kind {
    /// Whether a caller that asked without an id could take it for the answer.
    pub(super) fn is_reply(self) -> bool {
        matches!(self, Self::Frames | Self::Verified | Self::Error)
    }
}

pub(super) fn route(line: &[u8]) -> Routed {
    let line = without_mark(line);
    match serde_json::from_slice::<Head<'_>>(line) {
        Ok(head) if line.trim_ascii_start().first() == Some(&b'{') => head.routed(),
        _ => scan(line).routed(),
    }
}

/// The members of the top level that decide.
#[derive(Default, Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl Head<'_> {
    fn routed(&self) -> Routed {
        let raw = |it: Option<&RawValue>| it.map(|it| it.get().to_owned());
        Members {
            kind: raw(self.kind),
            id: raw(self.id),
            has_result: self.result.is_some(),
            has_response: self.response.is_some(),
            message: raw(self.message),
        }
        .routed()
    }
}

/// The same members, however they were found; values as they were written.
#[derive(Debug, Default)]
struct Members {
    kind: Option<String>,
    id: Option<String>,
    has_result: bool,
    has_response: bool,
    message: Option<String>,
}

impl Members {
    fn routed(self) -> Routed {
        let text = |raw: &str| serde_json::from_str::<String>(raw).ok();
        let kind = match self.kind.as_deref().and_then(text).as_deref() {
            Some("handshake_ack") => Kind::Ack,
            Some("frames") if self.has_result => Kind::Frames,
            Some("verified") if self.has_response => Kind::Verified,
            Some("error") if self.message.is_some_and(|it| it.starts_with('"')) => Kind::Error,
            Some(_) => Kind::Other,
            None => Kind::Junk,
        };
        let id = match self.id {
            None => Id::Absent,
            Some(raw) if raw == "null" => Id::Absent,
            Some(raw) => text(&raw).map_or(Id::Odd(raw), Id::Text),
        };
        Routed { kind, id }
    }
}

/// Looks at the top level of something that JSON readers refuse, such as an answer with `NaN` in
/// it, or with its end missing: strings and brackets are told apart, and nothing else.
fn scan(line: &[u8]) -> Members {
    let mut members = Members::default();
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return members;
    }
    let mut at = 1;
    let mut depth = 1;
    let mut name: Option<&[u8]> = None;
    let mut last_string: &[u8] = b"";
    let mut value_from: Option<usize> = None;
    while at < line.len() {
        match line[at] {
            b'"' => {
                let end = string_end(line, at);
                last_string = &line[at..end];
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    members.note(name, value_from.map(|it| &line[it..at]));
                    return members;
                }
            }
            b':' if depth == 1 && value_from.is_none() => {
                name = Some(last_string);
                value_from = Some(at + 1);
            }
            b',' if depth == 1 => {
                members.note(name.take(), value_from.take().map(|it| &line[it..at]));
            }
            _ => {}
        }
        at += 1;
    }
    members.note(name, value_from.map(|it| &line[it..]));
    members
}

impl Members {
    fn note(&mut self, name: Option<&[u8]>, value: Option<&[u8]>) {
        let (Some(name), Some(value)) = (name, value) else {
            return;
        };
        let raw = || String::from_utf8_lossy(value.trim_ascii()).into_owned();
        match name {
            b"\"type\"" => self.kind = Some(raw()),
            b"\"id\"" => self.id = Some(raw()),
            b"\"result\"" => self.has_result = true,
            b"\"response\"" => self.has_response = true,
            b"\"message\"" => self.message = Some(raw()),
            _ => {}
        }
    }
}

/// Where the string that opens at `start` ends, its closing quote included.
fn string_end(line: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < line.len() {
        match line[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Id, Kind, Routed, route, scan};

    #[track_caller]
    fn check(line: &str, kind: Kind, id: Id) {
        assert_eq!(route(line.as_bytes()), Routed { kind, id }, "{line}");
    }

    #[test]
    fn messages_by_type_and_id() {
        let text = |id: &str| Id::Text(id.to_owned());
        check(
            r#"{"type":"frames","id":"q1","result":{}}"#,
            Kind::Frames,
            text("q1"),
        );
        check(r#" {"result":7,"type":"frames"}"#, Kind::Frames, Id::Absent);
        check(r#"{"type":"frames","id":"q1"}"#, Kind::Other, text("q1"));
        check(
            r#"{"type":"verified","response":{},"id":null}"#,
            Kind::Verified,
            Id::Absent,
        );
        check(
            r#"{"type":"error","message":"m","id":7}"#,
            Kind::Error,
            Id::Odd("7".to_owned()),
        );
        check(r#"{"type":"error","message":7}"#, Kind::Other, Id::Absent);
        check(r#"{"type":"handshake_ack"}"#, Kind::Ack, Id::Absent);
        check(r#"{"type":"dance"}"#, Kind::Other, Id::Absent);
        check(
            "\u{feff}{\"type\":\"fr\\u0061mes\",\"result\":{}}\r",
            Kind::Frames,
            Id::Absent,
        );
    }

    #[test]
    fn what_is_no_message() {
        for line in [
            "INFO ready",
            "[\"frames\"]",
            "{}",
            "{\"type\":7}",
            "",
            "7",
            "{\"id\":\"q1\"",
            "null",
        ] {
            assert_eq!(route(line.as_bytes()).kind, Kind::Junk, "{line}");
        }
    }

    #[test]
    fn a_reply_that_no_reader_takes_is_still_a_reply() {
        let text = Id::Text("q1".to_owned());
        check(
            r#"{"result":{"frames":[{"score":NaN}]},"id":"q1","type":"frames"}"#,
            Kind::Frames,
            text.clone(),
        );
        check(
            r#"{"type":"frames","id":"q1","result":{"frames":[{"a":"\"}"#,
            Kind::Frames,
            text.clone(),
        );
        check(
            r#"{"type":"frames","id":"q1","result":{"a":"type","id":"q2"}, x"#,
            Kind::Frames,
            text,
        );
        check(
            r#"{"type":"error","message":"half"#,
            Kind::Error,
            Id::Absent,
        );
        check(
            r#"{"type":"frames","type":"frames","result":{}}"#,
            Kind::Frames,
            Id::Absent,
        );
        let invalid = b"{\"type\":\"frames\",\"result\":{\"a\":\"\xff\"}}";
        assert_eq!(route(invalid).kind, Kind::Frames);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(line in prop::collection::vec(any::<u8>(), 0..64)) {
            drop(route(&line));
        }

        #[test]
        fn the_scan_sees_what_the_reader_sees(
            names in prop::collection::vec(prop_oneof![
                Just("type"), Just("id"), Just("result"), Just("response"), Just("message"), Just("x"),
            ], 0..6),
            values in prop::collection::vec(prop_oneof![
                Just("\"frames\""), Just("\"a\\\"b\""), Just("7"), Just("{\"type\":[1,2]}"), Just("null"),
            ], 6),
        ) {
            let mut names = names;
            names.sort_unstable();
            names.dedup();
            let members: Vec<_> = names.iter().zip(&values).map(|(n, v)| format!("\"{n}\": {v}")).collect();
            let line = format!("{{ {} }}", members.join(" , "));
            let by_scan = scan(line.as_bytes()).routed();
            // Only where they see no null the two agree on what is there.
            prop_assume!(!line.contains("null"));
            prop_assert_eq!(route(line.as_bytes()), by_scan);
        }
    }
}
