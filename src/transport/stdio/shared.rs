//! What the reader of a child and its callers share.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::Sender;
use rustix::event::PollFlags;

use crate::clock::Deadline;
use crate::codec::lines::Line;
use crate::error::{Error, LastWords};
use crate::transport::stdio::mux::{Incoming, Mux, Outcome};
use crate::transport::stdio::ready;
use crate::wire::identity::ProviderId;

/// What the reader and the callers share.
#[derive(Debug)]
pub(super) struct Shared {
    provider: ProviderId,
    state: Mutex<State>,
    /// Lines go here instead of being routed.
    raw: Mutex<Option<Sender<Vec<u8>>>>,
    stdout: ChildStdout,
    line_limit: usize,
    received: AtomicU64,
    /// Whether the reader has handed on all that it has read.
    quiet: Mutex<bool>,
    became_quiet: Condvar,
    waker: UnixStream,
    was_forced: AtomicBool,
    stderr: Mutex<Vec<String>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) mux: Mux,
    pub(super) told: Option<End>,
    pub(super) closed: Option<End>,
}

/// Why a connection is over.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    pub(super) reason: String,
    pub(super) status: Option<String>,
    pub(super) stderr: Vec<String>,
    /// We ended it because it could not be trusted any more; the next question starts anew.
    pub(super) is_retired: bool,
    /// No time for anybody to say goodbye.
    pub(super) is_hasty: bool,
}

impl End {
    pub(super) fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_retired: true,
            ..Self::default()
        }
    }
}

impl Shared {
    pub(super) fn new(
        provider: &ProviderId,
        mux: Mux,
        raw: Option<Sender<Vec<u8>>>,
        stdout: ChildStdout,
        waker: UnixStream,
        line_limit: usize,
    ) -> Self {
        Self {
            provider: provider.clone(),
            state: Mutex::new(State {
                mux,
                told: None,
                closed: None,
            }),
            raw: Mutex::new(raw),
            stdout,
            line_limit,
            received: AtomicU64::new(0),
            quiet: Mutex::new(true),
            became_quiet: Condvar::new(),
            waker,
            was_forced: AtomicBool::new(false),
            stderr: Mutex::default(),
        }
    }

    pub(super) fn line_limit(&self) -> usize {
        self.line_limit
    }

    pub(super) fn was_forced(&self) -> bool {
        self.was_forced.load(Ordering::Relaxed)
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(super) fn stderr(&self) -> Vec<String> {
        let stderr = self.stderr.lock();
        stderr.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn provider(&self) -> &ProviderId {
        &self.provider
    }

    pub(super) fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    pub(super) fn read_stdout(&self, chunk: &mut [u8]) -> io::Result<usize> {
        let n = rustix::io::read(&self.stdout, chunk)?;
        self.received.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    /// Hands on a line; breaks if the connection cannot be trusted any more.
    pub(super) fn deliver(&self, line: Line<'_>) -> ControlFlow<End> {
        if let Line::Whole(text) = line {
            log::trace!(
                "provider `{}` < {}",
                self.provider,
                String::from_utf8_lossy(text)
            );
        }
        if let Some(raw) = &*self.raw() {
            let bytes = match line {
                Line::Whole(text) => text.to_vec(),
                Line::TooLong { head, .. } => head.to_vec(),
            };
            // The reader asks first whether there is room; what one read holds has room.
            raw.try_send(bytes).ok();
            return ControlFlow::Continue(());
        }
        let incoming = Incoming::of(line);
        match self.lock().mux.deliver(incoming) {
            Outcome::Delivered | Outcome::Ignored => ControlFlow::Continue(()),
            Outcome::Late => {
                log::debug!("provider `{}`: a late reply was dropped", self.provider);
                ControlFlow::Continue(())
            }
            Outcome::Retire(reason) => ControlFlow::Break(End::because(reason)),
        }
    }

    /// Whether more lines can be taken.
    pub(super) fn wants_lines(&self) -> bool {
        self.raw().as_ref().is_none_or(|it| it.len() < RAW_LINES)
    }

    pub(super) fn told(&self) -> Option<End> {
        self.lock().told.clone()
    }

    /// Wakes everybody who waits, and tells the next ones why.
    pub(super) fn close(&self, end: End) {
        log::debug!("provider `{}` is gone: {}", self.provider, end.reason);
        let mut state = self.lock();
        state.closed = Some(end);
        state.mux.close();
        drop(state);
        *self.raw() = None;
        self.set_quiet(true);
    }

    pub(super) fn set_quiet(&self, is_quiet: bool) {
        *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = is_quiet;
        if is_quiet {
            self.became_quiet.notify_all();
        }
    }

    pub(super) fn set_forced(&self, was_forced: bool) {
        self.was_forced.store(was_forced, Ordering::Relaxed);
    }

    pub(super) fn set_stderr(&self, lines: Vec<String>) {
        *self.stderr.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done by a panic: every change is a single step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raw(&self) -> MutexGuard<'_, Option<Sender<Vec<u8>>>> {
        self.raw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, state: &mut State, end: End) {
        state.told.get_or_insert(end);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // If its buffer is full, it is being woken already.
        io::Write::write(&mut &self.waker, &[0]).ok();
    }

    /// Waits until the pipe is empty and all that was in it has been handed on.
    pub(super) fn wait_for_quiet(&self, deadline: Deadline) -> bool {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // First the pipe, then the flag: the reader lowers the flag before it reads.
            let is_empty = !ready::wait_for(self.stdout(), PollFlags::IN, Duration::ZERO);
            if is_empty && *quiet {
                return self.lock().closed.is_none();
            }
            let left = deadline.remaining();
            if left.is_zero() || self.lock().closed.is_some() {
                return false;
            }
            let waited = self.became_quiet.wait_timeout(quiet, left);
            quiet = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn closed_error(&self) -> Error {
        let state = self.lock();
        let end = state.closed.as_ref().or(state.told.as_ref()).cloned();
        let End {
            reason,
            status,
            stderr,
            ..
        } = end.unwrap_or_default();
        Error::Closed {
            provider: self.provider.clone(),
            last_words: LastWords {
                status,
                reason,
                stderr,
            },
        }
    }
}

/// Raw lines that are kept for a tool that does not take them.
pub(super) const RAW_LINES: usize = 64;
/// A chunk of line ends is so many lines.
pub(super) const RAW_ROOM: usize = RAW_LINES + (64 << 10);
