//! The tool as people and scripts run it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::temp_dir::TempDir;

const NOTE: &str = "# Retries\n\nA request is retried three times with exponential backoff.\n\n# Other\n\nNothing.\n";
const CODE: &str = "/// Adds numbers.\nfn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n/// How long to wait before the next retry.\nfn retry_delay(attempt: u32) -> u64 {\n    100 << attempt\n}\n";

fn checkout() -> TempDir {
    let dir = TempDir::new();
    dir.write("notes/retries.md", NOTE);
    dir.write("src/retry.rs", CODE);
    dir
}

#[expect(clippy::disallowed_methods, reason = "the tool itself is tested")]
fn tool() -> Command {
    Command::new(env!("CARGO_BIN_EXE_contextgraph"))
}

fn query(root: &Path, args: &[&str]) -> Output {
    let mut command = tool();
    command.arg("query").arg("--root").arg(root).args(args);
    command.env_remove("RUST_LOG").output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn a_prompt_quotes_and_cites_whole_things() {
    let dir = checkout();
    let output = query(dir.path(), &["how long is the delay before a retry"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    let function = &CODE[CODE.find("/// How").unwrap()..];
    assert!(text.contains(function.trim_end()), "{text}");
    assert!(text.contains("cite=\"src/retry.rs:6-9\""), "{text}");
}

#[test]
fn json_has_a_stable_shape() {
    let dir = checkout();
    let output = query(dir.path(), &["retry", "--format", "json"]);
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(document["schema"], "contextgraph-sync/query/1");
    let frame = &document["frames"][0];
    for member in [
        "provider",
        "id",
        "kind",
        "title",
        "uri",
        "range",
        "score",
        "token_cost",
        "citation",
        "content",
        "content_digest",
        "valid_from",
        "provenance",
        "in_prompt",
    ] {
        assert!(!frame[member].is_null(), "{member} in {frame}");
    }
    assert!(frame["uri"].as_str().unwrap().starts_with("file:///"));
    let outcome = &document["outcomes"][0];
    assert_eq!(
        (&outcome["provider"], &outcome["status"]),
        (&"workspace".into(), &"answered".into())
    );
    let n_frames = document["frames"].as_array().unwrap().len();
    assert_eq!(
        document["audit"]["entries"].as_array().unwrap().len(),
        n_frames
    );
}

#[test]
fn a_table_can_be_read() {
    let dir = checkout();
    let output = query(dir.path(), &["retry", "--format", "frames"]);
    let lines: Vec<_> = stdout(&output).lines().collect();
    assert!(lines[0].starts_with("SCORE   COST  CITATION"), "{lines:?}");
    assert!(
        lines[1..].iter().any(|it| it.contains("src/retry.rs:6-9")),
        "{lines:?}"
    );
}

#[test]
fn kinds_and_limits_reach_the_provider() {
    let dir = checkout();
    let output = query(
        dir.path(),
        &[
            "retry",
            "--kind",
            "doc",
            "--max-frames",
            "1",
            "--format",
            "json",
        ],
    );
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(document["frames"].as_array().unwrap().len(), 1);
    assert_eq!(document["frames"][0]["kind"], "doc");
}

#[test]
fn an_instant_before_the_files_finds_nothing() {
    let dir = checkout();
    let output = query(dir.path(), &["retry", "--as-of", "2001-01-01T00:00:00Z"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
}

#[test]
fn nothing_found_is_said_on_stderr() {
    let dir = checkout();
    let output = query(dir.path(), &["zebra quagga okapi"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert!(
        stderr(&output).starts_with("contextgraph: nothing found in `"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("2 files searched"));
    let output = query(dir.path(), &["zebra quagga okapi", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(document["frames"].as_array().unwrap().len(), 0);
}

#[test]
fn a_budget_too_small_is_explained() {
    let dir = checkout();
    let output = query(dir.path(), &["retry", "--budget", "1"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert!(!stderr(&output).is_empty());
}

#[test]
fn wrong_usage_is_two() {
    for args in [
        &["query"][..],
        &["query", "g", "--budget", "many"],
        &["frobnicate"],
        &[],
    ] {
        let output = tool().args(args).output().unwrap();
        assert_eq!(
            (output.status.code(), stdout(&output)),
            (Some(2), ""),
            "{args:?}"
        );
        assert!(stderr(&output).contains("Try `contextgraph help`"));
    }
    let missing = query(Path::new("no/such/directory"), &["g"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        stderr(&missing).contains("--root: `no/such/directory`"),
        "{}",
        stderr(&missing)
    );
}

#[test]
fn help_and_version_are_answers() {
    for (args, start) in [
        (&["help"][..], "contextgraph: ask for"),
        (&["--help"], "contextgraph: ask for"),
        (&["query", "--help"], "contextgraph query: answer"),
        (&["help", "query"], "contextgraph query: answer"),
        (
            &["--version"],
            concat!("contextgraph ", env!("CARGO_PKG_VERSION")),
        ),
    ] {
        let output = tool().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).starts_with(start), "{args:?}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let dir = checkout();
    let mut child = tool()
        .args(["query", "retry", "--root"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn verbose_logs_to_stderr_only() {
    let dir = checkout();
    let output = query(dir.path(), &["retry", "-v"]);
    assert!(
        stderr(&output).contains("shook hands"),
        "{}",
        stderr(&output)
    );
    assert!(!stdout(&output).contains("shook hands"));
}

#[test]
fn text_from_files_cannot_repaint_the_terminal() {
    let dir = TempDir::new();
    dir.write(
        "evil.md",
        "# retry \x1b[2J\x1b]0;owned\x07\n\nretry\rretry\n",
    );
    let output = query(dir.path(), &["retry", "--format", "frames"]);
    let shown = [stdout(&output), stderr(&output)].concat();
    assert!(shown.contains("\\x1b[2J"), "{shown}");
    assert!(!shown.contains(['\x1b', '\x07', '\r']), "{shown:?}");
}

/// A shell's way to write a path.
fn quoted(path: impl AsRef<Path>) -> String {
    format!("'{}'", path.as_ref().display())
}

#[test]
fn a_child_answers_instead_of_the_root() {
    let dir = checkout();
    let served = format!(
        "files={} serve-stdio --root {}",
        quoted(env!("CARGO_BIN_EXE_contextgraph")),
        quoted(dir.path())
    );
    let output = tool()
        .args([
            "query",
            "retry delay",
            "--format",
            "json",
            "--provider",
            &served,
        ])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let document: Value = serde_json::from_str(stdout(&output)).unwrap();
    let outcomes = document["outcomes"].as_array().unwrap();
    assert_eq!(
        (outcomes.len(), &outcomes[0]["provider"]),
        (1, &"files".into())
    );
    assert_eq!(document["frames"][0]["citation"], "src/retry.rs:6-9");
}

#[test]
fn a_child_that_fails_is_named_and_the_others_answer() {
    let dir = checkout();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/child.py");
    let exits = format!("licensed=python3 {} exits", quoted(script));
    let crashes = format!("crasher=python3 {} half-then-exit", quoted(script));
    let output = query(
        dir.path(),
        &[
            "retry",
            "--provider",
            &exits,
            "--provider",
            &crashes,
            "--provider",
            "gone=no-such-program",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("src/retry.rs:6-9"));
    for part in [
        "provider `licensed`: is gone: it ended (exit status: 7); last on stderr: | no licence for /srv/wiki",
        "provider `crasher`: is gone: it ended inside a message",
        "provider `gone`: cannot start `no-such-program`: not found",
    ] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let alone = tool()
        .args(["query", "retry", "--provider", "gone=no-such-program"])
        .output()
        .unwrap();
    assert_eq!((alone.status.code(), stdout(&alone)), (Some(1), ""));
    assert!(!stderr(&alone).contains("nothing found"));
}

#[test]
fn serving_ends_with_its_input() {
    let mut child = tool()
        .args(["serve-stdio", "--root", "."])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(0), "", "")
    );
    let missing = tool()
        .args(["serve-stdio", "--root", "no/such/directory"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--root: `no/such/directory`"));
}
