use crossbeam_channel::{Receiver, TryRecvError};

use super::{Delivery, Incoming, JUNK_LINES, Mux, Outcome, Slot};
use crate::clock::monotonic_now;
use crate::codec::lines::Line;

fn frames(id: &str) -> String {
    match id {
        "" => r#"{"type":"frames","result":{"frames":[],"truncated":false}}"#.to_owned(),
        id => {
            format!(r#"{{"type":"frames","id":{id},"result":{{"frames":[],"truncated":false}}}}"#)
        }
    }
}

const ERROR: &str = r#"{"type":"error","message":"m"}"#;
const VERIFIED: &str = r#"{"type":"verified","response":{"verdicts":[]}}"#;
const LONG: Line<'static> = Line::TooLong {
    head: b"{\"type\":",
    bytes: 99,
};

fn in_turn() -> (Mux, Receiver<()>) {
    Mux::new()
}

fn correlating() -> (Mux, Receiver<()>) {
    let (mut mux, turn) = Mux::new();
    mux.set_correlates();
    (mux, turn)
}

fn deliver(mux: &mut Mux, line: &str) -> Outcome {
    mux.deliver(Incoming::of(Line::Whole(line.as_bytes())))
}

#[track_caller]
fn got(reply: &Receiver<Delivery>, line: &str) {
    assert_eq!(
        reply.try_recv(),
        Ok(Delivery::Line(line.as_bytes().to_vec()))
    );
}

#[track_caller]
fn waits(reply: &Receiver<Delivery>) {
    assert_eq!(reply.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_late_reply_pays_its_debt_and_answers_nobody() {
    let (mut mux, turn) = in_turn();
    turn.try_recv().unwrap();
    let first = mux.open(Slot::Query);
    mux.abandon(None, monotonic_now());
    assert!(mux.owed_since().is_some() && turn.is_empty());
    for junk in [
        "INFO ready",
        "",
        r#"{"type":"frames"}"#,
        r#"{"type":"dance"}"#,
    ] {
        deliver(&mut mux, junk);
        assert!(turn.is_empty(), "{junk}");
    }
    assert_eq!(deliver(&mut mux, &frames("")), Outcome::Late);
    assert_eq!(first.try_recv(), Err(TryRecvError::Disconnected));
    turn.try_recv().unwrap();
    let second = mux.open(Slot::Query);
    waits(&second);
    assert_eq!(deliver(&mut mux, ERROR), Outcome::Delivered);
    got(&second, ERROR);
    assert_eq!((mux.late(), mux.in_flight()), (1, 0));
}

#[test]
fn whatever_has_the_shape_of_a_reply_pays() {
    let broken = r#"{"type":"frames","result":{"frames":[{"score":NaN}]}}"#;
    for reply in [ERROR, VERIFIED, broken, &frames("\"x\"")] {
        let (mut mux, turn) = in_turn();
        turn.try_recv().unwrap();
        mux.open(Slot::Query);
        mux.abandon(None, monotonic_now());
        assert_eq!(deliver(&mut mux, reply), Outcome::Late, "{reply}");
        assert!(!turn.is_empty());
    }
    let (mut mux, turn) = in_turn();
    turn.try_recv().unwrap();
    let reply = mux.open(Slot::Query);
    assert_eq!(mux.deliver(Incoming::of(LONG)), Outcome::Delivered);
    assert_eq!(reply.try_recv(), Ok(Delivery::TooLong));
}

#[test]
fn a_reply_nobody_asked_for_puts_a_child_out_of_step() {
    let (mut mux, _turn) = in_turn();
    assert!(matches!(deliver(&mut mux, &frames("")), Outcome::Retire(_)));
    let (mut mux, _turn) = correlating();
    assert_eq!(deliver(&mut mux, &frames("")), Outcome::Ignored);
}

#[test]
fn replies_find_their_questions_in_any_order() {
    let (mut mux, _turn) = correlating();
    let (a, of_a) = mux.register();
    let (b, of_b) = mux.register();
    assert_ne!(a, b);
    for (id, reply) in [(b, of_b), (a, of_a)] {
        let line = frames(&format!("\"{id}\""));
        assert_eq!(deliver(&mut mux, &line), Outcome::Delivered);
        got(&reply, &line);
        // A second copy is nobody's.
        assert_eq!(deliver(&mut mux, &line), Outcome::Late);
    }
}

#[test]
fn abandoned_questions_leave_nothing_behind() {
    let (mut mux, _turn) = correlating();
    for _ in 0..2_000 {
        let (id, _) = mux.register();
        mux.abandon(Some(&id), monotonic_now());
    }
    assert_eq!(mux.in_flight(), 0);
    for n in 1..=50 {
        assert_eq!(
            deliver(&mut mux, &frames(&format!("\"q{n}\""))),
            Outcome::Late
        );
    }
    assert_eq!(mux.late(), 50);
    let (id, reply) = mux.register();
    assert_eq!(id, "q2001");
    // Now nothing can be attributed without the exact id.
    for line in [
        frames(""),
        frames("\"Q2001\""),
        frames("2001"),
        ERROR.to_owned(),
    ] {
        assert_eq!(deliver(&mut mux, &line), Outcome::Ignored);
    }
    waits(&reply);
}

#[test]
fn a_wrong_id_is_named_at_once_if_it_can_be_only_one_question() {
    for (id, shown) in [
        ("1", Some("1 (no text)")),
        ("\"Q1\"", Some("Q1")),
        ("\"q\"", Some("q")),
        ("\"q01\"", Some("q01")),
        ("", None),
    ] {
        let (mut mux, _turn) = correlating();
        let (_, reply) = mux.register();
        assert_eq!(deliver(&mut mux, &frames(id)), Outcome::Delivered);
        assert_eq!(
            reply.try_recv(),
            Ok(Delivery::OtherId(shown.map(str::to_owned)))
        );
    }
    let (mut mux, _turn) = correlating();
    let replies = [mux.register().1, mux.register().1];
    assert_eq!(deliver(&mut mux, &frames("")), Outcome::Ignored);
    replies.iter().for_each(waits);
}

#[test]
fn an_error_without_an_id_belongs_to_the_only_question() {
    let (mut mux, _turn) = correlating();
    let (_, reply) = mux.register();
    deliver(&mut mux, ERROR);
    got(&reply, ERROR);

    // A verify is open: whose it is cannot be told.
    let (mut mux, turn) = correlating();
    turn.try_recv().unwrap();
    let (_, query) = mux.register();
    let verify = mux.open(Slot::Verify);
    assert_eq!(deliver(&mut mux, ERROR), Outcome::Ignored);
    waits(&query);
    waits(&verify);
    deliver(&mut mux, VERIFIED);
    got(&verify, VERIFIED);
    waits(&query);
}

#[test]
fn verdicts_are_asked_for_one_at_a_time() {
    let (mut mux, turn) = correlating();
    turn.try_recv().unwrap();
    let verify = mux.open(Slot::Verify);
    deliver(&mut mux, ERROR);
    got(&verify, ERROR);
    turn.try_recv().unwrap();
    mux.open(Slot::Verify);
    mux.abandon(None, monotonic_now());
    assert_eq!(deliver(&mut mux, &frames("")), Outcome::Ignored);
    assert!(turn.is_empty());
    assert_eq!(deliver(&mut mux, VERIFIED), Outcome::Late);
    assert!(!turn.is_empty());
}

#[test]
fn junk_is_skipped_up_to_a_bound() {
    let (mut mux, _turn) = in_turn();
    for _ in 0..JUNK_LINES {
        assert_eq!(deliver(&mut mux, "INFO \u{1b}[2J"), Outcome::Ignored);
    }
    let Outcome::Retire(reason) = deliver(&mut mux, "more") else {
        panic!("over the bound");
    };
    assert!(
        reason.contains("INFO \\x1b[2J") && reason.contains("101 lines"),
        "{reason}"
    );
    let (mut mux, _turn) = in_turn();
    for _ in 0..JUNK_LINES * 3 {
        assert_eq!(deliver(&mut mux, "INFO"), Outcome::Ignored);
        deliver(&mut mux, r#"{"type":"dance"}"#);
    }
    let huge = "x".repeat(65 << 10);
    assert!(matches!(deliver(&mut mux, &huge), Outcome::Retire(_)));
}

#[test]
fn what_was_never_sent_is_owed_by_nobody() {
    let (mut mux, turn) = in_turn();
    turn.try_recv().unwrap();
    mux.open(Slot::Query);
    mux.cancel(None);
    assert!(mux.owed_since().is_none() && !turn.is_empty());
    let (id, _reply) = mux.register();
    mux.cancel(Some(&id));
    assert_eq!(mux.in_flight(), 0);
}

#[test]
fn closing_wakes_whoever_waits() {
    let (mut mux, _turn) = correlating();
    let (_, reply) = mux.register();
    let verify = mux.open(Slot::Verify);
    mux.close();
    for reply in [reply, verify] {
        assert_eq!(reply.try_recv(), Err(TryRecvError::Disconnected));
    }
}

#[test]
fn a_handshake_is_answered_by_an_ack_or_an_error() {
    let ack = r#"{"type":"handshake_ack"}"#;
    for line in [ack, ERROR] {
        let (mut mux, turn) = in_turn();
        turn.try_recv().unwrap();
        let hello = mux.open(Slot::Handshake);
        deliver(&mut mux, "banner");
        deliver(&mut mux, line);
        got(&hello, line);
        assert_eq!(deliver(&mut mux, ack), Outcome::Ignored);
    }
}
