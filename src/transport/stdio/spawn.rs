//! Starting a child, and saying what is wrong if it cannot be started.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};
use crate::transport::stdio::{StderrPolicy, StdioCommand};
use crate::wire::identity::ProviderId;
use crate::wire::text::shown;

/// What a child inherits of the environment, beside what it was given.
const INHERITED: [&str; 2] = ["PATH", "HOME"];

pub(super) fn spawn(provider: &ProviderId, command: &StdioCommand) -> Result<Child> {
    let failed = |(reason, source): (String, Option<io::Error>)| Error::Spawn {
        provider: provider.clone(),
        program: command.program.to_string_lossy().into_owned(),
        reason,
        source,
    };
    let environment = environment(command);
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    let program = check_directory(command.directory.as_deref())
        .and_then(|()| resolve(&command.program, path, command.directory.as_deref()))
        .map_err(|reason| failed((reason, None)))?;

    // An absolute path, so that std has no need to fork: beside a large heap that is slow.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that starts processes"
    )]
    let mut process = Command::new(&program);
    process
        .arg0(&command.program)
        .args(&command.args)
        .env_clear()
        .envs(environment)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(match command.stderr {
            StderrPolicy::Log => Stdio::piped(),
            StderrPolicy::Inherit => Stdio::inherit(),
            StderrPolicy::Discard => Stdio::null(),
        });
    if let Some(directory) = &command.directory {
        process.current_dir(directory);
    }
    process
        .spawn()
        .map_err(|error| failed((explain(&program, &error), Some(error))))
}

fn environment(command: &StdioCommand) -> Vec<(OsString, OsString)> {
    let inherited = INHERITED.iter().map(OsString::from);
    let names = inherited.chain(command.pass_env.iter().cloned());
    let passed = names.filter_map(|name| Some((name.clone(), std::env::var_os(&name)?)));
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in passed.chain(command.env.iter().cloned()) {
        environment.retain(|(other, _)| *other != name);
        environment.push((name, value));
    }
    environment
}

fn check_directory(directory: Option<&Path>) -> Result<(), String> {
    let Some(directory) = directory else {
        return Ok(());
    };
    let name = directory.to_string_lossy();
    match fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(format!(
            "its directory `{}` is not a directory",
            shown(&name)
        )),
        Err(error) => Err(format!("its directory `{}`: {error}", shown(&name))),
    }
}

/// The program as an absolute path, links in it left alone. A name without a slash is looked for
/// in `PATH`, the one that the child gets; a relative path starts in the child's directory.
fn resolve(
    program: &OsStr,
    path: Option<&OsStr>,
    directory: Option<&Path>,
) -> Result<PathBuf, String> {
    if program.is_empty() {
        return Err("no program is named".to_owned());
    }
    if program.as_encoded_bytes().contains(&b'/') {
        let there = directory.unwrap_or(Path::new("")).join(program);
        let there = std::path::absolute(there).map_err(|error| error.to_string())?;
        return match judge(&there) {
            Found::Program => Ok(there),
            Found::Nothing => Err(format!(
                "`{}` does not exist",
                shown(&there.to_string_lossy())
            )),
            Found::Unfit(reason) => Err(reason),
        };
    }
    let path = path.ok_or("it is a bare name, and there is no PATH to search")?;
    let mut unfit = None;
    // An empty entry would be the current directory, which is no place to take programs from.
    for directory in std::env::split_paths(path).filter(|it| it.is_absolute()) {
        let there = directory.join(program);
        match judge(&there) {
            Found::Program => return Ok(there),
            Found::Unfit(reason) => unfit = unfit.or(Some(reason)),
            Found::Nothing => {}
        }
    }
    let path = path.to_string_lossy();
    Err(unfit
        .unwrap_or_else(|| format!("not found; PATH was searched: {}", shown(&path).limit(1000))))
}

enum Found {
    Program,
    /// It is there and cannot be run.
    Unfit(String),
    Nothing,
}

fn judge(path: &Path) -> Found {
    let name = path.to_string_lossy();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Found::Unfit(format!("`{}` is a directory", shown(&name)))
        }
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Found::Unfit(format!(
            "permission denied: `{}` is not executable; chmod +x would make it so",
            shown(&name)
        )),
        Ok(_) => Found::Program,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Found::Unfit(format!("permission denied: `{}`", shown(&name)))
        }
        Err(_) => Found::Nothing,
    }
}

/// Why a file that exists could not be run.
fn explain(program: &Path, error: &io::Error) -> String {
    const NO_EXEC: i32 = 8;
    let interpreter = interpreter(program);
    let name = program.to_string_lossy();
    let name = shown(&name);
    match (error.kind(), interpreter) {
        (io::ErrorKind::NotFound, Some(interpreter)) => format!(
            "`{name}` exists, but its interpreter `{}` does not",
            shown(&interpreter)
        ),
        (io::ErrorKind::NotFound, None) => {
            format!("`{name}` exists, but something it needs to start does not")
        }
        (io::ErrorKind::PermissionDenied, Some(interpreter)) => format!(
            "permission denied: `{name}`, or its interpreter `{}`",
            shown(&interpreter)
        ),
        (io::ErrorKind::PermissionDenied, None) => format!("permission denied: `{name}`"),
        _ if error.raw_os_error() == Some(NO_EXEC) => format!(
            "`{name}` is no program of this system; a script needs a first line such as #!/bin/sh"
        ),
        _ => format!("`{name}`: {error}"),
    }
}

/// What a script's first line names.
fn interpreter(program: &Path) -> Option<String> {
    let mut head = [0; 256];
    let n = File::open(program)
        .and_then(|mut it| it.read(&mut head))
        .ok()?;
    let line = head[..n].strip_prefix(b"#!")?;
    let line = line.split(|it| *it == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(str::to_owned)
}
