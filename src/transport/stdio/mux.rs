//! Which reply belongs to which question (H4; SPEC.md, "One thing at a time"). Pure: no IO, no
//! clock; the reader delivers, callers register and forget.

use std::collections::HashMap;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::codec::lines::{Line, is_blank};
use crate::transport::stdio::route::{Id, Kind, Routed, route};
use crate::wire::text::shown;

/// Lines that are no messages between two that are; with more the child is retired.
const JUNK_LINES: usize = 100;
/// Bytes of such lines.
const JUNK_BYTES: usize = 64 << 10;

/// Who waits for what on one connection.
#[derive(Debug)]
pub(super) struct Mux {
    /// Whether the child declared `correlation`.
    correlates: bool,
    last_id: u64,
    correlated: HashMap<String, Sender<Delivery>>,
    /// The exchange without an id that is open.
    slot: Option<(Slot, Sender<Delivery>)>,
    /// Since when a reply without an id is owed to a caller that gave up.
    owed: Option<Instant>,
    /// Takes the token that allows the next exchange without an id.
    turn: Sender<()>,
    /// Correlated questions whose callers gave up.
    abandoned: u64,
    late: u64,
    junk: Junk,
}

/// An exchange without an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Handshake,
    Query,
    Verify,
}

/// What a caller gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The line that answers, to be decoded.
    Line(Vec<u8>),
    /// A line over the limit answered.
    TooLong,
    /// The answer carried another id, shown as it was written, or none.
    OtherId(Option<String>),
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Somebody waited for it.
    Delivered,
    /// Its caller had given up.
    Late,
    /// Nobody is concerned.
    Ignored,
    /// The connection cannot be trusted any more.
    Retire(String),
}

/// A line that has been looked at: done before the mux is locked, since a line may be long.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Blank,
    /// No message.
    Junk(Line<'a>),
    Message(Routed, Delivery),
}

impl<'a> Incoming<'a> {
    pub(super) fn of(line: Line<'a>) -> Self {
        let (routed, delivery) = match line {
            Line::Whole(text) if is_blank(text) => return Self::Blank,
            Line::Whole(text) => match route(text) {
                Routed {
                    kind: Kind::Junk, ..
                } => return Self::Junk(line),
                routed => (routed, Delivery::Line(text.to_vec())),
            },
            // Whatever opens like a message and is too long to be read was meant as a reply.
            Line::TooLong { head, .. } if head.trim_ascii_start().first() == Some(&b'{') => {
                let routed = Routed {
                    kind: Kind::Frames,
                    ..route(head)
                };
                (routed, Delivery::TooLong)
            }
            Line::TooLong { .. } => return Self::Junk(line),
        };
        Self::Message(routed, delivery)
    }
}

#[derive(Debug, Default)]
struct Junk {
    lines: usize,
    bytes: usize,
    first: Option<String>,
}

impl Mux {
    /// A mux, and the token for exchanges without an id: whoever takes it may open one.
    pub(super) fn new() -> (Self, Receiver<()>) {
        let (turn, next) = bounded(1);
        let mux = Self {
            correlates: false,
            last_id: 0,
            correlated: HashMap::new(),
            slot: None,
            owed: None,
            turn,
            abandoned: 0,
            late: 0,
            junk: Junk::default(),
        };
        mux.give_turn_back();
        (mux, next)
    }

    pub(super) fn set_correlates(&mut self) {
        self.correlates = true;
    }

    /// Opens an exchange with an id of its own; ids are never used again.
    pub(super) fn register(&mut self) -> (String, Receiver<Delivery>) {
        self.last_id += 1;
        let id = format!("q{}", self.last_id);
        let (sender, receiver) = bounded(1);
        self.correlated.insert(id.clone(), sender);
        (id, receiver)
    }

    /// Opens the exchange without an id; the caller holds the token.
    pub(super) fn open(&mut self, slot: Slot) -> Receiver<Delivery> {
        let (sender, receiver) = bounded(1);
        self.slot = Some((slot, sender));
        receiver
    }

    /// Takes back an exchange of which nothing was sent.
    pub(super) fn cancel(&mut self, id: Option<&str>) {
        match id {
            Some(id) => drop(self.correlated.remove(id)),
            None => {
                self.slot = None;
                self.give_turn_back();
            }
        }
    }

    /// The caller gives up waiting. Without an id the reply is owed from now on, and nothing
    /// else may be asked until it has come.
    pub(super) fn abandon(&mut self, id: Option<&str>, now: Instant) {
        match id {
            Some(id) => {
                if self.correlated.remove(id).is_some() {
                    self.abandoned += 1;
                }
            }
            None => {
                if self.slot.take().is_some() {
                    self.owed = Some(now);
                }
            }
        }
    }

    /// Since when a reply is owed.
    pub(super) fn owed_since(&self) -> Option<Instant> {
        self.owed
    }

    /// Questions that wait for an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.correlated.len() + usize::from(self.slot.is_some())
    }

    /// Answers that came after their callers had given up.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// No more will come: whoever waits is woken.
    pub(super) fn close(&mut self) {
        self.correlated.clear();
        self.slot = None;
        // Whoever waits for the turn is woken by it.
        self.give_turn_back();
    }

    /// Hands a line to whom it belongs.
    pub(super) fn deliver(&mut self, incoming: Incoming<'_>) -> Outcome {
        let (routed, delivery) = match incoming {
            Incoming::Blank => return Outcome::Ignored,
            Incoming::Junk(line) => return self.junk(line),
            Incoming::Message(routed, delivery) => (routed, delivery),
        };
        self.junk = Junk::default();
        if self.correlates {
            self.deliver_correlated(routed.kind, routed.id, delivery)
        } else {
            self.deliver_in_turn(routed.kind, delivery)
        }
    }

    fn deliver_in_turn(&mut self, kind: Kind, delivery: Delivery) -> Outcome {
        let is_handshake = matches!(self.slot, Some((Slot::Handshake, _)));
        if is_handshake && kind == Kind::Ack {
            return self.answer_slot(delivery);
        }
        if !kind.is_reply() {
            return Outcome::Ignored;
        }
        if self.owed.is_some() {
            return self.pay();
        }
        if self.slot.is_some() {
            return self.answer_slot(delivery);
        }
        Outcome::Retire("it sent a reply that nobody asked for".to_owned())
    }

    fn deliver_correlated(&mut self, kind: Kind, id: Id, delivery: Delivery) -> Outcome {
        if !kind.is_reply() {
            return Outcome::Ignored;
        }
        if let Id::Text(id) = &id
            && let Some(caller) = self.correlated.remove(id)
        {
            send(&caller, delivery);
            return Outcome::Delivered;
        }
        let is_verdict = kind == Kind::Verified
            || kind == Kind::Error
                && id == Id::Absent
                && self.correlated.is_empty()
                && self.abandoned == 0;
        if is_verdict {
            if self.owed.is_some() {
                return self.pay();
            }
            if self.slot.is_some() {
                return self.answer_slot(delivery);
            }
        }
        if kind == Kind::Verified {
            return Outcome::Ignored;
        }
        match id {
            Id::Text(id) if self.was_issued(&id) => {
                self.late += 1;
                Outcome::Late
            }
            // An error without an id is taken for the answer, anything else for a wrong one.
            Id::Absent if kind == Kind::Error => self.answer_only_one(delivery),
            Id::Absent if delivery == Delivery::TooLong => self.answer_only_one(delivery),
            Id::Absent => self.answer_only_one(Delivery::OtherId(None)),
            Id::Text(id) => self.answer_only_one(Delivery::OtherId(Some(id))),
            Id::Odd(raw) => {
                let raw = format!("{raw} (no text)");
                self.answer_only_one(Delivery::OtherId(Some(raw)))
            }
        }
    }

    /// For a reply that says whose it is in no way: only if it can be nobody else's.
    fn answer_only_one(&mut self, delivery: Delivery) -> Outcome {
        let is_only_one = self.correlated.len() == 1
            && self.abandoned == 0
            && self.slot.is_none()
            && self.owed.is_none();
        if !is_only_one {
            return Outcome::Ignored;
        }
        for (_, caller) in self.correlated.drain() {
            send(&caller, delivery.clone());
        }
        Outcome::Delivered
    }

    fn answer_slot(&mut self, delivery: Delivery) -> Outcome {
        if let Some((_, caller)) = self.slot.take() {
            send(&caller, delivery);
        }
        self.give_turn_back();
        Outcome::Delivered
    }

    /// What was owed has come: it is dropped, and the next may ask.
    fn pay(&mut self) -> Outcome {
        self.owed = None;
        self.late += 1;
        self.give_turn_back();
        Outcome::Late
    }

    fn give_turn_back(&self) {
        // There is one token; if it is there already, nothing was taken.
        self.turn.try_send(()).ok();
    }

    fn was_issued(&self, id: &str) -> bool {
        let number = id.strip_prefix('q').and_then(|it| it.parse::<u64>().ok());
        number.is_some_and(|it| (1..=self.last_id).contains(&it) && id == format!("q{it}"))
    }

    fn junk(&mut self, line: Line<'_>) -> Outcome {
        let (text, bytes) = match line {
            Line::Whole(line) => (line, line.len()),
            Line::TooLong { head, bytes } => (head, bytes),
        };
        let junk = &mut self.junk;
        junk.lines += 1;
        junk.bytes += bytes;
        let text = String::from_utf8_lossy(&text[..text.len().min(256)]);
        let first = junk.first.get_or_insert_with(|| shown(&text).to_string());
        if junk.lines == 1 {
            log::warn!("a line on stdout is no message: {first}");
        }
        if junk.lines <= JUNK_LINES && junk.bytes <= JUNK_BYTES {
            return Outcome::Ignored;
        }
        Outcome::Retire(format!(
            "{} lines ({} bytes) on its stdout are no messages; logs belong on stderr; the first: {first}",
            junk.lines, junk.bytes
        ))
    }
}

/// Each caller gets one delivery, so there is room; a caller that left does not matter.
fn send(caller: &Sender<Delivery>, delivery: Delivery) {
    caller.try_send(delivery).ok();
}

#[cfg(test)]
mod tests;
