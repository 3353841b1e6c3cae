//! What the binaries do; the only code that prints.
//!
//! The answer goes to stdout and everything else to stderr, so that a pipe gets the answer and
//! nothing but the answer. Exit status: 0 when something was served, 1 when nothing was, 2 for
//! a usage error. A reader that goes away is not an error.

mod args;
mod progress;
mod query;
mod report;
mod serve;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::args::{Command, Usage};

const HELP: &str = "\
contextgraph: ask for cited, budgeted context

Usage:
  contextgraph query GOAL...   answer from files, ready to be pasted into a prompt
  contextgraph serve-stdio     be a provider for another host
  contextgraph help            this text
  contextgraph --version       the version

`contextgraph query --help` and `contextgraph serve-stdio --help` explain the options.
";

/// Runs the tool with these arguments, without the name of the program.
pub fn contextgraph(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut out = io::stdout().lock();
    let mut err = io::stderr();
    let outcome = match args::parse(args) {
        Ok(Command::Help(text)) => print(&mut out, text).map(|()| Served::Something),
        Ok(Command::Version) => {
            let version = concat!("contextgraph ", env!("CARGO_PKG_VERSION"), "\n");
            print(&mut out, version).map(|()| Served::Something)
        }
        Ok(Command::Query(options)) => {
            start_logging(options.verbosity);
            query::run(&options, &mut out, &mut err)
        }
        Ok(Command::ServeStdio(options)) => {
            start_logging(options.verbosity);
            // Stdout belongs to the protocol from here on.
            drop(out);
            return serve::run(&options, &mut err);
        }
        Err(usage) => {
            say(&mut err, &usage);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(Served::Something) => ExitCode::SUCCESS,
        Ok(Served::Nothing) => ExitCode::FAILURE,
        Err(Failure::Usage(usage)) => {
            say(&mut err, &usage);
            ExitCode::from(2)
        }
        // Whoever read us has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Output(error)) => {
            say(&mut err, &format_args!("cannot write the answer: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether a command had anything to show for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    Something,
    Nothing,
}

/// Why a command ended early.
#[derive(Debug)]
enum Failure {
    Usage(Usage),
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Usage> for Failure {
    fn from(usage: Usage) -> Self {
        Self::Usage(usage)
    }
}

fn print(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// A line on stderr. If nobody can read it, there is nobody to tell.
fn say(err: &mut impl Write, line: &dyn std::fmt::Display) {
    writeln!(err, "contextgraph: {line}").ok();
}

/// `RUST_LOG` decides; without it `-v` shows what happens and `-vv` every line that travels.
fn start_logging(verbosity: u8) {
    let level = match verbosity {
        0 => "off",
        1 => "debug",
        _ => "trace",
    };
    let filter = env_logger::Env::default().default_filter_or(level);
    // It fails only if a logger is there already, and then that one logs.
    env_logger::Builder::from_env(filter).try_init().ok();
}
