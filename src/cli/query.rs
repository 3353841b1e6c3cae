//! `contextgraph query`: a question, the providers, and what is printed.

use std::io::Write;

use crate::cli::args::{Format, QueryOptions, Usage};
use crate::cli::progress::while_showing;
use crate::cli::report::{self, Report};
use crate::cli::{Failure, Served, say};
use crate::compose::compose_for_prompt;
use crate::host::fan_out::FanOut;
use crate::host::{Host, HostConfig, Mode};
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
    let root = options.root.to_string_lossy();
    let workspace = Workspace::new(&options.root)
        .map_err(|error| Usage::new(format!("--root: `{}`: {error}", shown(&root))))?;
    let progress = workspace.progress();
    let host = Host::with_config(HostConfig {
        call_timeout: options.timeout,
        mode: if options.is_lenient {
            Mode::Lenient
        } else {
            Mode::Strict
        },
        ..HostConfig::default()
    });
    if let Err(error) = host.register("workspace", workspace) {
        say(err, &error);
        return Ok(Served::Nothing);
    }

    let status = || format!("searching: {} files", progress.files_seen());
    let fan_out = while_showing(status, || host.query_all(&question(options)));
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
    if n_served == 0 && frames.is_empty() && fan_out.failures().next().is_none() {
        let n_files = progress.files_seen();
        say(
            err,
            &format_args!(
                "nothing found in `{}` ({n_files} files searched)",
                shown(&root)
            ),
        );
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
