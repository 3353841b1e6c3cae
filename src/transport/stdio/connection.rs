//! One running child: questions in, answers out, from any thread.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ChildStdin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use rustix::event::PollFlags;

use crate::clock::{Deadline, monotonic_now};
use crate::codec::encode;
use crate::error::{Error, Occupation, Phase, Result};
use crate::transport::stdio::mux::{Delivery, Mux, Slot};
use crate::transport::stdio::reader::Reader;
use crate::transport::stdio::shared::{End, Shared};
use crate::transport::stdio::{StdioCommand, ready, spawn};
use crate::wire::envelope::Envelope;
use crate::wire::identity::ProviderId;

/// A pipe takes so much at once or nothing, so such a line is never half written.
const WHOLE_WRITE: usize = 4096;

/// A child, its reader thread, and who waits for it.
#[derive(Debug)]
pub(super) struct Connection {
    provider: ProviderId,
    shared: Arc<Shared>,
    /// Holds the token while nobody writes.
    pen: Receiver<()>,
    put_back: Sender<()>,
    /// Holds the token while no exchange without an id is open or owed.
    turn: Receiver<()>,
    stdin: Mutex<Option<Arc<ChildStdin>>>,
    /// Disconnected when the child is gone and reaped.
    ended: Receiver<()>,
    reader: Mutex<Option<JoinHandle<()>>>,
    owed_limit: Duration,
}

/// A question on its way, or why it is not.
pub(super) enum Sent {
    Exchange(Exchange),
    /// Sending it would have to wait.
    WouldWait,
}

/// A question that was sent.
#[derive(Debug)]
pub(super) struct Exchange {
    shared: Arc<Shared>,
    id: Option<String>,
    reply: Receiver<Delivery>,
    deadline: Deadline,
    after: Duration,
    is_over: bool,
}

impl Connection {
    /// Starts the child; nothing has been said yet.
    pub(super) fn open(
        provider: &ProviderId,
        command: &StdioCommand,
        raw: Option<Sender<Vec<u8>>>,
    ) -> Result<Self> {
        let io = |source| Error::Io {
            provider: provider.clone(),
            source,
        };
        let (waker, wake) = UnixStream::pair().map_err(io)?;
        waker.set_nonblocking(true).map_err(io)?;
        let mut child = spawn::spawn(provider, command)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io(io::Error::other("the child has no pipes")));
        };
        let (mux, turn) = Mux::new();
        let shared = Arc::new(Shared::new(
            provider,
            mux,
            raw,
            stdout,
            waker,
            command.line_limit,
        ));
        let (alive, ended) = bounded::<()>(0);
        // From here on the reader owns the child: whatever fails, it is ended and reaped.
        let reader = Reader::new(Arc::clone(&shared), child, wake, command.line_limit);
        rustix::io::ioctl_fionbio(&stdin, true)
            .and_then(|()| rustix::io::ioctl_fionbio(shared.stdout(), true))
            .map_err(|errno| io(errno.into()))?;
        reader.prepare().map_err(io)?;
        let reader = thread::Builder::new()
            .name(format!("cgp {provider} reader"))
            .spawn(move || {
                reader.run();
                drop(alive);
            })
            .map_err(io)?;
        let (put_back, pen) = bounded(1);
        put_back.try_send(()).ok();
        Ok(Self {
            provider: provider.clone(),
            shared,
            pen,
            put_back,
            turn,
            stdin: Mutex::new(Some(Arc::new(stdin))),
            ended,
            reader: Mutex::new(Some(reader)),
            owed_limit: command.owed_limit,
        })
    }

    /// Whether it can be asked at all.
    pub(super) fn is_open(&self) -> bool {
        let state = self.shared.lock();
        state.closed.is_none() && state.told.is_none()
    }

    /// Whether we gave it up, so that a fresh one may be started.
    pub(super) fn is_retired(&self) -> bool {
        let state = self.shared.lock();
        let end = state.closed.as_ref().or(state.told.as_ref());
        end.is_some_and(|it| it.is_retired)
    }

    /// Why it is over.
    pub(super) fn closed(&self) -> Error {
        self.shared.closed_error()
    }

    pub(super) fn set_correlates(&self) {
        self.shared.lock().mux.set_correlates();
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.shared.lock().mux.owed_since().is_some()
    }

    /// How many answers came too late, and were dropped.
    pub(super) fn late(&self) -> u64 {
        self.shared.lock().mux.late()
    }

    /// How many bytes have come from its stdout.
    pub(super) fn received(&self) -> u64 {
        self.shared.received()
    }

    /// The last lines of its stderr.
    pub(super) fn stderr(&self) -> Vec<String> {
        self.shared.stderr()
    }

    /// Gives the child up if it has owed a reply for longer than the limit.
    pub(super) fn check_debt(&self) {
        let mut state = self.shared.lock();
        let Some(since) = state.mux.owed_since() else {
            return;
        };
        // On a correlating child an unpaid verify closes only `verify` while others are at work.
        let is_idle = state.mux.in_flight() == 0;
        if is_idle && monotonic_now().saturating_duration_since(since) > self.owed_limit {
            let limit = humantime::format_duration(self.owed_limit);
            let reason = format!("it owed a reply for more than {limit}");
            self.shared.tell(&mut state, End::because(reason));
        }
    }

    /// Asks with an id.
    pub(super) fn send_correlated(
        &self,
        envelope: impl FnOnce(String) -> Envelope,
        deadline: Deadline,
        may_wait: bool,
    ) -> Result<Sent> {
        let (id, reply) = self.shared.lock().mux.register();
        let line = encode(&envelope(id.clone()));
        let exchange = self.exchange(Some(id), reply, deadline);
        self.transmit(exchange, &line, deadline, may_wait)
    }

    /// Asks without an id, when it is the only such question and nothing is owed.
    pub(super) fn send_in_turn(
        &self,
        slot: Slot,
        envelope: &Envelope,
        deadline: Deadline,
        may_wait: bool,
    ) -> Result<Sent> {
        let line = encode(envelope);
        let after = deadline.remaining();
        // Half of the time for the turn, so that the other half is left for the answer.
        let patience = if may_wait {
            deadline.halfway()
        } else {
            Deadline::at(monotonic_now())
        };
        match self.turn.recv_deadline(patience.instant()) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) if !may_wait => return Ok(Sent::WouldWait),
            Err(_) if !self.is_open() => return Err(self.closed()),
            Err(_) => {
                return Err(Error::Busy {
                    provider: self.provider.clone(),
                    with: match self.is_stuck() {
                        true => Occupation::AbandonedRequest,
                        false => Occupation::AnotherRequest,
                    },
                    after: after / 2,
                });
            }
        }
        // What the child says unasked must not be taken for the answer.
        if !self.shared.wait_for_quiet(patience) {
            self.shared.lock().mux.cancel(None);
            return match (self.is_open(), may_wait) {
                (false, _) => Err(self.closed()),
                (true, false) => Ok(Sent::WouldWait),
                (true, true) => Err(self.timeout(Phase::Send, after)),
            };
        }
        let reply = self.shared.lock().mux.open(slot);
        let exchange = self.exchange(None, reply, deadline);
        self.transmit(exchange, &line, deadline, may_wait)
    }

    fn exchange(
        &self,
        id: Option<String>,
        reply: Receiver<Delivery>,
        deadline: Deadline,
    ) -> Exchange {
        Exchange {
            shared: Arc::clone(&self.shared),
            id,
            reply,
            deadline,
            after: deadline.remaining(),
            is_over: false,
        }
    }

    fn transmit(
        &self,
        mut exchange: Exchange,
        line: &[u8],
        deadline: Deadline,
        may_wait: bool,
    ) -> Result<Sent> {
        let written = if line.len() > self.shared.line_limit() {
            Err(Unwritten::TooLong)
        } else if !may_wait && line.len() > WHOLE_WRITE {
            Err(Unwritten::WouldWait)
        } else {
            let limit = if may_wait {
                deadline
            } else {
                Deadline::at(monotonic_now())
            };
            self.write(line, limit)
        };
        let failure = match written {
            Ok(()) => return Ok(Sent::Exchange(exchange)),
            Err(failure) => failure,
        };
        // Nothing was sent, or the child is given up: no reply is owed.
        exchange.is_over = true;
        self.shared.lock().mux.cancel(exchange.id.as_deref());
        match failure {
            Unwritten::WouldWait if !may_wait => Ok(Sent::WouldWait),
            Unwritten::WouldWait => Err(self.timeout(Phase::Send, exchange.after)),
            Unwritten::TooLong => Err(Error::TooLong {
                provider: self.provider.clone(),
                limit: self.shared.line_limit(),
            }),
            Unwritten::Closed => Err(self.closed()),
        }
    }

    /// Writes a line as a whole. If it cannot be finished, the child is given up: what it would
    /// read next would be half a message.
    fn write(&self, line: &[u8], deadline: Deadline) -> Result<(), Unwritten> {
        if self.pen.recv_deadline(deadline.instant()).is_err() {
            return Err(Unwritten::WouldWait);
        }
        let written = self.write_now(line, deadline);
        self.put_back.try_send(()).ok();
        written
    }

    fn write_now(&self, line: &[u8], deadline: Deadline) -> Result<(), Unwritten> {
        let stdin = {
            let stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
            stdin.clone().ok_or(Unwritten::Closed)?
        };
        let mut rest = line;
        while !rest.is_empty() {
            match rustix::io::write(&*stdin, rest) {
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    if !self.is_open() {
                        return Err(Unwritten::Closed);
                    }
                    let left = deadline.remaining();
                    if left.is_zero() {
                        if rest.len() == line.len() {
                            return Err(Unwritten::WouldWait);
                        }
                        let reason = "it stopped reading in the middle of a request";
                        self.shared
                            .tell(&mut self.shared.lock(), End::because(reason));
                        return Err(Unwritten::WouldWait);
                    }
                    // Woken now and then, to notice that the child is gone.
                    let left = left.min(Duration::from_millis(100));
                    ready::wait_for(stdin.as_fd(), PollFlags::OUT, left);
                }
                Err(_) => {
                    // It closed its stdin. If it is about to end, the reader knows how.
                    let grace = Deadline::after(Duration::from_millis(300)).min(deadline);
                    if self.ended.recv_deadline(grace.instant()) == Err(RecvTimeoutError::Timeout) {
                        let end = End {
                            is_retired: false,
                            ..End::because("it closed its stdin")
                        };
                        self.shared.tell(&mut self.shared.lock(), end);
                    }
                    return Err(Unwritten::Closed);
                }
            }
        }
        Ok(())
    }

    fn timeout(&self, phase: Phase, after: Duration) -> Error {
        Error::Timeout {
            provider: self.provider.clone(),
            phase,
            after,
        }
    }

    /// Writes a line as it is; for tools that test providers.
    pub(super) fn write_raw(&self, line: &[u8], deadline: Deadline) -> Result<()> {
        let after = deadline.remaining();
        self.write(line, deadline).map_err(|failure| match failure {
            Unwritten::Closed => self.closed(),
            _ => self.timeout(Phase::Send, after),
        })
    }

    /// Tells the reader that there is room for raw lines again.
    pub(super) fn wake(&self) {
        self.shared.wake();
    }

    /// Closes its stdin once nobody writes; at the deadline in any case.
    pub(super) fn close_stdin(&self, deadline: Deadline) {
        let has_pen = self.pen.recv_deadline(deadline.instant()).is_ok();
        let stdin = self
            .stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(stdin);
        if has_pen {
            self.put_back.try_send(()).ok();
        }
    }

    /// Says `shutdown`, closes stdin, and waits for the child to end; by the deadline it is made to.
    ///
    /// # Errors
    ///
    /// If it had to be made to.
    pub(super) fn shutdown(&self, deadline: Deadline) -> Result<()> {
        let after = deadline.remaining();
        let was_open = self.is_open();
        if was_open && !after.is_zero() {
            // A full pipe must not keep us: half of the grace is for saying so.
            self.write(&encode(&Envelope::Shutdown), deadline.halfway())
                .ok();
            self.close_stdin(deadline.halfway());
            self.ended.recv_deadline(deadline.instant()).ok();
        }
        {
            let mut state = self.shared.lock();
            let end = End {
                reason: "it was shut down".to_owned(),
                is_hasty: after.is_zero(),
                ..End::default()
            };
            self.shared.tell(&mut state, end);
        }
        let reader = self
            .reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(reader) = reader {
            // It is told; it ends within the limits that it keeps itself.
            reader.join().ok();
            if was_open && self.shared.was_forced() && !after.is_zero() {
                return Err(self.timeout(Phase::Shutdown, after));
            }
        }
        Ok(())
    }
}

/// Why a line was not written.
enum Unwritten {
    WouldWait,
    TooLong,
    Closed,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shutdown(Deadline::at(monotonic_now())).ok();
    }
}

impl Exchange {
    /// Waits for the line that answers.
    pub(super) fn wait(mut self) -> Result<Vec<u8>> {
        let provider = self.shared.provider().clone();
        match self.receive() {
            Some(Delivery::Line(line)) => Ok(line),
            Some(Delivery::TooLong) => Err(Error::TooLong {
                provider,
                limit: self.shared.line_limit(),
            }),
            Some(Delivery::OtherId(got)) => Err(Error::Correlation {
                provider,
                expected: self.id.clone().unwrap_or_default(),
                got,
            }),
            None if self.is_over => Err(self.shared.closed_error()),
            None => Err(Error::Timeout {
                provider,
                phase: Phase::Reply,
                after: self.after,
            }),
        }
    }

    /// What came; over and nothing if nothing will come, nothing alone if the time is up.
    fn receive(&mut self) -> Option<Delivery> {
        let received = match self.reply.recv_deadline(self.deadline.instant()) {
            Err(RecvTimeoutError::Timeout) => {
                let mut state = self.shared.lock();
                // It may have come between the deadline and the lock.
                match self.reply.try_recv() {
                    Ok(delivery) => Ok(delivery),
                    Err(crossbeam_channel::TryRecvError::Disconnected) => {
                        Err(RecvTimeoutError::Disconnected)
                    }
                    Err(crossbeam_channel::TryRecvError::Empty) => {
                        state
                            .mux
                            .abandon(self.id.as_deref(), self.deadline.instant());
                        return None;
                    }
                }
            }
            other => other,
        };
        self.is_over = true;
        received.ok()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = self.shared.lock();
            state.mux.abandon(self.id.as_deref(), monotonic_now());
        }
    }
}
