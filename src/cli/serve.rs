//! `contextgraph serve-stdio`: the provider over a directory for anybody's host.

use std::io::Write;
use std::process::ExitCode;

use crate::cli::args::ServeOptions;
use crate::cli::say;
use crate::provider::serve_stdio;
use crate::wire::text::shown;
use crate::workspace::Workspace;

pub(super) fn run(options: &ServeOptions, err: &mut impl Write) -> ExitCode {
    let workspace = match Workspace::new(&options.root) {
        Ok(workspace) => workspace,
        Err(error) => {
            let root = options.root.to_string_lossy();
            say(err, &format_args!("--root: `{}`: {error}", shown(&root)));
            return ExitCode::from(2);
        }
    };
    match serve_stdio(&workspace) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(err, &error);
            ExitCode::FAILURE
        }
    }
}
