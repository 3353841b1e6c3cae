//! How a child starts and how it ends.

use std::fs;
use std::path::Path;
use std::time::Duration;

use contextgraph_sync::clock::monotonic_now;
use contextgraph_sync::error::Phase;
use contextgraph_sync::transport::stdio::{Restart, StdioCommand};
use contextgraph_sync::{Error, Host, HostConfig};

use super::{LONG, SHORT, answers, child, closed, host, host_of, query};
use crate::temp_dir::TempDir;

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_handshake_that_fails_is_explained() {
    let failed = |mode: &str| {
        let command = child(mode, "").handshake_timeout(Duration::from_millis(400));
        host(LONG).add_stdio("child", command).unwrap_err()
    };
    for (mode, parts) in [
        ("exits", &["exit status: 7", "no licence for /srv/wiki"][..]),
        (
            "silent",
            &[
                "no handshake within 400ms",
                "wrote 0 bytes",
                "not flushed",
                "still loading",
            ],
        ),
        (
            "unflushed-half",
            &["wrote 15 bytes", "raise the handshake timeout"],
        ),
        (
            "error-handshake",
            &["refused: no licence\\x1b[2J (unavailable)"],
        ),
    ] {
        let error = failed(mode).to_string();
        for part in parts {
            assert!(error.contains(part), "{mode}: {error}");
        }
    }
    let error = host(LONG)
        .add_stdio("child", child("other-version", ""))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("speaks `contextgraph/2.0`, this host speaks `contextgraph/1.0`"),
        "{error}"
    );
    let host = host_of(LONG, "egress", "");
    assert!(matches!(query(&host, "one"), Err(Error::Consent { .. })));
}

#[test]
fn a_slow_start_is_waited_for_and_several_start_at_once() {
    let host = host(LONG);
    let before = monotonic_now();
    std::thread::scope(|scope| {
        for id in ["a", "b", "c"] {
            let host = &host;
            scope.spawn(move || host.add_stdio(id, child("slow-start", "0.7")).unwrap());
        }
    });
    assert_eq!(host.provider_ids().len(), 3);
    assert!(before.elapsed() < Duration::from_millis(2000));
}

#[test]
fn the_environment_is_what_was_passed() {
    let host = host(LONG);
    let bare = child("environment", "");
    let given = child("environment", "")
        .env("CGP_GIVEN", "s3cret")
        .pass_env("CARGO_MANIFEST_DIR");
    assert!(!format!("{given:?}").contains("s3cret"));
    host.add_stdio("child", bare).unwrap();
    let names = query(&host, "one").unwrap();
    // The interpreter may be a script that adds names of its own; none may be ours.
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let allowed = ["LC_CTYPE", "HOME", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
    let leaked: Vec<_> = ours
        .filter(|it| !allowed.contains(&it.as_str()) && !it.starts_with("PYENV"))
        .filter(|it| names.split(',').any(|name| name == it))
        .collect();
    assert!(leaked.is_empty() && names.contains("PATH"), "{leaked:?}");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    host.remove("child").unwrap();
    host.add_stdio("child", given).unwrap();
    let names = query(&host, "one").unwrap();
    assert!(
        names.contains("CGP_GIVEN") && names.contains("CARGO_MANIFEST_DIR"),
        "{names}"
    );
}

#[test]
fn each_way_not_to_start_has_its_own_words() {
    use std::os::unix::fs::PermissionsExt;

    let dir = TempDir::new();
    let plain = dir.write("plain.txt", "text");
    let script = dir.write("script", "#!/nonexistent/interpreter\n");
    let no_line = dir.write("no-line", "echo hello\n");
    for program in [&script, &no_line] {
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let missing = dir.path().join("missing");
    let failed = |command: StdioCommand| host(LONG).add_stdio("child", command).unwrap_err();
    for (command, parts) in [
        (
            StdioCommand::new("no-such-provider-xyz"),
            &[
                "cannot start `no-such-provider-xyz`",
                "PATH was searched: /",
            ][..],
        ),
        (
            StdioCommand::new(&plain),
            &["permission denied", "plain.txt", "chmod +x"],
        ),
        (
            StdioCommand::new(&script),
            &["its interpreter `/nonexistent/interpreter` does not"],
        ),
        (StdioCommand::new(&no_line), &["#!/bin/sh"]),
        (StdioCommand::new(dir.path()), &["is a directory"]),
        (StdioCommand::new(&missing), &["missing` does not exist"]),
        (
            StdioCommand::new("no-such-provider-xyz").current_dir(&missing),
            &["its directory `", "missing"],
        ),
        (
            StdioCommand::new("./script").current_dir(dir.path()),
            &["interpreter"],
        ),
        (StdioCommand::new(""), &["no program is named"]),
    ] {
        let error = failed(command);
        assert!(matches!(error, Error::Spawn { .. }), "{error}");
        for part in parts {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn nothing_is_left_of_a_launcher_and_its_helper() {
    for way in ["shutdown", "drop"] {
        let dir = TempDir::new();
        let pids = dir.path().join("pids");
        let host = host_of(LONG, "helper", pids.to_str().unwrap());
        answers(&host, "one");
        if way == "shutdown" {
            host.shutdown();
        }
        drop(host);
        let pids = fs::read_to_string(pids).unwrap();
        let alive: Vec<_> = pids.split(' ').filter(|it| is_running(it)).collect();
        assert!(alive.is_empty(), "{way}: {alive:?} of {pids}");
    }
}

#[test]
fn a_child_that_ignores_shutdown_is_made_to_and_all_end_together() {
    let host = Host::with_config(HostConfig {
        shutdown_grace: Duration::from_millis(300),
        ..HostConfig::default()
    });
    for n in 0..4 {
        host.add_stdio(format!("child {n}"), child("ignores-shutdown", ""))
            .unwrap();
    }
    let before = monotonic_now();
    for (_, result) in host.shutdown() {
        let error = result.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Timeout {
                    phase: Phase::Shutdown,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert!(
        before.elapsed() < Duration::from_secs(2),
        "{:?}",
        before.elapsed()
    );
}

#[test]
fn a_child_that_ended_comes_back_only_if_it_may() {
    let host = host(LONG);
    let command = child("dies-by-signal", "").restart(Restart::After(Duration::ZERO));
    host.add_stdio("child", command).unwrap();
    for _ in 0..2 {
        // A fresh one each time, which ends in the same way.
        closed(query(&host, "one"), &["signal: 9"]);
    }
}

/// No test can be killed, so this one runs itself again as the host that is.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "it runs itself")]
fn a_host_that_is_killed_leaves_no_polite_child() {
    const PIDS: &str = "CONTEXTGRAPH_TEST_PIDS";
    if let Some(dir) = std::env::var_os(PIDS) {
        let host = host(LONG);
        for name in ["one", "two"] {
            let pid = Path::new(&dir).join(name);
            let command = child("c-leaves-its-pid", pid.to_str().unwrap());
            host.add_stdio(name, command).unwrap();
        }
        std::thread::park_timeout(LONG);
        return;
    }
    let dir = TempDir::new();
    let mut host = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "stdio::start::a_host_that_is_killed_leaves_no_polite_child",
        ])
        .env(PIDS, dir.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pids = ["one", "two"].map(|name| {
        let pid = || fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        soon(|| pid().ends_with('\n'));
        pid().trim().to_owned()
    });
    host.kill().unwrap();
    host.wait().unwrap();
    for pid in pids {
        soon(|| !is_running(&pid));
    }
}

/// Looks until it is so.
#[cfg(target_os = "linux")]
#[track_caller]
fn soon(is_so: impl Fn() -> bool) {
    let started = monotonic_now();
    while !is_so() {
        assert!(started.elapsed() < LONG, "it never came to pass");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// How many descriptors, threads and children this process has.
fn possessions() -> [usize; 3] {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let own = std::process::id().to_string();
    let is_child = |stat: &String| {
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        after_name.split(' ').nth(1) == Some(own.as_str())
    };
    let stats = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|it| fs::read_to_string(it.ok()?.path().join("stat")).ok());
    [
        count("/proc/self/fd"),
        count("/proc/self/task"),
        stats.filter(is_child).count(),
    ]
}

/// Beside other tests nothing can be counted, so this one runs itself again, alone.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "it runs itself")]
fn descriptors_threads_and_processes_are_given_back() {
    const ALONE: &str = "CONTEXTGRAPH_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "stdio::start::descriptors_threads_and_processes_are_given_back";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads=1"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        return;
    }
    let before = possessions();
    for mode in [
        "honest",
        "c-never",
        "half-then-exit",
        "grandchild",
        "closes-stdout",
        "dies-by-signal",
        "reads-nothing",
        "twice",
        "floods-stderr",
        "ignores-shutdown",
        "stops-itself",
    ] {
        let host = host_of(SHORT, mode, "");
        for goal in ["never", "one"] {
            query(&host, goal).ok();
        }
        drop(host);
        assert_eq!(possessions(), before, "{mode}");
    }
    for mode in [
        "exits",
        "silent",
        "endless-banner",
        "error-handshake",
        "other-version",
    ] {
        let command = child(mode, "").handshake_timeout(SHORT);
        host(LONG).add_stdio("child", command).unwrap_err();
        assert_eq!(possessions(), before, "{mode}");
    }
}
