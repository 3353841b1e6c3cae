//! A provider served over a pair of streams, whatever comes in.

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use contextgraph_sync::provider::{ContextProvider, ProviderError, Serve};
use contextgraph_sync::wire::{
    Capabilities, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
};
use serde_json::Value;

use crate::support::{GUARD, echo};

/// Echoes; goals that begin with `panic` and `fail` do what they say.
#[derive(Default)]
struct Echo {
    shutdowns: AtomicUsize,
}

impl ContextProvider for Echo {
    fn info(&self) -> ProviderInfo {
        ProviderInfo::local("echo", "1")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            correlation: true,
            embeddings_fingerprint: Some("m/3".to_owned()),
            ..Capabilities::kinds([FrameKind::Doc])
        }
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        match query.goal.as_str() {
            "panic" => panic!("a bug"),
            "fail" => Err(ProviderError::unavailable("not today")),
            _ => echo(query),
        }
    }

    fn shutdown(&self) {
        self.shutdowns.fetch_add(1, Ordering::Relaxed);
    }
}

/// Hands out one byte at a time.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.0.len().min(1).min(out.len());
        let (now, later) = self.0.split_at(n);
        out[..n].copy_from_slice(now);
        self.0 = later;
        Ok(n)
    }
}

/// What is answered to some input; the input may come in any pieces.
fn answers(input: &[u8]) -> Vec<Value> {
    let whole = served(Serve::default(), input);
    let mut slowly = Vec::new();
    Serve::default()
        .serve(&Echo::default(), Slowly(input), &mut slowly)
        .unwrap();
    assert_eq!(slowly, whole);
    lines(&whole)
}

fn served(serve: Serve, input: &[u8]) -> Vec<u8> {
    let provider = Echo::default();
    let mut output = Vec::new();
    serve.serve(&provider, input, &mut output).unwrap();
    assert_eq!(provider.shutdowns.into_inner(), 1);
    output
}

/// Every line is one JSON object that ends in one line feed.
fn lines(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    assert!(!text.contains('\r'));
    text.lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect()
}

fn query(id: &str, goal: &str) -> String {
    let query = format!("{{\"goal\":\"{goal}\",\"max_frames\":8,\"max_tokens\":1000}}");
    match id {
        "" => format!("{{\"type\":\"query\",\"query\":{query}}}\n"),
        id => format!("{{\"type\":\"query\",\"id\":\"{id}\",\"query\":{query}}}\n"),
    }
}

/// One answer to one line: an error with this code, this id and a message that contains this.
#[track_caller]
fn refused(line: &[u8], code: &str, id: Option<&str>, message: &str) {
    let answers = answers(line);
    assert_eq!(answers.len(), 1, "{answers:?}");
    let answer = &answers[0];
    assert_eq!(
        (&answer["type"], &answer["code"]),
        (&"error".into(), &code.into()),
        "{answer}"
    );
    assert_eq!(answer.get("id").and_then(Value::as_str), id, "{answer}");
    let text = answer["message"].as_str().unwrap();
    assert!(text.contains(message) && text.len() < 500, "{text}");
}

#[test]
fn a_conversation() {
    let input = [
        "\u{feff}{\"type\":\"handshake\",\"protocol_version\":\"contextgraph/1.0-draft\",\"x\":1}\r\n",
        "\r\n",
        "   \n",
        &query("q 1\u{e9}", "one"),
        &query("", "two"),
        "{\"type\":\"shutdown\"}\n",
        &query("", "never read"),
    ]
    .concat();
    let answers = answers(input.as_bytes());
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["type"], "handshake_ack");
    assert_eq!(answers[0]["protocol_version"], "contextgraph/1.0");
    assert_eq!(answers[0]["provider"]["name"], "echo");
    assert_eq!(answers[1]["id"], "q 1\u{e9}");
    assert_eq!(answers[1]["result"]["frames"][0]["content"], "one");
    assert_eq!(answers[2].get("id"), None);
    assert_eq!(answers[2]["result"]["frames"][0]["content"], "two");
}

#[test]
fn the_last_line_needs_no_end() {
    let answers = answers(query("", "last").trim_end().as_bytes());
    assert_eq!(answers[0]["result"]["frames"][0]["content"], "last");
    assert_eq!(self::answers(b""), [] as [Value; 0]);
}

#[test]
fn what_cannot_be_read_is_a_bad_request() {
    refused(b"hello\n", "bad_request", None, "not a JSON object");
    refused(b"{}\n", "bad_request", None, "type is missing");
    refused(b"{\"type\":\n", "bad_request", None, "not JSON");
    refused(b"[]\n", "bad_request", None, "not a JSON object");
    refused(
        b"[\"shutdown\"]\n",
        "bad_request",
        None,
        "not a JSON object",
    );
    refused(
        b"{\"type\":\"query\",\"query\":{\"goal\":\"\xff\"}}\n",
        "bad_request",
        None,
        "not UTF-8",
    );
    refused(
        b"{\"type\":\"query\",\"id\":\"a\"}\n",
        "bad_request",
        Some("a"),
        "query",
    );
    refused(
        b"{\"type\":\"query\",\"id\":\"a\",\"query\":{\"goal\":\"g\"}}\n",
        "bad_request",
        Some("a"),
        "max_",
    );
    refused(
        b"{\"type\":\"verify\",\"request\":7}\n",
        "bad_request",
        None,
        "request",
    );
    let nan = query("a", "g").replace("1000", "NaN");
    refused(nan.as_bytes(), "bad_request", None, "");
    refused(
        b"{\"type\":\"dance\",\"id\":\"n1\"}\n",
        "bad_request",
        Some("n1"),
        "unknown type `dance`",
    );
}

#[test]
fn half_a_question_is_not_answered() {
    let line = query("a", "g").replace("\"goal\"", "\"anchors\":[\"file:///a\",7],\"goal\"");
    refused(
        line.as_bytes(),
        "bad_request",
        Some("a"),
        "query.anchors[1]",
    );
}

#[test]
fn a_vector_of_another_length_is_a_bad_request() {
    let line = |vector: &str| {
        query("a", "g").replace("\"goal\"", &format!("\"embedding\":{vector},\"goal\""))
    };
    refused(
        line("[0.5,0.5]").as_bytes(),
        "bad_request",
        Some("a"),
        "2 numbers, m/3 has 3",
    );
    let answers = answers(line("[0.5,0.5,0.5]").as_bytes());
    assert_eq!(answers[0]["type"], "frames");
}

#[test]
fn what_only_a_provider_says_is_ignored() {
    let input = b"{\"type\":\"dance\"}\n{\"type\":\"error\",\"message\":\"m\"}\n{\"type\":\"frames\",\"id\":\"a\",\"result\":{\"frames\":[],\"truncated\":false}}\n";
    assert_eq!(answers(input), [] as [Value; 0]);
}

#[test]
fn another_family_is_incompatible() {
    for version in [
        "contextgraph/2.0",
        "contextgraph/0.1",
        "other/1.0",
        "",
        "contextgraph/1",
    ] {
        let line = format!("{{\"type\":\"handshake\",\"protocol_version\":\"{version}\"}}\n");
        refused(
            line.as_bytes(),
            "incompatible_version",
            None,
            "contextgraph/1.0",
        );
    }
}

#[test]
fn faults_of_the_author_are_answered_and_the_loop_goes_on() {
    refused(
        query("a", "fail").as_bytes(),
        "unavailable",
        Some("a"),
        "not today",
    );
    let input = [query("a", "panic"), query("b", "after")].concat();
    let answers = answers(input.as_bytes());
    assert_eq!(
        (&answers[0]["code"], &answers[0]["id"]),
        (&"internal".into(), &"a".into())
    );
    assert!(answers[0]["message"].as_str().unwrap().contains("a bug"));
    assert_eq!(answers[1]["result"]["frames"][0]["content"], "after");
}

#[test]
fn verify_without_an_implementation_is_unknown() {
    let line = b"{\"type\":\"verify\",\"id\":\"v\",\"request\":{\"frames\":[{\"provider_id\":\"p\",\"frame_id\":\"f\"}]}}\n";
    let answers = answers(line);
    assert_eq!(
        (&answers[0]["type"], &answers[0]["id"]),
        (&"verified".into(), &"v".into())
    );
    assert_eq!(answers[0]["response"]["verdicts"][0]["status"], "unknown");
}

#[test]
fn an_over_long_line_costs_itself() {
    let serve = Serve {
        line_limit: 1000,
        ..Serve::default()
    };
    let input = [query("a", &"x".repeat(2000)), query("b", "next")].concat();
    let answers = lines(&served(serve, input.as_bytes()));
    assert_eq!(answers[0]["code"], "bad_request");
    assert!(
        answers[0]["message"]
            .as_str()
            .unwrap()
            .contains("over the limit of 1000")
    );
    assert_eq!(answers[1]["result"]["frames"][0]["content"], "next");
}

#[test]
fn an_over_long_answer_is_replaced_by_a_reason() {
    let serve = Serve {
        line_limit: 600,
        ..Serve::default()
    };
    let answers = lines(&served(serve, query("a", &"x".repeat(400)).as_bytes()));
    assert_eq!(
        (&answers[0]["code"], &answers[0]["id"]),
        (&"internal".into(), &"a".into())
    );
}

/// Fails every write.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_output_ends_it() {
    let input = query("a", "g").repeat(1000);
    for workers in [1, 4] {
        let serve = Serve {
            workers: NonZeroUsize::new(workers).unwrap(),
            ..Serve::default()
        };
        let provider = Echo::default();
        let broken = Broken(io::ErrorKind::BrokenPipe);
        serve.serve(&provider, input.as_bytes(), broken).unwrap();
        let full = serve.serve(
            &provider,
            input.as_bytes(),
            Broken(io::ErrorKind::StorageFull),
        );
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(provider.shutdowns.into_inner(), 2);
    }
}

/// Holds the question `first` back until `second` has been answered.
struct Holding {
    second: Sender<()>,
    release: Receiver<()>,
}

impl ContextProvider for Holding {
    fn info(&self) -> ProviderInfo {
        ProviderInfo::local("holding", "1")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        match query.goal.as_str() {
            "first" => self.release.recv_timeout(GUARD).unwrap(),
            _ => self.second.send(()).unwrap(),
        }
        echo(query)
    }
}

#[test]
fn a_pool_answers_out_of_order_and_leaves_nothing_unanswered() {
    let (second, release) = bounded(1);
    let serve = Serve {
        workers: NonZeroUsize::new(2).unwrap(),
        ..Serve::default()
    };
    let input = [query("1", "first"), query("2", "second")].concat();
    let mut output = Vec::new();
    serve
        .serve(&Holding { second, release }, input.as_bytes(), &mut output)
        .unwrap();
    let mut ids: Vec<_> = lines(&output)
        .iter()
        .map(|it| it["id"].to_string())
        .collect();
    ids.sort();
    assert_eq!(ids, ["\"1\"", "\"2\""]);
}

#[test]
fn a_thousand_questions_get_their_own_answers() {
    let input: String = (0..1000)
        .map(|n| query(&format!("q{n}"), &format!("goal {n}")))
        .collect();
    for workers in [1, 3] {
        let serve = Serve {
            workers: NonZeroUsize::new(workers).unwrap(),
            ..Serve::default()
        };
        let answers = lines(&served(serve, input.as_bytes()));
        let seen = Mutex::new(std::collections::HashSet::new());
        for answer in &answers {
            let n = answer["id"].as_str().unwrap().strip_prefix('q').unwrap();
            assert_eq!(
                answer["result"]["frames"][0]["content"],
                format!("goal {n}")
            );
            assert!(seen.lock().unwrap().insert(n));
        }
        assert_eq!(answers.len(), 1000);
    }
}
