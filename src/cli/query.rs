//! `contextgraph query`: a question, the providers, and what is printed.

use std::any::Any;
use std::io::Write;
use std::path::Path;
use std::thread;

use crate::cli::args::{ChildOptions, Format, QueryOptions, Usage};
use crate::cli::progress::while_showing;
use crate::cli::report::{self, Report};
use crate::cli::{Failure, Served, say};
use crate::compose::compose_for_prompt;
use crate::error::Error;
use crate::host::fan_out::FanOut;
use crate::host::{Host, HostConfig, Mode};
use crate::transport::stdio::StdioCommand;
use crate::wire::query::ContextQuery;
use crate::wire::text::shown;
use crate::workspace::Workspace;

/// How many broken rules are shown for one provider before they are only counted.
const SHOWN_FINDINGS: usize = 10;

pub(super) fn run(
    options: &QueryOptions,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Served, Failure> {
    let workspace = options.root.as_deref().map(workspace).transpose()?;
    let progress = workspace
        .as_ref()
        .map(|(workspace, _)| workspace.progress());
    let files_seen = || progress.as_ref().map_or(0, |it| it.files_seen());
    let host = Host::with_config(HostConfig {
        call_timeout: options.timeout,
        mode: if options.is_lenient {
            Mode::Lenient
        } else {
            Mode::Strict
        },
        ..HostConfig::default()
    });
    let mut root = String::new();
    let mut has_failed = false;
    if let Some((workspace, name)) = workspace {
        root = name;
        if let Err(error) = host.register(WORKSPACE, workspace) {
            say(err, &error);
            has_failed = true;
        }
    }
    for error in start_children(&host, &options.children) {
        say(err, &error);
        has_failed = true;
    }

    let status = || match files_seen() {
        0 => "waiting for an answer".to_owned(),
        n => format!("searching: {n} files"),
    };
    let mut fan_out = while_showing(status, || host.query_all(&question(options)));
    // As on the command line; they started all at once.
    let place = |id: &str| options.children.iter().position(|it| it.id == id);
    fan_out.legs.sort_by_key(|leg| place(leg.provider.as_str()));
    let frames = fan_out.frames();
    let composed = compose_for_prompt(&frames, options.budget);
    let report = Report {
        goal: &options.goal,
        fan_out: &fan_out,
        frames: &frames,
        composed: &composed,
    };
    tell_failures(&fan_out, err);
    let n_served = report.served().count();
    if n_served < frames.len() {
        let n_left = frames.len() - n_served;
        say(
            err,
            &format_args!(
                "{n_left} more frames do not fit into {} tokens",
                options.budget
            ),
        );
    }
    let has_failed = has_failed || fan_out.failures().next().is_some();
    if frames.is_empty() && !has_failed {
        match options.root {
            Some(_) => {
                let (root, n_files) = (shown(&root), files_seen());
                say(
                    err,
                    &format_args!("nothing found in `{root}` ({n_files} files searched)"),
                );
            }
            None => say(err, &"nothing found"),
        }
    }
    match options.format {
        Format::Json => report::json(&report, out)?,
        Format::Frames => report::table(&report, out)?,
        Format::Prompt if n_served > 0 => out.write_all(composed.prompt.as_bytes())?,
        Format::Prompt => {}
    }
    out.flush()?;
    for (_, result) in host.shutdown() {
        if let Err(error) = result {
            say(err, &error);
        }
    }
    Ok(if n_served > 0 {
        Served::Something
    } else {
        Served::Nothing
    })
}

/// The id of the provider over the root.
const WORKSPACE: &str = "workspace";

fn workspace(root: &Path) -> Result<(Workspace, String), Failure> {
    let name = root.to_string_lossy();
    match Workspace::new(root) {
        Ok(workspace) => Ok((workspace, name.into_owned())),
        Err(error) => {
            let usage = Usage::new(format!("--root: `{}`: {error}", shown(&name)));
            Err(usage.into())
        }
    }
}

/// Starts all children at once, so that the slowest decides and not the sum; gives the errors of
/// those that did not start.
fn start_children(host: &Host, children: &[ChildOptions]) -> Vec<Error> {
    let start = |child: &ChildOptions| {
        let command = StdioCommand::new(&child.program).args(&child.args);
        host.add_stdio(child.id.as_str(), command)
    };
    thread::scope(|scope| {
        let starts: Vec<_> = children
            .iter()
            .map(|it| scope.spawn(move || start(it)))
            .collect();
        let results = children.iter().zip(starts).map(|(child, start)| {
            let panicked = |panic: Box<dyn Any + Send>| {
                Err(Error::panicked(&child.id.as_str().into(), &*panic))
            };
            start.join().unwrap_or_else(panicked)
        });
        results.filter_map(Result::err).collect()
    })
}

fn question(options: &QueryOptions) -> ContextQuery {
    ContextQuery {
        kinds: options.kinds.clone(),
        anchors: options.anchors.clone(),
        as_of: options.as_of.clone(),
        ..ContextQuery::new(&options.goal, options.max_frames, options.budget)
    }
}

/// Who failed, lied or was refused, and which rules the others broke.
fn tell_failures(fan_out: &FanOut, err: &mut impl Write) {
    for error in fan_out.failures() {
        say(err, error);
    }
    for (provider, answer) in fan_out.answers() {
        for finding in answer.findings.iter().take(SHOWN_FINDINGS) {
            say(err, &format_args!("provider `{provider}`: {finding}"));
        }
        if let Some(n_more @ 1..) = answer.findings.len().checked_sub(SHOWN_FINDINGS) {
            say(
                err,
                &format_args!("provider `{provider}`: {n_more} more broken rules"),
            );
        }
    }
}
