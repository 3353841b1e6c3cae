//! The child that is asked now: none yet, one that is starting, one that runs, or one that is
//! gone and why.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use crate::clock::{Deadline, monotonic_now};
use crate::codec::{Decoded, decode};
use crate::error::{Error, LastWords, Occupation, Result};
use crate::transport::stdio::connection::{Connection, Exchange, Sent};
use crate::transport::stdio::mux::Slot as Turn;
use crate::transport::stdio::{Restart, StdioCommand};
use crate::transport::{Peer, Pending, Reply, Request, Started, Transport};
use crate::wire::envelope::Envelope;
use crate::wire::identity::{ProviderId, RequestId};

/// How long a child may take to say who it is unless told otherwise.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A child that lived so long has proved itself, and its pauses start anew.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// The longest pause between two starts.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// A provider that runs as a child process.
pub struct Stdio {
    shared: Arc<Shared>,
}

struct Shared {
    provider: ProviderId,
    command: StdioCommand,
    state: Mutex<State>,
}

struct State {
    child: Child,
    /// When the last start began, and how many short lives came one after the other.
    last_start: Option<Instant>,
    short_lives: u32,
    /// The thread of the last start, to be joined.
    starter: Option<JoinHandle<()>>,
}

enum Child {
    None,
    Starting {
        /// Disconnected when the start is over.
        over: Receiver<()>,
        /// There as soon as the process is, so that it can be ended.
        connection: Option<Arc<Connection>>,
    },
    Running(Arc<Connection>, Arc<Peer>),
    /// The start failed; the first who asks gets the error itself.
    Failed(Option<Error>, LastWords),
    ShutDown,
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("provider", &self.shared.provider)
            .field("command", &self.shared.command)
            .finish_non_exhaustive()
    }
}

impl Stdio {
    /// A transport to a child that is started by the first [`connect`](Transport::connect).
    #[must_use]
    pub fn new(provider: ProviderId, command: StdioCommand) -> Self {
        Self {
            shared: Arc::new(Shared {
                provider,
                command,
                state: Mutex::new(State {
                    child: Child::None,
                    last_start: None,
                    short_lives: 0,
                    starter: None,
                }),
            }),
        }
    }

    /// How many answers came after their callers had given up, and were dropped.
    #[must_use]
    pub fn late_replies(&self) -> u64 {
        match &self.shared.lock().child {
            Child::Running(connection, _) => connection.late(),
            _ => 0,
        }
    }

    /// The last lines that the child wrote to its stderr.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        match &self.shared.lock().child {
            Child::Running(connection, _) => connection.stderr(),
            _ => Vec::new(),
        }
    }

    fn limited(&self, deadline: Deadline) -> Deadline {
        match self.shared.command.call_timeout {
            Some(limit) => deadline.min(Deadline::after(limit)),
            None => deadline,
        }
    }

    /// Hands a request to `peer`; none if it is not the one that runs.
    fn ask(
        &self,
        peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
        may_wait: bool,
    ) -> Result<Option<Asking>> {
        let Some(connection) = self.running(peer) else {
            return Ok(None);
        };
        let sent = send(&connection, peer, request, self.limited(deadline), may_wait)?;
        Ok(Some(match sent {
            Sent::WouldWait => Asking::WouldWait,
            Sent::Exchange(exchange) => Asking::Asked(Asked {
                provider: self.shared.provider.clone(),
                wanted: wanted(request),
                exchange,
                _connection: connection,
            }),
        }))
    }

    /// The running child, if `peer` is what it said in its handshake.
    fn running(&self, peer: &Arc<Peer>) -> Option<Arc<Connection>> {
        match &self.shared.lock().child {
            Child::Running(connection, its) if Arc::ptr_eq(its, peer) => {
                Some(Arc::clone(connection))
            }
            _ => None,
        }
    }
}

impl Transport for Stdio {
    fn connected(&self) -> Option<Arc<Peer>> {
        match &self.shared.lock().child {
            Child::Running(connection, peer) if connection.is_open() => Some(Arc::clone(peer)),
            _ => None,
        }
    }

    fn connect(&self, deadline: Deadline) -> Result<Arc<Peer>> {
        let after = deadline.remaining();
        loop {
            let over = match self.shared.look()? {
                Look::Running(peer) => return Ok(peer),
                Look::Starting(over) => over,
            };
            if over.recv_deadline(deadline.instant()) == Err(RecvTimeoutError::Timeout) {
                return Err(Error::Busy {
                    provider: self.shared.provider.clone(),
                    with: Occupation::Starting,
                    after,
                });
            }
        }
    }

    fn start<'a>(
        &'a self,
        peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Started<'a>> {
        Ok(match self.ask(peer, request, deadline, false)? {
            None => Started::OtherPeer,
            Some(Asking::WouldWait) => Started::WouldWait,
            Some(Asking::Asked(asked)) => Started::Pending(Box::new(asked)),
        })
    }

    fn call(
        &self,
        peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Option<Reply>> {
        match self.ask(peer, request, deadline, true)? {
            None | Some(Asking::WouldWait) => Ok(None),
            Some(Asking::Asked(asked)) => Box::new(asked).wait().map(Some),
        }
    }

    fn is_stuck(&self) -> bool {
        match &self.shared.lock().child {
            Child::Running(connection, _) => connection.is_stuck(),
            _ => false,
        }
    }

    fn shutdown(&self, deadline: Deadline) -> Result<()> {
        let (child, starter) = {
            let mut state = self.shared.lock();
            let child = std::mem::replace(&mut state.child, Child::ShutDown);
            (child, state.starter.take())
        };
        let result = match &child {
            Child::Running(connection, _) => connection.shutdown(deadline),
            Child::Starting {
                connection: Some(connection),
                ..
            } => connection.shutdown(Deadline::at(monotonic_now())),
            _ => Ok(()),
        };
        if let Some(starter) = starter {
            // Its child is gone or about to be, so its handshake is over.
            starter.join().ok();
        }
        result
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.shutdown(Deadline::at(monotonic_now())).ok();
    }
}

enum Look {
    Running(Arc<Peer>),
    Starting(Receiver<()>),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single assignment: nothing is left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_gone(&self, last_words: LastWords) -> Error {
        Error::Closed {
            provider: self.provider.clone(),
            last_words,
        }
    }

    /// What there is, and a start where one is due.
    fn look(self: &Arc<Self>) -> Result<Look> {
        let mut state = self.lock();
        match &mut state.child {
            Child::Running(connection, peer) => {
                connection.check_debt();
                if connection.is_open() {
                    return Ok(Look::Running(Arc::clone(peer)));
                }
                let connection = Arc::clone(connection);
                if !connection.is_retired() && !self.may_restart(&state) {
                    return Err(connection.closed());
                }
            }
            Child::Starting { over, .. } => return Ok(Look::Starting(over.clone())),
            Child::None => {}
            Child::Failed(error, last_words) => {
                if let Some(error) = error.take() {
                    return Err(error);
                }
                let last_words = last_words.clone();
                if !self.may_restart(&state) {
                    return Err(self.is_gone(last_words));
                }
            }
            Child::ShutDown => {
                return Err(self.is_gone(LastWords {
                    reason: "it was shut down".to_owned(),
                    ..LastWords::default()
                }));
            }
        }
        self.begin(&mut state).map(Look::Starting)
    }

    /// Whether the policy allows another start now.
    fn may_restart(&self, state: &State) -> bool {
        let Restart::After(first) = self.command.restart else {
            return false;
        };
        let pause = first
            .checked_mul(1 << state.short_lives.min(20))
            .unwrap_or(LONGEST_PAUSE)
            .min(LONGEST_PAUSE);
        let since = state
            .last_start
            .map(|it| monotonic_now().saturating_duration_since(it));
        since.is_none_or(|it| it >= pause)
    }

    /// Starts a child on a thread of its own: the start has its own limit, which is not that of
    /// the caller who happens to need it.
    fn begin(self: &Arc<Self>, state: &mut State) -> Result<Receiver<()>> {
        let now = monotonic_now();
        let life = state.last_start.map(|it| now.saturating_duration_since(it));
        state.short_lives = match life {
            Some(life) if life < LONG_LIFE => state.short_lives + 1,
            _ => 0,
        };
        let (done, over) = bounded::<()>(0);
        let starting = Child::Starting {
            over: over.clone(),
            connection: None,
        };
        let before = std::mem::replace(&mut state.child, starting);
        let starter = state.starter.take();
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new()
            .name(format!("cgp {} start", self.provider))
            .spawn(move || {
                // What ran before is ended first; no two children of one provider at a time.
                drop(before);
                if let Some(starter) = starter {
                    starter.join().ok();
                }
                shared.start();
                drop(done);
            });
        state.last_start = Some(now);
        match spawned {
            Ok(starter) => {
                state.starter = Some(starter);
                Ok(over)
            }
            Err(source) => {
                state.child = Child::None;
                Err(Error::Io {
                    provider: self.provider.clone(),
                    source,
                })
            }
        }
    }

    fn start(&self) {
        let limit = self.command.handshake_timeout.unwrap_or(HANDSHAKE_TIMEOUT);
        let deadline = Deadline::after(limit);
        let result = Connection::open(&self.provider, &self.command, None).and_then(|opened| {
            let opened = Arc::new(opened);
            match &mut self.lock().child {
                Child::Starting { connection, .. } => *connection = Some(Arc::clone(&opened)),
                // Shut down meanwhile: the handshake would wait for nobody.
                _ => return Err(opened.closed()),
            }
            let peer = shake_hands(&self.provider, &opened, deadline, limit)?;
            Ok((opened, Arc::new(peer)))
        });
        let next = match result {
            Ok((connection, peer)) => Child::Running(connection, peer),
            Err(error) => {
                let last_words = LastWords {
                    reason: format!("it could not be started: {error}"),
                    ..LastWords::default()
                };
                Child::Failed(Some(error), last_words)
            }
        };
        let mut state = self.lock();
        let before = match state.child {
            Child::Starting { .. } => std::mem::replace(&mut state.child, next),
            _ => next,
        };
        drop(state);
        // Ending a child takes a moment, and is not done under the lock.
        drop(before);
    }
}

fn shake_hands(
    provider: &ProviderId,
    connection: &Connection,
    deadline: Deadline,
    limit: Duration,
) -> Result<Peer> {
    let hello = Envelope::handshake();
    let sent = connection.send_in_turn(Turn::Handshake, &hello, deadline, true)?;
    let Sent::Exchange(exchange) = sent else {
        return Err(connection.closed());
    };
    let line = exchange.wait().map_err(|error| match error {
        Error::Timeout { provider, .. } => Error::NoHandshake {
            provider,
            after: limit,
            received: connection.received(),
            stderr: connection.stderr(),
        },
        error => error,
    })?;
    match decode(&line) {
        Decoded::Envelope {
            envelope:
                Envelope::HandshakeAck {
                    protocol_version,
                    provider: info,
                    capabilities,
                    attester_keys,
                },
            notes,
        } => {
            if capabilities.correlation {
                connection.set_correlates();
            }
            Ok(Peer {
                protocol_version,
                info,
                capabilities,
                attester_keys,
                notes,
            })
        }
        other => Err(not_wanted(provider, "handshake_ack", other, &line)),
    }
}

fn send(
    connection: &Connection,
    peer: &Peer,
    request: &Request,
    deadline: Deadline,
    may_wait: bool,
) -> Result<Sent> {
    if !connection.is_open() {
        return Err(connection.closed());
    }
    match request {
        Request::Query(query) if peer.capabilities.correlation => {
            let envelope = |id: String| Envelope::Query {
                id: Some(RequestId::from(id)),
                query: query.clone(),
            };
            connection.send_correlated(envelope, deadline, may_wait)
        }
        Request::Query(query) => {
            let envelope = Envelope::Query {
                id: None,
                query: query.clone(),
            };
            connection.send_in_turn(Turn::Query, &envelope, deadline, may_wait)
        }
        Request::Verify(request) => {
            let envelope = Envelope::Verify {
                id: None,
                request: request.clone(),
            };
            connection.send_in_turn(Turn::Verify, &envelope, deadline, may_wait)
        }
    }
}

fn wanted(request: &Request) -> &'static str {
    match request {
        Request::Query(_) => "frames",
        Request::Verify(_) => "verified",
    }
}

enum Asking {
    Asked(Asked),
    WouldWait,
}

/// A request on its way to a child.
#[derive(Debug)]
struct Asked {
    provider: ProviderId,
    wanted: &'static str,
    exchange: Exchange,
    /// Kept alive: a fresh child does not end the one that is still being waited for.
    _connection: Arc<Connection>,
}

impl Pending for Asked {
    fn wait(self: Box<Self>) -> Result<Reply> {
        let Self {
            provider,
            wanted,
            exchange,
            _connection,
        } = *self;
        let line = exchange.wait()?;
        match decode(&line) {
            Decoded::Envelope {
                envelope: Envelope::Frames { result, .. },
                notes,
            } if wanted == "frames" => Ok(Reply::Frames { result, notes }),
            Decoded::Envelope {
                envelope: Envelope::Verified { response, .. },
                notes,
            } if wanted == "verified" => Ok(Reply::Verified { response, notes }),
            other => Err(not_wanted(&provider, wanted, other, &line)),
        }
    }
}

/// Something else came; an error is the provider's own answer.
fn not_wanted(provider: &ProviderId, wanted: &'static str, got: Decoded, line: &[u8]) -> Error {
    let provider = provider.clone();
    match got {
        Decoded::Envelope {
            envelope: Envelope::Error { code, message, .. },
            ..
        } => Error::Refused {
            provider,
            code,
            message,
        },
        Decoded::Envelope { envelope, .. } => Error::Unexpected {
            provider,
            wanted,
            got: envelope.kind().to_owned(),
        },
        Decoded::Unknown { kind, .. } => Error::Unexpected {
            provider,
            wanted,
            got: kind,
        },
        Decoded::Malformed(malformed) => {
            let names = ["NaN", "Infinity"];
            let is_in = |name: &&str| line.windows(name.len()).any(|it| it == name.as_bytes());
            let hint = match names.iter().find(|it| is_in(it)) {
                Some(name) => format!("; it holds {name}, which is not JSON"),
                None => String::new(),
            };
            Error::Malformed {
                provider,
                reason: format!("{malformed}{hint}"),
            }
        }
    }
}
