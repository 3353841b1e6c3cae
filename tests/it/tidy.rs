//! The source tree and its documents, held to what they say about themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// For the two that may name all; a module names itself in any case, and `cli` is named by none.
const ALL: &[&str] = &[
    "wire",
    "error",
    "codec",
    "clock",
    "digest",
    "attest",
    "provider",
    "transport",
    "host",
    "compose",
    "ingest",
    "workspace",
    "config",
    "conformance",
];

/// Which other modules each module may name. A row for a path goes before that of its module.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("error", &["wire"]),
    ("clock", &[]),
    ("digest", &["wire"]),
    ("codec", &["wire", "error"]),
    ("attest", &["wire", "digest"]),
    (
        "provider",
        &["wire", "error", "codec", "clock", "digest", "attest"],
    ),
    (
        "transport/local",
        &["wire", "error", "clock", "codec", "provider"],
    ),
    ("transport", &["wire", "error", "clock", "codec"]),
    (
        "host",
        &[
            "wire",
            "error",
            "codec",
            "clock",
            "digest",
            "attest",
            "provider",
            "transport",
        ],
    ),
    ("compose", &["wire", "digest"]),
    ("ingest", &["wire", "digest", "provider"]),
    ("workspace", &["wire", "clock", "digest", "provider"]),
    ("config", &["wire", "error", "clock", "digest", "host"]),
    ("conformance", ALL),
    ("cli", ALL),
];

/// A file of Rust, by its path from the top of the repository.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The text above the test module; nothing of a file that is one.
    fn code(&self) -> &str {
        if self.path.ends_with("/tests.rs") || self.path.contains("/tests/") {
            return "";
        }
        let code = self.text.split("\n#[cfg(test)]\nmod ").next();
        code.unwrap_or_default()
    }

    /// The modules that the code names through the crate root.
    fn named(&self) -> BTreeSet<&str> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let lines = self.code().lines();
        lines
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| {
                let pieces: Vec<_> = line.split("crate::").collect();
                let pairs = pieces.windows(2).map(|pair| (pair[0], pair[1]));
                let pairs = pairs.filter(|(before, _)| !before.ends_with(is_word));
                let names = pairs.filter_map(|(_, after)| after.split(|c| !is_word(c)).next());
                names.collect::<Vec<_>>()
            })
            .collect()
    }

    /// The text of all comments, test modules included.
    fn comments(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| {
            let line = line.trim_start();
            let trailing = || line.split_once(" // ").map(|(_, comment)| comment);
            line.strip_prefix("//").or_else(trailing)
        })
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn read(name: &str) -> String {
    fs::read_to_string(top().join(name)).unwrap()
}

/// Every file of Rust below a directory, in the order of paths.
fn sources(dir: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{dir}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !path.ends_with("/target") {
                found.append(&mut sources(&path));
            }
        } else if path.ends_with(".rs") {
            let text = read(&path);
            found.push(Source { path, text });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

#[track_caller]
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn modules_name_only_what_they_may() {
    let mut problems = Vec::new();
    for source in sources("src") {
        let path = source.path.trim_start_matches("src/");
        let path = path.trim_end_matches(".rs");
        if path == "lib" {
            continue;
        }
        let holds = |row: &str| {
            path.strip_prefix(row)
                .is_some_and(|it| it.is_empty() || it.starts_with('/'))
        };
        let Some((_, may_name)) = MAY_NAME.iter().find(|(row, _)| holds(row)) else {
            problems.push(format!(
                "{}: its module has no row in the table",
                source.path
            ));
            continue;
        };
        let own = path.split('/').next().unwrap();
        for name in source.named() {
            if name != own && !may_name.contains(&name) {
                problems.push(format!("{}: may not name crate::{name}", source.path));
            }
        }
    }
    none(&problems);
}

#[test]
fn modules_stand_beside_their_directories_and_imports_on_lines_of_their_own() {
    let mut problems = Vec::new();
    for source in sources("src") {
        if source.path.ends_with("/mod.rs") {
            problems.push(format!("{}: name it after its module", source.path));
        }
        if source.text.contains("use crate::{") {
            problems.push(format!(
                "{}: use crate::{{ hides what it names",
                source.path
            ));
        }
    }
    none(&problems);
}

#[test]
fn files_are_short() {
    let files = sources("src").into_iter().chain(sources("tests"));
    let lengths = files.map(|it| (it.text.lines().count(), it.path));
    let long = lengths.filter(|(n_lines, _)| *n_lines >= 600);
    none(
        &long
            .map(|(n_lines, path)| format!("{path}: {n_lines} lines"))
            .collect::<Vec<_>>(),
    );
}

/// Rows of the tables of SPEC.md that say what holds a rule: the id and the last column.
fn held_by(spec: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for line in spec.lines().filter(|it| it.starts_with("| ")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [id, .., last] = &cells[..] {
            rows.push(((*id).to_owned(), (*last).to_owned()));
        }
    }
    rows
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_that_the_specification_names_exists() {
    let files = sources("src").into_iter().chain(sources("tests"));
    let text: String = files.map(|it| it.text).collect();
    let is_name = |it: &&str| {
        it.contains('_')
            && it
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    };
    let spec = read("SPEC.md");
    let mut problems = Vec::new();
    for (id, tests) in held_by(&spec) {
        for name in quoted(&tests).filter(is_name) {
            if !text.contains(&format!("fn {name}(")) {
                problems.push(format!("SPEC.md: {id} is held by {name}, which is no test"));
            }
        }
    }
    none(&problems);
}

/// Whether a word is the name of a rule, such as B3 or UR1.
fn is_rule(word: &str) -> bool {
    const FAMILIES: &[&str] = &[
        "H", "C", "Q", "E", "F", "D", "P", "B", "UR", "G", "V", "X", "R", "U", "A",
    ];
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let family = &word[..word.len() - digits.len()];
    FAMILIES.contains(&family)
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|it| it.is_ascii_digit())
        && !digits.starts_with('0')
}

#[test]
fn every_rule_that_a_comment_cites_is_specified() {
    let spec = read("SPEC.md");
    let specified: BTreeSet<_> = held_by(&spec).into_iter().map(|(id, _)| id).collect();
    let mut problems = Vec::new();
    for source in sources("src") {
        for comment in source.comments() {
            let words = comment.split(|c: char| !c.is_ascii_alphanumeric());
            for rule in words.filter(|it| is_rule(it)) {
                if !specified.contains(rule) {
                    problems.push(format!("{}: {rule} is not in SPEC.md", source.path));
                }
            }
        }
    }
    none(&problems);
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = read("Cargo.toml");
    let mut problems = Vec::new();
    let mut section = "";
    let mut is_explained = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if line.starts_with('#') {
            is_explained = true;
        } else if line.is_empty() {
            is_explained = false;
        } else {
            if section.contains("dependencies]") && !is_explained {
                problems.push(format!("Cargo.toml: no reason above `{line}`"));
            }
            is_explained = false;
        }
    }
    none(&problems);
}

#[test]
fn every_feature_is_described() {
    let manifest = read("Cargo.toml");
    let (_, features) = manifest.split_once("[features]").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let front_page = read("src/lib.rs");
    let names = features.lines().filter(|it| !it.starts_with('#'));
    let names = names
        .filter_map(|it| it.split_once(" = "))
        .map(|(name, _)| name);
    let missing =
        names.filter(|it| *it != "default" && !front_page.contains(&format!("//! - `{it}`")));
    none(
        &missing
            .map(|it| format!("src/lib.rs: feature {it}"))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_readme_shows_the_example_that_runs() {
    let example = read("examples/minimal_host.rs");
    let (_, code) = example.split_once("\nuse ").unwrap();
    assert!(read("README.md").contains(&format!("```rust\nuse {code}```")));
}

#[test]
fn the_version_is_in_the_changelog_once() {
    let heading = concat!("## ", env!("CARGO_PKG_VERSION"));
    let changelog = read("CHANGELOG.md");
    assert_eq!(
        changelog
            .lines()
            .filter(|it| it.starts_with(heading))
            .count(),
        1
    );
}

#[test]
fn the_top_level_is_what_was_agreed() {
    const NAMES: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "SPEC.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "clippy.toml",
        "rustfmt.toml",
        "src",
        "bin",
        "tests",
        "examples",
        "benches",
        "target",
    ];
    let entries = fs::read_dir(top())
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let names = entries.map(|it| it.into_string().unwrap());
    let odd = names.filter(|it| !it.starts_with('.') && !NAMES.contains(&it.as_str()));
    none(&odd.collect::<Vec<_>>());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "cargo knows the dependencies")]
fn without_features_it_stays_tiny() {
    const NOT_BELOW: &[&str] = &[
        "ureq",
        "rustls",
        "tokio",
        "reqwest",
        "ignore",
        "aho-corasick",
        "lexopt",
        "env_logger",
        "ed25519-dalek",
        "regex",
    ];
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--no-default-features",
            "-e",
            "normal",
            "--prefix",
            "none",
        ])
        .current_dir(top())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<_> = tree.lines().filter_map(|it| it.split(' ').next()).collect();
    assert!(
        crates.contains("serde_json"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(crates.len() <= 30, "{} crates: {crates:?}", crates.len());
    none(
        &NOT_BELOW
            .iter()
            .filter(|it| crates.contains(**it))
            .map(|it| (*it).to_owned())
            .collect::<Vec<_>>(),
    );
}
