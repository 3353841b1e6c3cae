//! The provider over a directory, on real files.

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use contextgraph_sync::Host;
use contextgraph_sync::digest::file_uri::to_uri;
use contextgraph_sync::digest::range::LineRange;
use contextgraph_sync::digest::sha256;
use contextgraph_sync::provider::ContextProvider;
use contextgraph_sync::wire::rules::check_reply;
use contextgraph_sync::wire::{
    ContextFrame, ContextQuery, FrameId, FrameKind, VerdictStatus, VerifyRequest,
};
use contextgraph_sync::workspace::{MAX_FILE_BYTES, Workspace};

use crate::temp_dir::TempDir;

fn ask(dir: &TempDir, query: &ContextQuery) -> Vec<ContextFrame> {
    let workspace = Workspace::new(dir.path()).unwrap();
    let answer = workspace.query(query).unwrap();
    assert_eq!(check_reply(query, &answer), []);
    answer.frames
}

fn question(text: &str) -> ContextQuery {
    ContextQuery::new(text, 8, 4000)
}

#[track_caller]
fn found(dir: &TempDir, text: &str, expected: &[&str]) {
    let mut ids: Vec<_> = ask(dir, &question(text))
        .into_iter()
        .map(|it| it.id)
        .collect();
    ids.sort();
    assert_eq!(ids, expected);
}

#[test]
fn a_frame_is_the_exact_bytes_it_says() {
    let dir = TempDir::new();
    let text = "# A\r\n\r\nzebra \u{6587}\r\n\r\n# B\r\nother";
    let path = dir.write("my notes/a+b#1.md", text);
    let file = File::options().append(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_millis(1_500))
        .unwrap();
    let frames = ask(&dir, &question("zebras"));
    let [frame] = &frames[..] else {
        panic!("{frames:?}")
    };
    assert_eq!(frame.kind, FrameKind::Doc);
    assert_eq!(frame.id, "my notes/a+b#1.md#L1-3");
    assert_eq!(
        frame.citation_label.as_deref(),
        Some("my notes/a+b#1.md:1-3")
    );
    assert_eq!(frame.uri.as_deref(), Some(to_uri(&path).as_str()));
    assert!(to_uri(&path).ends_with("/my%20notes/a+b%231.md"));
    assert_eq!(frame.valid_from.as_deref(), Some("1970-01-01T00:00:01.5Z"));
    let link = &frame.provenance[0];
    let range = LineRange::parse(link.range.as_deref().unwrap()).unwrap();
    let bytes = range.slice(text.as_bytes()).unwrap();
    assert_eq!(frame.content.as_deref().map(str::as_bytes), Some(bytes));
    assert_eq!(link.digest.as_deref(), Some(sha256(bytes).as_str()));
    assert_eq!(link.uri, frame.uri);
}

#[test]
fn what_ripgrep_skips_is_skipped() {
    let dir = TempDir::new();
    dir.write("kept.txt", "zebra");
    dir.write(".hidden/a.txt", "zebra");
    dir.write(".env", "zebra");
    dir.write(".gitignore", "ignored/\n*.tmp\n");
    dir.write("ignored/a.txt", "zebra");
    dir.write("a.tmp", "zebra");
    dir.write("binary.txt", b"zebra\0");
    dir.write("latin.txt", b"zebra \xe9");
    dir.write("huge.txt", "zebra ".repeat(200_000));
    found(&dir, "zebra", &["kept.txt#L1-1"]);

    let workspace = Workspace::new(dir.path()).unwrap();
    workspace.query(&question("zebra")).unwrap();
    let progress = workspace.progress();
    let counts = [
        progress.files_seen(),
        progress.files_searched(),
        progress.not_text(),
        progress.too_large(),
    ];
    assert_eq!(counts, [4, 1, 2, 1]);
    assert!(fs::metadata(dir.path().join("huge.txt")).unwrap().len() > MAX_FILE_BYTES);
}

#[cfg(unix)]
#[test]
fn links_loops_and_pipes_are_survived() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let outside = TempDir::new();
    outside.write("secret.txt", "zebra");
    let dir = TempDir::new();
    let kept = dir.write("d/kept.txt", "zebra");
    symlink(dir.path(), dir.path().join("d/loop")).unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(
        outside.path().join("secret.txt"),
        dir.path().join("link.txt"),
    )
    .unwrap();
    symlink("nowhere", dir.path().join("dangling.txt")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff.txt");
    fs::write(dir.path().join(odd), "zebra").unwrap();
    let closed = dir.write("closed/a.txt", "nothing");
    fs::set_permissions(closed.parent().unwrap(), fs::Permissions::from_mode(0o000)).unwrap();
    found(&dir, "zebra", &["d/kept.txt#L1-1"]);
    fs::set_permissions(closed.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();

    // Nor does a frame id lead out, or through a link.
    let held = |id: &str| FrameId {
        provider_id: "anything".into(),
        frame_id: id.to_owned(),
        content_digest: Some(sha256(b"zebra").into()),
    };
    let workspace = Workspace::new(dir.path()).unwrap();
    let absolute = format!("{}#L1-1", kept.display());
    let up = format!(
        "../{}/secret.txt#L1-1",
        outside.path().file_name().unwrap().to_str().unwrap()
    );
    for (id, status) in [
        ("d/kept.txt#L1-1", VerdictStatus::Valid),
        ("out/secret.txt#L1-1", VerdictStatus::Gone),
        ("link.txt#L1-1", VerdictStatus::Gone),
        ("d/loop/d/kept.txt#L1-1", VerdictStatus::Gone),
        (&absolute, VerdictStatus::Unknown),
        (&up, VerdictStatus::Unknown),
        ("d/../d/kept.txt#L1-1", VerdictStatus::Unknown),
        ("d/kept.txt", VerdictStatus::Unknown),
        ("#L1-1", VerdictStatus::Unknown),
    ] {
        let request = VerifyRequest {
            frames: vec![held(id)],
        };
        let response = workspace.verify(&request).unwrap();
        assert_eq!(response.verdicts[0].frame, request.frames[0]);
        assert_eq!(response.verdicts[0].status, status, "{id}");
    }
}

#[test]
fn a_held_frame_is_judged_by_its_source() {
    let dir = TempDir::new();
    let path = dir.write("a.txt", "zebra one\nsecond\n");
    dir.write(".gitignore", "secret.txt\n");
    dir.write("secret.txt", "zebra one\n");
    let workspace = Workspace::new(dir.path()).unwrap();
    let frame = workspace
        .query(&question("zebra"))
        .unwrap()
        .frames
        .remove(0);
    let verdict = |frame: FrameId| {
        let response = workspace
            .verify(&VerifyRequest {
                frames: vec![frame],
            })
            .unwrap();
        assert_eq!(response.verdicts[0].replacement_digest, None);
        response.verdicts[0].status.clone()
    };
    let held = frame.identity(&"files".into());
    assert_eq!(verdict(held.clone()), VerdictStatus::Valid);
    let without_digest = FrameId {
        content_digest: None,
        ..held.clone()
    };
    assert_eq!(verdict(without_digest), VerdictStatus::Unknown);
    let ignored = FrameId {
        frame_id: "secret.txt#L1-1".to_owned(),
        ..held.clone()
    };
    assert_eq!(verdict(ignored), VerdictStatus::Gone);
    fs::write(&path, "zebra two\nsecond\n").unwrap();
    assert_eq!(verdict(held.clone()), VerdictStatus::Stale);
    fs::write(&path, "").unwrap();
    assert_eq!(verdict(held.clone()), VerdictStatus::Gone);
    fs::remove_file(&path).unwrap();
    assert_eq!(verdict(held), VerdictStatus::Gone);
}

#[test]
fn anchors_come_first_and_their_neighbours_sooner() {
    let dir = TempDir::new();
    dir.write(
        "far/best.rs",
        "/// The zebra crossing.\nfn zebra_crossing() { zebra(); crossing(); }\n",
    );
    let anchor = dir.write("near/focus.rs", "fn other() {\n    // crossing\n}\n");
    dir.write("near/side.rs", "fn side() { zebra(); crossing(); }\n");
    let without = ask(&dir, &question("zebra crossing"));
    assert_eq!(without[0].id, "far/best.rs#L1-2");
    let query = ContextQuery {
        anchors: vec![
            to_uri(&anchor),
            "urn:elsewhere".to_owned(),
            "file:///no/such".to_owned(),
        ],
        ..question("zebra crossing")
    };
    let with = ask(&dir, &query);
    assert_eq!(with[0].id, "near/focus.rs#L1-3");
    assert_eq!(with[0].uri.as_deref(), Some(query.anchors[0].as_str()));
}

#[test]
fn an_anchor_answers_even_if_it_has_no_word_of_the_question() {
    let dir = TempDir::new();
    let anchor = dir.write("focus.rs", "fn other() {}\n");
    let query = ContextQuery {
        anchors: vec![to_uri(&anchor)],
        ..question("zebra")
    };
    assert_eq!(ask(&dir, &query)[0].id, "focus.rs#L1-1");
}

#[test]
fn only_what_existed_then() {
    let dir = TempDir::new();
    for (name, second) in [("old.txt", 100), ("new.txt", 200)] {
        let path = dir.write(name, "zebra");
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
            .unwrap();
    }
    for (as_of, expected) in [
        ("1970-01-01T00:01:39Z", &[][..]),
        ("1970-01-01T00:01:40Z", &["old.txt#L1-1"]),
        ("1970-01-01T00:03:20Z", &["new.txt#L1-1", "old.txt#L1-1"]),
    ] {
        let query = ContextQuery {
            as_of: Some(as_of.to_owned()),
            ..question("zebra")
        };
        let mut ids: Vec<_> = ask(&dir, &query).into_iter().map(|it| it.id).collect();
        ids.sort();
        assert_eq!(ids, expected);
    }
    let bad = ContextQuery {
        as_of: Some("yesterday".to_owned()),
        ..question("zebra")
    };
    let error = Workspace::new(dir.path()).unwrap().query(&bad).unwrap_err();
    assert_eq!(error.code.as_str(), "bad_request");
}

#[test]
fn limits_are_kept_and_what_is_left_is_said() {
    let dir = TempDir::new();
    for n in 0..30 {
        dir.write(
            &format!("{n:02}.txt"),
            format!("zebra {}\n", "stripe ".repeat(20)),
        );
    }
    let query = ContextQuery::new("zebra", 3, 4000);
    let answer = Workspace::new(dir.path()).unwrap().query(&query).unwrap();
    assert_eq!(
        (
            answer.frames.len(),
            answer.truncated,
            answer.dropped_estimate
        ),
        (3, true, Some(27))
    );
    let query = ContextQuery::new("zebra", 30, 60);
    let frames = ask(&dir, &query);
    assert_eq!(frames.len(), 1);
    assert!(ask(&dir, &ContextQuery::new("zebra", 0, 60)).is_empty());
}

#[test]
fn a_kind_is_found_behind_any_number_of_others() {
    let dir = TempDir::new();
    for n in 0..100 {
        dir.write(&format!("{n:02}.rs"), "fn zebra() { zebra() }\n");
    }
    dir.write("far.md", format!("{}zebra\n", "word ".repeat(2_000)));
    let query = ContextQuery {
        kinds: vec![FrameKind::Doc],
        ..question("zebra")
    };
    assert!(
        ask(&dir, &query)
            .iter()
            .all(|it| it.id.starts_with("far.md#"))
    );
    assert_eq!(ask(&dir, &query).len(), 1);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let dir = TempDir::new();
    for n in 0..200 {
        dir.write(&format!("{}/{n}.txt", n % 7), "zebra stripe\n");
    }
    let first = ask(&dir, &question("zebra"));
    for _ in 0..5 {
        assert_eq!(ask(&dir, &question("zebra")), first);
    }
}

#[test]
fn a_question_without_words_is_no_error() {
    let dir = TempDir::new();
    dir.write("a.txt", "zebra");
    for text in ["", "???", "\u{1b}[2J", &"x".repeat(100_000)] {
        assert!(ask(&dir, &question(text)).is_empty());
    }
}

#[test]
fn what_is_no_directory_is_no_workspace() {
    let dir = TempDir::new();
    let file = dir.write("a.txt", "");
    assert!(Workspace::new(file).is_err());
    assert!(Workspace::new(dir.path().join("missing")).is_err());
}

#[test]
fn a_host_serves_it() {
    let dir = TempDir::new();
    dir.write("a.txt", "zebra");
    let host = Host::new();
    host.register("files", Workspace::new(dir.path()).unwrap())
        .unwrap();
    let answer = host.query_provider("files", &question("zebra")).unwrap();
    assert_eq!((answer.frames.len(), answer.findings.len()), (1, 0));
    host.shutdown();
}
