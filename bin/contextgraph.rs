//! `contextgraph`: the tool people run.

use std::process::ExitCode;

fn main() -> ExitCode {
    contextgraph_sync::cli::contextgraph(std::env::args_os().skip(1))
}
