use std::time::Duration;

use super::{Error, LastWords, Occupation, Phase};
use crate::wire::capability::DataFlow;
use crate::wire::error_code::Reaction;
use crate::wire::rules::{Rule, Violation};

const AFTER: Duration = Duration::from_millis(1_500);

/// One of each, with the text that a person reads after "provider `docs`: ".
fn table() -> Vec<(Error, &'static str)> {
    let provider = || "docs".into();
    let violations = || vec![Violation::new(Rule::B3, "token_cost", "declares 1").in_frame(2)];
    vec![
        (
            Error::DuplicateProvider {
                provider: provider(),
            },
            "a provider is registered under this id already; choose another id",
        ),
        (
            Error::UnknownProvider {
                provider: provider(),
            },
            "no provider is registered under this id",
        ),
        (
            Error::Declaration {
                provider: provider(),
                violations: vec![
                    Violation::new(Rule::H2, "name", "is blank"),
                    Violation::new(Rule::H2, "version", "is blank"),
                ],
            },
            "its declaration is refused: H2: name: is blank, H2: version: is blank",
        ),
        (
            Error::Version {
                provider: provider(),
                theirs: Some("contextgraph/2.0".to_owned()),
            },
            "speaks `contextgraph/2.0`, this host speaks `contextgraph/1.0`",
        ),
        (
            Error::Version {
                provider: provider(),
                theirs: None,
            },
            "its protocol version is missing or malformed, this host speaks `contextgraph/1.0`",
        ),
        (
            Error::Consent {
                provider: provider(),
                data_flow: DataFlow::default(),
                scopes: vec!["third-party-index".into(), "acme:x".into()],
            },
            "sends data off this machine and has no consent for third-party-index, acme:x; nothing was sent",
        ),
        (
            Error::Consent {
                provider: provider(),
                data_flow: DataFlow::default(),
                scopes: Vec::new(),
            },
            "sends data off this machine (egress) and has no consent; nothing was sent",
        ),
        (
            Error::InvalidQuery {
                provider: provider(),
                violations: vec![Violation::new(
                    Rule::F4,
                    "as_of",
                    "`now` is not a timestamp",
                )],
            },
            "the query is invalid: F4: as_of: `now` is not a timestamp",
        ),
        (
            Error::Busy {
                provider: provider(),
                with: Occupation::AbandonedRequest,
                after: AFTER,
            },
            "still busy with a request whose caller has given up after 1s 500ms; try again later",
        ),
        (
            Error::Timeout {
                provider: provider(),
                phase: Phase::Reply,
                after: AFTER,
            },
            "no answer within 1s 500ms",
        ),
        (
            Error::Panicked {
                provider: provider(),
                message: "index\n3".to_owned(),
            },
            "panicked: index\\n3",
        ),
        (
            Error::Refused {
                provider: provider(),
                code: Some("acme:quota".into()),
                message: "used up\x1b[2J".to_owned(),
            },
            "refused: used up\\x1b[2J (acme:quota)",
        ),
        (
            Error::Refused {
                provider: provider(),
                code: None,
                message: "no".to_owned(),
            },
            "refused: no (no code, so internal)",
        ),
        (
            Error::BudgetLie {
                provider: provider(),
                claimed_tokens: 9_000,
                max_tokens: 600,
                dropped_frames: 4,
            },
            "B1: declares 9000 tokens, the limit is 600; all 4 frames dropped",
        ),
        (
            Error::CostLie {
                provider: provider(),
                violations: violations(),
                dropped_frames: 4,
            },
            "B3: frames[2]: token_cost: declares 1; all 4 frames dropped",
        ),
        (
            Error::FrameFlood {
                provider: provider(),
                returned_frames: 50,
                max_frames: 8,
            },
            "B4: returned 50 frames, the limit is 8; all dropped",
        ),
        (
            Error::Unexpected {
                provider: provider(),
                wanted: "handshake_ack",
                got: "frames".to_owned(),
            },
            "`handshake_ack` was due, `frames` came",
        ),
        (
            Error::Correlation {
                provider: provider(),
                expected: "q1".to_owned(),
                got: Some("q9".to_owned()),
            },
            "H4: a reply carries the id `q9` instead of `q1`",
        ),
        (
            Error::Correlation {
                provider: provider(),
                expected: "q1".to_owned(),
                got: None,
            },
            "H4: a reply carries no id, `q1` was due",
        ),
        (
            Error::Malformed {
                provider: provider(),
                reason: "not JSON".to_owned(),
            },
            "its reply is no message: not JSON",
        ),
        (
            Error::TooLong {
                provider: provider(),
                limit: 16_777_216,
            },
            "its message is longer than the limit of 16777216 bytes",
        ),
        (
            Error::Closed {
                provider: provider(),
                last_words: LastWords {
                    status: Some("exit status: 3".to_owned()),
                    reason: "it exited".to_owned(),
                    stderr: vec!["no such\tindex".to_owned()],
                },
            },
            "is gone: it exited (exit status: 3); last on stderr: | no such\\tindex",
        ),
        (
            Error::Spawn {
                provider: provider(),
                program: "docs-server".to_owned(),
                reason: "not found in PATH".to_owned(),
                source: None,
            },
            "cannot start `docs-server`: not found in PATH",
        ),
        (
            Error::Io {
                provider: provider(),
                source: std::io::Error::other("broken"),
            },
            "connection failed: broken",
        ),
        (
            Error::Unsupported {
                provider: provider(),
                what: "a child process",
            },
            "a child process is not supported on this platform",
        ),
    ]
}

#[test]
fn every_message() {
    for (error, text) in table() {
        assert_eq!(error.to_string(), format!("provider `docs`: {text}"));
        assert_eq!(*error.provider(), "docs");
    }
}

#[test]
fn callers_know_what_to_try_again() {
    let retryable: Vec<_> = table()
        .into_iter()
        .filter(|(it, _)| it.is_retryable())
        .collect();
    let names: Vec<_> = retryable.iter().map(|(_, text)| &text[..7]).collect();
    assert_eq!(names, ["still b", "no answ", "is gone"]);
    let refused = Error::Refused {
        provider: "docs".into(),
        code: Some("unavailable".into()),
        message: String::new(),
    };
    assert_eq!(refused.reaction(), Reaction::RetryWithBackoff);
}

#[test]
fn long_lists_are_cut() {
    let violation = Violation::new(Rule::H2, "name", "is blank");
    let error = Error::Declaration {
        provider: "docs".into(),
        violations: vec![violation; 9],
    };
    assert!(error.to_string().ends_with("is blank and 6 more"));
}

#[test]
fn an_error_travels() {
    fn travels<T: Send + Sync + 'static>() {}
    travels::<Error>();
    assert!(size_of::<Error>() <= 128);
}
