//! Does `workspace` find the file that answers? Twenty questions as people ask them, about this
//! project and about the unpacked sources of a dependency; for each the file that a person who
//! knows the code would open.
//!
//! `cargo bench --bench retrieval` prints a line for each question and fails below 16 of 20.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is its result"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use contextgraph_sync::provider::ContextProvider;
use contextgraph_sync::wire::ContextQuery;
use contextgraph_sync::workspace::Workspace;

/// The answer counts if it is among so many first frames.
const FIRST: usize = 3;
const ENOUGH: usize = 16;

const HERE: &[(&str, &str)] = &[
    ("how is a timestamp compared", "src/wire/time.rs"),
    (
        "what happens when a provider panics",
        "src/transport/local.rs",
    ),
    (
        "how is the budget split between providers",
        "src/host/fan_out.rs",
    ),
    (
        "where is the content of a frame escaped so that it cannot close the fence",
        "src/compose/render.rs",
    ),
    (
        "how does a file path become a URI",
        "src/digest/file_uri.rs",
    ),
    (
        "which frames are dropped when a provider lies about its cost",
        "src/host/audit.rs",
    ),
    (
        "how are duplicate members of a JSON object rejected",
        "src/codec/shape.rs",
    ),
    (
        "how is the cost of a frame in tokens computed",
        "src/wire/budget.rs",
    ),
    ("which files does the search skip", "src/workspace.rs"),
    (
        "how are control characters shown in an error message",
        "src/wire/text.rs",
    ),
];

const DEPENDENCY: &str = "crossbeam-channel";
const THERE: &[(&str, &str)] = &[
    (
        "how does a zero capacity channel hand over a message",
        "src/flavors/zero.rs",
    ),
    (
        "where is the ring buffer of a bounded channel",
        "src/flavors/array.rs",
    ),
    (
        "how are blocks of an unbounded channel allocated and freed",
        "src/flavors/list.rs",
    ),
    (
        "how does the select macro parse its cases",
        "src/select_macro.rs",
    ),
    (
        "what does a channel that never delivers do",
        "src/flavors/never.rs",
    ),
    (
        "how does tick deliver messages periodically",
        "src/flavors/tick.rs",
    ),
    ("how are sleeping threads woken up", "src/waker.rs"),
    (
        "which error is returned when sending times out",
        "src/err.rs",
    ),
    (
        "how are senders and receivers reference counted",
        "src/counter.rs",
    ),
    (
        "thread local context of an operation that blocks",
        "src/context.rs",
    ),
];

fn main() -> ExitCode {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let there = match sources(DEPENDENCY) {
        Ok(there) => there,
        Err(reason) => {
            eprintln!("cannot find the sources of {DEPENDENCY}: {reason}");
            return ExitCode::from(2);
        }
    };
    let found = ask(&here, HERE) + ask(&there, THERE);
    let asked = HERE.len() + THERE.len();
    println!("{found} of {asked} answered among the first {FIRST} frames, {ENOUGH} wanted");
    if found >= ENOUGH {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn ask(root: &Path, questions: &[(&str, &str)]) -> usize {
    let workspace = Workspace::new(root).expect("a directory");
    let is_found = |&&(question, wanted): &&(&str, &str)| {
        let query = ContextQuery::new(question, 8, 8000);
        let answer = workspace.query(&query).expect("an answer");
        let files: Vec<&str> = answer
            .frames
            .iter()
            .filter_map(|it| it.id.split_once('#'))
            .map(|(file, _)| file)
            .collect();
        let rank = files.iter().position(|it| *it == wanted).map(|it| it + 1);
        let is_found = rank.is_some_and(|it| it <= FIRST);
        let mark = if is_found { "ok  " } else { "MISS" };
        let rank = rank.map_or("-".to_owned(), |it| it.to_string());
        println!("{mark} {rank:>2} {question}: {wanted}");
        if !is_found {
            println!("        instead {:?}", &files[..files.len().min(FIRST)]);
        }
        is_found
    };
    questions.iter().filter(is_found).count()
}

/// Where cargo has unpacked a dependency of ours.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo knows where its sources are"
)]
fn sources(package: &str) -> Result<PathBuf, String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .map_err(|error| error.to_string())?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let manifest = packages
        .iter()
        .find(|it| it["name"] == package)
        .and_then(|it| it["manifest_path"].as_str())
        .ok_or("not a dependency")?;
    Path::new(manifest)
        .parent()
        .map(Path::to_owned)
        .ok_or_else(|| "no directory".to_owned())
}
