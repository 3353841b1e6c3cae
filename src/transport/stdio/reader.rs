//! The thread that owns a child: it reads what the child says, notices its end, ends it when
//! told, and reaps it. Nothing it does waits for anybody but the child, and that with a bound.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::clock::Deadline;
use crate::codec::lines::{Line, LineBuffer};
use crate::transport::stdio::ready;
use crate::transport::stdio::shared::{End, Shared};
use crate::transport::stdio::tail::Tail;
use crate::wire::text::shown;

/// How much is read before the other streams get their turn.
const CHUNK: usize = 64 << 10;
/// Without a descriptor for the child's end, this is how often it is looked for.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a child that closed its stdout may take to end, to tell how it did.
const LAST_MOMENTS: Duration = Duration::from_millis(250);
/// How long a group that was terminated may take before it is killed.
const TERM_GRACE: Duration = Duration::from_millis(200);
/// How long the kernel may take to end what was killed.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long killed orphans may take to be gone.
const ORPHAN_GRACE: Duration = Duration::from_millis(200);
const MOMENT: Duration = Duration::from_millis(2);

pub(super) struct Reader {
    shared: Arc<Shared>,
    child: Child,
    pid: Pid,
    /// Readable once the child has ended; not on every system.
    pidfd: Option<OwnedFd>,
    stderr: Option<ChildStderr>,
    wake: UnixStream,
    lines: LineBuffer,
    /// Bytes of a last line that did not end.
    cut_off: usize,
    stdout_open: bool,
    tail: Tail,
    chunk: Vec<u8>,
    is_buried: bool,
}

/// Why the reader stopped reading.
enum Stop {
    /// The child has ended.
    Exited,
    /// Its stdout is closed.
    Closed,
    /// Somebody decided.
    Told(End),
}

impl Reader {
    pub(super) fn new(
        shared: Arc<Shared>,
        mut child: Child,
        wake: UnixStream,
        line_limit: usize,
    ) -> Self {
        let pid = Pid::from_child(&child);
        Self {
            shared,
            pid,
            pidfd: rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok(),
            stderr: child.stderr.take(),
            child,
            wake,
            lines: LineBuffer::new(line_limit),
            cut_off: 0,
            stdout_open: true,
            tail: Tail::default(),
            chunk: vec![0; 8 << 10],
            is_buried: false,
        }
    }

    /// Makes our ends of the pipes ones that never block.
    pub(super) fn prepare(&self) -> io::Result<()> {
        if let Some(stderr) = &self.stderr {
            rustix::io::ioctl_fionbio(stderr, true)?;
        }
        self.wake.set_nonblocking(true)
    }

    /// Reads until the end, and leaves no process behind.
    pub(super) fn run(mut self) {
        let stop = self.read();
        let pending = self.cut_off;
        let (mut end, grace) = match stop {
            Stop::Exited | Stop::Closed => (End::default(), TERM_GRACE),
            Stop::Told(end) => {
                let grace = if end.is_hasty {
                    Duration::ZERO
                } else {
                    TERM_GRACE
                };
                (end, grace)
            }
        };
        // Whoever waits is told before the burial, which may take a moment.
        let status = self.status_if_ended();
        if end.reason.is_empty() {
            end.reason = match (status, pending) {
                (Some(_), 0) => "it ended".to_owned(),
                (Some(_), n) => format!("it ended inside a message, after {n} bytes of it"),
                (None, 0) => "it closed its stdout and lives on".to_owned(),
                (None, n) => {
                    format!("it closed its stdout inside a message, after {n} bytes of it")
                }
            };
        }
        end.status = status.map(|it| it.to_string());
        end.stderr = self.tail.lines();
        self.shared.close(end);
        self.bury(grace);
    }

    fn read(&mut self) -> Stop {
        loop {
            if let Some(end) = self.shared.told() {
                return Stop::Told(end);
            }
            let Ready {
                stdout,
                stderr,
                exited,
            } = self.poll(None);
            if stderr {
                self.read_stderr();
            }
            if stdout && let Some(stop) = self.read_stdout() {
                return stop;
            }
            if !self.stdout_open {
                return self.after_stdout();
            }
            if exited {
                // What it wrote before it ended still counts, whoever holds the pipe now.
                for _ in 0..1024 {
                    if !self.poll(Some(Duration::ZERO)).stdout || !self.stdout_open {
                        break;
                    }
                    if let Some(stop) = self.read_stdout() {
                        return stop;
                    }
                }
                self.read_stderr();
                self.last_line();
                return Stop::Exited;
            }
        }
    }

    /// The child said its last word; how does it end?
    fn after_stdout(&mut self) -> Stop {
        self.last_line();
        let deadline = Deadline::after(LAST_MOMENTS);
        while !deadline.has_passed() {
            if let Some(end) = self.shared.told() {
                return Stop::Told(end);
            }
            let ready = self.poll(Some(deadline.remaining()));
            if ready.stderr {
                self.read_stderr();
            }
            if ready.exited {
                self.read_stderr();
                return Stop::Exited;
            }
        }
        Stop::Closed
    }

    /// A last line without its end counts if it is whole.
    fn last_line(&mut self) {
        let shared = &self.shared;
        let pending = self.lines.pending();
        let mut is_whole = false;
        // What a last line does to the connection does not matter any more.
        drop(self.lines.finish(|line| {
            is_whole = matches!(line, Line::Whole(text) if is_json(text));
            if is_whole {
                shared.deliver(line)
            } else {
                ControlFlow::Continue(())
            }
        }));
        self.cut_off = if is_whole { 0 } else { pending };
    }

    fn read_stdout(&mut self) -> Option<Stop> {
        self.shared.set_quiet(false);
        let mut total = 0;
        while total < CHUNK {
            match self.shared.read_stdout(&mut self.chunk) {
                Ok(0) => {
                    self.stdout_open = false;
                    return None;
                }
                Ok(n) => {
                    total += n;
                    let shared = &self.shared;
                    let flow = self
                        .lines
                        .push(&self.chunk[..n], |line| shared.deliver(line));
                    if let ControlFlow::Break(end) = flow {
                        return Some(Stop::Told(end));
                    }
                    if n == self.chunk.len() && n < CHUNK {
                        // It has much to say: read more at once.
                        self.chunk.resize(CHUNK, 0);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    return Some(Stop::Told(End::because(format!("its stdout: {error}"))));
                }
            }
        }
        self.shared.set_quiet(self.lines.is_empty());
        None
    }

    fn read_stderr(&mut self) {
        let Some(stderr) = &mut self.stderr else {
            return;
        };
        let provider = self.shared.provider();
        let mut total = 0;
        let mut chunk = [0; 8 << 10];
        while total < CHUNK {
            match stderr.read(&mut chunk) {
                Ok(0) => {
                    self.stderr = None;
                    break;
                }
                Ok(n) => {
                    total += n;
                    self.tail.push(&chunk[..n], |line| {
                        log::debug!("provider `{provider}` on stderr: {}", shown(line));
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.stderr = None;
                    break;
                }
            }
        }
        if total > 0 {
            self.shared.set_stderr(self.tail.lines());
        }
    }

    /// Waits until something can be read or the child has ended.
    fn poll(&self, limit: Option<Duration>) -> Ready {
        let limit = match (limit, &self.pidfd) {
            (limit, Some(_)) => limit,
            (limit, None) => Some(limit.unwrap_or(GLANCE).min(GLANCE)),
        };
        let shared = &self.shared;
        let wanted = PollFlags::IN;
        let mut fds = vec![PollFd::new(&self.wake, wanted)];
        let stdout = (self.stdout_open && shared.wants_lines()).then(|| {
            fds.push(PollFd::from_borrowed_fd(shared.stdout(), wanted));
            fds.len() - 1
        });
        let stderr = self.stderr.as_ref().map(|it| {
            fds.push(PollFd::from_borrowed_fd(it.as_fd(), wanted));
            fds.len() - 1
        });
        let exited = self.pidfd.as_ref().map(|it| {
            fds.push(PollFd::from_borrowed_fd(it.as_fd(), wanted));
            fds.len() - 1
        });
        ready::wait(&mut fds, limit);
        let is_ready = |index: Option<usize>| index.is_some_and(|it| !fds[it].revents().is_empty());
        let (stdout, stderr) = (is_ready(stdout), is_ready(stderr));
        let woken = is_ready(Some(0));
        let exited = match exited {
            Some(_) => is_ready(exited),
            None => self.status_if_ended().is_some(),
        };
        if woken {
            let mut bytes = [0; 64];
            while matches!((&self.wake).read(&mut bytes), Ok(n) if n > 0) {}
        }
        Ready {
            stdout,
            stderr,
            exited,
        }
    }

    /// How the child ended, if it did; it stays unreaped, so that its group id stays its own.
    fn status_if_ended(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = rustix::process::waitid(WaitId::Pid(self.pid), options).ok()??;
        let raw = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => (code & 0xff) << 8,
            (None, Some(signal)) => signal,
            (None, None) => return None,
        };
        Some(ExitStatus::from_raw(raw))
    }

    /// Ends whatever is left of the child and its group, and reaps it.
    fn bury(&mut self, grace: Duration) {
        self.is_buried = true;
        let has_ended = self.status_if_ended().is_some();
        let is_alone = has_ended && !self.somebody_holds_a_pipe();
        if !is_alone {
            self.signal(Signal::TERM);
            self.wait_for_the_group(Deadline::after(grace));
        }
        self.shared.set_forced(!has_ended);
        self.signal(Signal::KILL);
        let deadline = Deadline::after(KILL_GRACE);
        while self.status_if_ended().is_none() && !deadline.has_passed() {
            self.poll_exit(deadline.remaining());
        }
        // After this its ids may be used again; nothing is signalled any more.
        match self.child.try_wait() {
            Ok(Some(_)) if is_alone => {}
            Ok(Some(_)) => self.wait_until_the_group_is_gone(),
            Ok(None) => log::warn!(
                "provider `{}`: process {} was killed and does not end",
                self.shared.provider(),
                self.pid.as_raw_nonzero()
            ),
            Err(error) => log::warn!("provider `{}`: {error}", self.shared.provider()),
        }
    }

    /// Whether a pipe of the child is still open at its other end, by a process it left behind.
    fn somebody_holds_a_pipe(&mut self) -> bool {
        self.read_stderr();
        while self.stdout_open && self.poll(Some(Duration::ZERO)).stdout {
            match self.shared.read_stdout(&mut self.chunk) {
                Ok(0) => self.stdout_open = false,
                Ok(_) => return true,
                Err(_) => break,
            }
        }
        self.stdout_open || self.stderr.is_some()
    }

    /// Until the child has ended and nobody holds its pipes.
    fn wait_for_the_group(&mut self, deadline: Deadline) {
        while !deadline.has_passed() {
            if self.status_if_ended().is_some() && !self.somebody_holds_a_pipe() {
                return;
            }
            self.poll_exit(deadline.remaining().min(GLANCE));
        }
    }

    /// A kill takes its time, and those whom the child left behind are nobody's to wait for: only
    /// their group can be asked, once its leader is reaped. Where nobody reaps orphans it stays.
    fn wait_until_the_group_is_gone(&self) {
        let deadline = Deadline::after(ORPHAN_GRACE);
        while rustix::process::test_kill_process_group(self.pid).is_ok() && !deadline.has_passed() {
            ready::wait_for(self.wake.as_fd(), PollFlags::IN, MOMENT);
        }
    }

    fn poll_exit(&self, limit: Duration) {
        // The pidfd of a child that has ended is always readable: then this is only a pause.
        let fd = match (&self.pidfd, self.status_if_ended()) {
            (Some(pidfd), None) => pidfd.as_fd(),
            _ => self.wake.as_fd(),
        };
        ready::wait_for(fd, PollFlags::IN, limit.min(GLANCE));
    }

    fn signal(&self, signal: Signal) {
        // It fails if nobody is left to be told.
        rustix::process::kill_process_group(self.pid, signal).ok();
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.is_buried {
            self.bury(Duration::ZERO);
        }
    }
}

struct Ready {
    stdout: bool,
    stderr: bool,
    exited: bool,
}
