//! A provider as a child process (SPEC.md, "Framing"; DESIGN: children).
//!
//! One reader thread per child routes what it says by type and id; each caller decodes its own
//! answer. A child that does not correlate is asked one thing at a time, and what it owes to a
//! caller that gave up is never handed to the next one. Whatever the child does, every call ends
//! at its deadline, and no process, thread or descriptor is left behind.
//!
//! Needs Unix.

#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod mux;
#[cfg(unix)]
mod raw;
#[cfg(unix)]
mod reader;
#[cfg(unix)]
mod ready;
#[cfg(unix)]
mod route;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod slot;
#[cfg(unix)]
mod spawn;
#[cfg(unix)]
mod tail;

#[cfg(unix)]
pub use raw::RawConnection;
#[cfg(unix)]
pub use slot::Stdio;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::codec::lines::LINE_LIMIT;

/// How a child is started, in the manner of [`std::process::Command`]. No shell is involved.
///
/// The child gets `PATH` and `HOME` and no other variable unless told so, a process group of its
/// own, and three pipes. Descriptors of this library are never inherited; what the program that
/// embeds it has opened without close-on-exec is, and nothing here can prevent that.
///
/// A name without a slash is looked for in the `PATH` that the child gets. A relative path, such
/// as `./provider.py`, starts in the child's directory, on every system.
///
/// ```no_run
/// use std::time::Duration;
/// use contextgraph_sync::Host;
/// use contextgraph_sync::transport::stdio::StdioCommand;
///
/// let host = Host::new();
/// let command = StdioCommand::new("python3")
///     .args(["provider.py", "--verbose"])
///     .current_dir("providers/wiki")
///     .env("PYTHONUNBUFFERED", "1")
///     .handshake_timeout(Duration::from_secs(20));
/// host.add_stdio("wiki", command)?;
/// # Ok::<(), contextgraph_sync::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a command does nothing until it is given to a host"]
pub struct StdioCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    pass_env: Vec<OsString>,
    directory: Option<PathBuf>,
    handshake_timeout: Option<Duration>,
    call_timeout: Option<Duration>,
    line_limit: usize,
    owed_limit: Duration,
    stderr: StderrPolicy,
    restart: Restart,
}

/// What happens to the stderr of a child. In any case it is read, so that it never fills up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StderrPolicy {
    /// Each line goes to the log at debug level, and the last ones into errors.
    #[default]
    Log,
    /// The child writes to our own stderr.
    Inherit,
    /// Nobody sees it.
    Discard,
}

/// What happens after a child has ended by itself.
///
/// A child that was given up because it could not be trusted any more is replaced by the next
/// question in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restart {
    /// Every further question fails at once.
    #[default]
    Never,
    /// The next question starts a new one, if so long has passed since the last start; the
    /// pause doubles with every child that ends before it has lived for a minute, up to an hour.
    After(Duration),
}

impl StdioCommand {
    /// The program, by name or path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            pass_env: Vec::new(),
            directory: None,
            handshake_timeout: None,
            call_timeout: None,
            line_limit: LINE_LIMIT,
            owed_limit: Duration::from_secs(60),
            stderr: StderrPolicy::default(),
            restart: Restart::default(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Lets the child see a variable of ours, if it is set.
    pub fn pass_env(mut self, name: impl Into<OsString>) -> Self {
        self.pass_env.push(name.into());
        self
    }

    /// The child's directory; ours unless set.
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// How long it may take to say who it is, instead of the host's limit. Zero means the
    /// host's limit.
    pub fn handshake_timeout(mut self, limit: Duration) -> Self {
        self.handshake_timeout = (!limit.is_zero()).then_some(limit);
        self
    }

    /// How long one of its answers may take, if that is less than the host's limit. Zero means
    /// the host's limit.
    pub fn call_timeout(mut self, limit: Duration) -> Self {
        self.call_timeout = (!limit.is_zero()).then_some(limit);
        self
    }

    /// The longest line in either direction, in bytes. 16 MiB.
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// How long an answer that nobody waits for any more may be owed before the child is given
    /// up, for one that does not correlate. 60 s.
    pub fn owed_limit(mut self, limit: Duration) -> Self {
        self.owed_limit = limit;
        self
    }

    /// What happens to its stderr.
    pub fn stderr(mut self, policy: StderrPolicy) -> Self {
        self.stderr = policy;
        self
    }

    /// What happens after it has ended by itself.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    pub(crate) fn handshake_limit(&self) -> Option<Duration> {
        self.handshake_timeout
    }
}

impl fmt::Debug for StdioCommand {
    /// Names of variables, never their values: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("StdioCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("pass_env", &self.pass_env)
            .field("directory", &self.directory)
            .field("restart", &self.restart)
            .finish_non_exhaustive()
    }
}
