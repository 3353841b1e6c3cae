//! Over stdio: their providers under our host, our provider under their inspector.

use std::process::Command;

use contextgraph_sync::Host;
use contextgraph_sync::transport::stdio::StdioCommand;
use contextgraph_sync::wire::ContextQuery;
use contextgraph_sync_peers::{example_docs, inspector, python, tool};

#[test]
fn a_provider_on_the_python_sdk_answers_our_host() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk_provider.py");
    for mode in ["correlates", "in turn"] {
        let host = Host::new();
        let command = StdioCommand::new(python()).args([script, mode]);
        host.add_stdio("sdk", command).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let host = &host;
                scope.spawn(move || {
                    for n in 0..100 {
                        let goal = format!("{thread}/{n} é 🔎");
                        let query = ContextQuery::new(&goal, 4, 1000);
                        let answer = host.query_provider("sdk", &query).unwrap();
                        assert_eq!(answer.findings, []);
                        let content = answer.frames[0].content.as_deref();
                        assert_eq!(content, Some(format!("answer to {goal}").as_str()));
                    }
                });
            }
        });
        for (_, result) in host.shutdown() {
            result.unwrap();
        }
    }
}

#[test]
fn the_published_example_answers_our_host() {
    let host = Host::new();
    host.add_stdio("docs", StdioCommand::new(example_docs()))
        .unwrap();
    let query = ContextQuery::new("how is it installed", 8, 4096);
    let answer = host.query_provider("docs", &query).unwrap();
    assert_eq!(answer.frames.len(), 2);
    // It puts the digest of the whole source where that of the content belongs.
    assert!(
        answer
            .findings
            .iter()
            .all(|it| it.violation.rule.as_str() == "D4")
    );
    for (_, result) in host.shutdown() {
        result.unwrap();
    }
}

#[test]
fn the_published_inspector_is_green_on_our_provider() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src");
    let output = Command::new(inspector())
        .args(["stdio", "--query", "how is a timestamp compared", "--"])
        .arg(tool())
        .args(["serve-stdio", "--root", root])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && report.contains("CONFORMANT"),
        "{report}"
    );
    assert!(!report.contains('✗'), "{report}");
    // What could be checked was checked.
    for check in [
        "handshake",
        "frame-validity",
        "verify-honesty",
        "budget-honesty",
        "correlation",
        "malformed-input-tolerance",
        "shutdown-clean",
    ] {
        assert!(report.contains(&format!("✓ {check}")), "{check}: {report}");
    }
}
