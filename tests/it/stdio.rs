//! Children that misbehave in every way: each costs itself only, and nothing is left behind.

mod start;

use std::fs;
use std::time::Duration;

use contextgraph_sync::clock::{Deadline, monotonic_now};
use contextgraph_sync::error::{Occupation, Phase};
use contextgraph_sync::transport::stdio::{RawConnection, StderrPolicy, StdioCommand};
use contextgraph_sync::wire::{ContextQuery, Envelope};
use contextgraph_sync::{Error, Host, HostConfig, Result};

use crate::support::ask;
use crate::temp_dir::TempDir;

/// A limit that passes only where a test wants it to.
const LONG: Duration = Duration::from_secs(20);
/// A limit for what is bound to take for ever.
const SHORT: Duration = Duration::from_millis(150);

fn child(mode: &str, argument: &str) -> StdioCommand {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/child.py");
    StdioCommand::new("python3").args([script, mode, argument])
}

fn host(limit: Duration) -> Host {
    Host::with_config(HostConfig {
        call_timeout: limit,
        handshake_timeout: LONG,
        ..HostConfig::default()
    })
}

fn host_of(limit: Duration, mode: &str, argument: &str) -> Host {
    let host = host(limit);
    host.add_stdio("child", child(mode, argument)).unwrap();
    host
}

fn query(host: &Host, goal: &str) -> Result<String> {
    let answer = host.query_provider("child", &ContextQuery::new(goal, 8, 1 << 30))?;
    Ok(answer
        .frames
        .into_iter()
        .next()
        .and_then(|it| it.content)
        .unwrap_or_default())
}

#[track_caller]
fn answers(host: &Host, goal: &str) {
    assert_eq!(query(host, goal).unwrap(), format!("answer to {goal}"));
}

#[track_caller]
fn closed(result: Result<String>, parts: &[&str]) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn an_honest_child_answers_and_ends() {
    let host = host_of(LONG, "honest", "");
    for goal in ["one", "two"] {
        answers(&host, goal);
    }
    assert!(host.shutdown().iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn lines_may_look_odd() {
    for mode in [
        "bom-crlf",
        "banner",
        "log-lines",
        "unknown-type",
        "writes-before-reading",
        "floods-stderr",
    ] {
        let host = host_of(LONG, mode, "");
        answers(&host, "one");
        answers(&host, "two");
    }
    let host = host_of(LONG, "byte-by-byte", "");
    assert_eq!(query(&host, "one").unwrap(), "naïve 文脈 🔎 done");
}

#[test]
fn endless_junk_is_given_up_with_its_first_line() {
    let error = host(LONG)
        .add_stdio("child", child("endless-banner", ""))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no messages; logs belong on stderr; the first: INFO one more line"),
        "{error}"
    );
}

#[test]
fn a_late_answer_is_dropped_and_the_next_question_gets_its_own() {
    let dir = TempDir::new();
    let gate = dir.path().join("gate");
    let host = host_of(SHORT, "late", gate.to_str().unwrap());
    let error = query(&host, "first").unwrap_err();
    assert!(
        matches!(
            error,
            Error::Timeout {
                phase: Phase::Reply,
                ..
            }
        ),
        "{error}"
    );
    // The answer is still owed: nothing is sent meanwhile.
    let error = query(&host, "second").unwrap_err();
    let with_owed = matches!(
        error,
        Error::Busy {
            with: Occupation::AbandonedRequest,
            ..
        }
    );
    assert!(with_owed, "{error}");
    assert!(host.stuck().iter().any(|it| *it == "child"));
    fs::write(&gate, "").unwrap();
    let third = std::iter::repeat_with(|| query(&host, "third")).take(100);
    let answer = third.into_iter().find_map(Result::ok);
    assert_eq!(answer.as_deref(), Some("answer to third"));
    answers(&host, "fourth");
}

#[test]
fn a_late_answer_to_a_correlated_question_disturbs_nobody() {
    let dir = TempDir::new();
    let gate = dir.path().join("gate");
    let host = host_of(SHORT, "c-late", gate.to_str().unwrap());
    assert!(matches!(query(&host, "first"), Err(Error::Timeout { .. })));
    fs::write(&gate, "").unwrap();
    let answer = std::iter::repeat_with(|| query(&host, "second"))
        .take(100)
        .find_map(Result::ok);
    assert_eq!(answer.as_deref(), Some("answer to second"));
}

#[test]
fn a_debt_that_is_too_old_gets_a_fresh_child() {
    let dir = TempDir::new();
    let count = dir.path().join("count");
    let host = host(SHORT);
    let command = child("counts-starts", count.to_str().unwrap()).owed_limit(Duration::ZERO);
    host.add_stdio("child", command).unwrap();
    assert!(matches!(query(&host, "hang"), Err(Error::Timeout { .. })));
    let answer = std::iter::repeat_with(|| query(&host, "next"))
        .take(100)
        .find_map(Result::ok);
    assert_eq!(answer.as_deref(), Some("start 1"));
}

#[test]
fn an_answer_given_twice_puts_the_child_out_of_step() {
    let host = host_of(LONG, "twice", "");
    answers(&host, "one");
    // The copy is seen before the next question is sent, or with it; never taken for its answer.
    let second = query(&host, "two");
    match second {
        Ok(answer) => assert_eq!(answer, "answer to two"),
        Err(error) => assert!(error.to_string().contains("nobody asked for"), "{error}"),
    }
}

#[test]
fn replies_in_reverse_order_find_their_questions() {
    let host = host_of(LONG, "c-reversed", "");
    std::thread::scope(|scope| {
        for goal in ["alpha", "beta", "gamma"] {
            let host = &host;
            scope.spawn(move || answers(host, goal));
        }
    });
}

#[test]
fn a_wrong_id_is_named_at_once() {
    for (wrong, shown) in [
        ("number", "`7 (no text)`"),
        ("upper", "`Q1`"),
        ("trim", "`q`"),
        ("missing", "no id"),
    ] {
        let host = host_of(LONG, "c-id", wrong);
        let error = query(&host, "one").unwrap_err();
        assert!(matches!(error, Error::Correlation { .. }), "{error}");
        assert!(
            error.to_string().contains(shown) && error.to_string().contains("q1"),
            "{error}"
        );
    }
}

#[test]
fn an_error_without_an_id_answers_the_only_question() {
    let host = host_of(LONG, "c-error-without-id", "");
    let error = query(&host, "one").unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    let host = host_of(LONG, "error", "");
    assert!(
        query(&host, "one")
            .unwrap_err()
            .to_string()
            .contains("only facts (unsupported_kind)")
    );
}

#[test]
fn a_broken_answer_costs_one_question() {
    for (mode, parts) in [
        ("nan", &["NaN", "column"][..]),
        ("c-nan", &["NaN", "column"]),
        ("invalid-utf8", &["not UTF-8"]),
        ("long-line", &["limit of 16777216 bytes"]),
    ] {
        let host = host_of(LONG, mode, "");
        let error = query(&host, "one").unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "{mode}: {error}");
        }
        answers(&host, "two");
    }
}

#[test]
fn a_child_that_is_gone_says_how_it_ended() {
    for (mode, parts) in [
        ("dies-by-signal", &["it ended", "signal: 9"][..]),
        (
            "half-then-exit",
            &[
                "inside a message, after 51 bytes",
                "exit status: 7",
                "out of memory",
            ],
        ),
        ("closes-stdout", &["closed its stdout and lives on"]),
        ("grandchild", &["it ended", "exit status: 5"]),
    ] {
        let host = host_of(LONG, mode, "");
        closed(query(&host, "one"), parts);
        // And so does every further question, at once.
        closed(query(&host, "two"), parts);
    }
    let host = host_of(LONG, "dies-after-ack", "");
    closed(query(&host, "one"), &["exit status: 3"]);
    let host = host_of(LONG, "no-newline", "");
    assert_eq!(query(&host, "one").unwrap(), "the last words");
    closed(query(&host, "two"), &["exit status: 0"]);
}

#[test]
fn a_child_that_does_not_read_or_stops_costs_its_own_time() {
    let host = host_of(SHORT, "reads-nothing", "");
    let huge = "x".repeat(1 << 20);
    let error = query(&host, &huge).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Timeout {
                phase: Phase::Send,
                ..
            }
        ),
        "{error}"
    );
    let host = host_of(SHORT, "stops-itself", "");
    assert!(matches!(query(&host, "one"), Err(Error::Timeout { .. })));
    assert!(host.shutdown()[0].1.is_err(), "it had to be made to");
    let host = host_of(SHORT, "c-reads-nothing", "");
    for _ in 0..3 {
        assert!(query(&host, "small").is_err());
    }
}

#[test]
fn two_thousand_abandoned_questions_leave_nothing_behind() {
    let host = host(Duration::from_millis(1));
    host.add_stdio("child", child("c-never", "").stderr(StderrPolicy::Discard))
        .unwrap();
    for n in 0..500 {
        assert!(query(&host, &format!("never {n}")).is_err());
    }
    let patient = Duration::from_secs(10);
    let answer = std::iter::repeat_with(|| query(&host, "now")).take(100_000);
    let started = monotonic_now();
    let answer = answer
        .take_while(|_| started.elapsed() < patient)
        .find_map(Result::ok);
    assert_eq!(answer.as_deref(), Some("answer to now"));
}

#[test]
fn twenty_thousand_exchanges_from_eight_threads_keep_their_answers_apart() {
    let host = host(LONG);
    host.add_stdio("lock-step", child("at-any-time", ""))
        .unwrap();
    host.add_stdio("correlating", child("c-at-any-time", ""))
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let host = &host;
            scope.spawn(move || {
                for n in 0..2500 {
                    let id = ["lock-step", "correlating"][(n + thread) % 2];
                    let goal = format!("{thread}/{n}");
                    let answer = host.query_provider(id, &ask(&goal)).unwrap();
                    let content = answer.frames[0].content.as_deref();
                    assert_eq!(content, Some(&*format!("answer to {goal}")));
                }
            });
        }
    });
}

#[test]
fn verdicts_come_from_a_child_too_and_a_strange_reply_is_named() {
    let host = host_of(LONG, "tampers", "");
    let error = query(&host, "one").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`frames` was due, `verified` came"),
        "{error}"
    );
}

#[test]
fn a_fan_out_names_the_one_that_crashed() {
    let host = host_of(LONG, "half-then-exit", "");
    host.add_stdio("healthy", child("honest", "")).unwrap();
    let fan_out = host.query_all(&ask("one"));
    assert_eq!(fan_out.frames().len(), 1);
    let failures: Vec<_> = fan_out.failures().map(ToString::to_string).collect();
    assert!(
        failures.len() == 1 && failures[0].starts_with("provider `child`: is gone"),
        "{failures:?}"
    );
}

#[test]
fn a_raw_connection_shows_every_line() {
    let deadline = Deadline::after(LONG);
    let raw = RawConnection::open("child", &child("banner", "")).unwrap();
    assert_eq!(
        raw.receive_line(deadline).unwrap(),
        b"\x1b[1mWelcome\x1b[0m"
    );
    assert_eq!(raw.receive_line(deadline).unwrap(), b"");
    raw.send(&Envelope::handshake(), deadline).unwrap();
    for _ in 0..2 {
        raw.receive_line(deadline).unwrap();
    }
    assert!(
        raw.receive_line(deadline)
            .unwrap()
            .starts_with(b"{\"type\": \"handshake_ack\"")
    );
    let error = raw.receive_line(Deadline::at(monotonic_now())).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }));
    raw.shutdown(deadline).unwrap();
    assert!(matches!(
        raw.receive_line(deadline),
        Err(Error::Closed { .. })
    ));
}

#[test]
fn a_flood_of_raw_lines_stays_in_the_pipe() {
    let raw = RawConnection::open("child", &child("endless-banner", "")).unwrap();
    let deadline = Deadline::after(LONG);
    for _ in 0..50_000 {
        assert_eq!(raw.receive_line(deadline).unwrap(), b"INFO one more line");
    }
}
