//! An in-process provider on a thread of its own.
//!
//! A `query` that never returns costs its own worker and nobody else: the caller's wait ends
//! at its deadline, and the next caller is told that the provider is busy. Nothing in Rust can
//! end a thread from outside, so a worker that hangs is left behind, counted and reported.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::clock::Deadline;
use crate::error::{Error, LastWords, Occupation, Phase, Result};
use crate::provider::{ContextProvider, ProviderError};
use crate::transport::{Peer, Pending, Reply, Request, Started, Transport};
use crate::wire::identity::ProviderId;
use crate::wire::version::PROTOCOL_VERSION;

/// Workers that were left behind in this process and still run.
static LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);

/// How many workers of in-process providers were left behind because they did not come back,
/// and still run. Zero unless a provider hangs.
#[must_use]
pub fn workers_left_behind() -> usize {
    LEFT_BEHIND.load(Ordering::Relaxed)
}

/// A provider in this process.
pub struct Local {
    provider: ProviderId,
    peer: Arc<Peer>,
    /// Holds the one token while the worker is free. Whoever takes it may hand over a job; the
    /// worker puts it back when the job is done, however long its caller waited.
    turn: Receiver<()>,
    jobs: Mutex<Option<Sender<Job>>>,
    /// Disconnected when the worker has ended.
    ended: Receiver<()>,
    worker: Mutex<Option<JoinHandle<()>>>,
    shared: Arc<Shared>,
}

/// What the worker and its callers tell each other beside jobs and replies.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the request that was handed over last, from 1.
    current: AtomicU64,
    /// The number of the last request whose caller has given up.
    abandoned: AtomicU64,
    /// The transport was dropped while the worker was still at it.
    is_left_behind: AtomicBool,
}

impl Shared {
    /// Whether the request that was handed over last has no caller any more.
    fn is_abandoned(&self) -> bool {
        let current = self.current.load(Ordering::Relaxed);
        current == self.abandoned.load(Ordering::Relaxed) && current > 0
    }
}

enum Job {
    Hello(Sender<Result<Peer>>),
    Call(Request, Sender<Result<Reply>>),
}

/// How long dropping a provider waits for its `shutdown`, if it is idle at all.
const DROP_GRACE: Duration = Duration::from_millis(500);

impl Local {
    /// Starts the worker and asks the provider who it is.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] if the provider does not say who it is by `deadline`,
    /// [`Error::Panicked`] if it panics, [`Error::Io`] if no thread can be started.
    pub fn open(
        provider: ProviderId,
        implementation: impl ContextProvider,
        deadline: Deadline,
    ) -> Result<Self> {
        let after = deadline.remaining();
        let (jobs, job_queue) = bounded(1);
        let (give_back, turn) = bounded(1);
        let (alive, ended) = bounded::<()>(0);
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            provider: provider.clone(),
            implementation,
            give_back,
            shared: Arc::clone(&shared),
            _alive: alive,
        };
        let handle = thread::Builder::new()
            .name(format!("cgp {provider} worker"))
            .spawn(move || worker.run(&job_queue))
            .map_err(|source| Error::Io {
                provider: provider.clone(),
                source,
            })?;

        let (reply, hello) = bounded(1);
        let mut local = Self {
            peer: Arc::new(Peer {
                protocol_version: PROTOCOL_VERSION.to_owned(),
                info: Default::default(),
                capabilities: Default::default(),
                attester_keys: Vec::new(),
                notes: Vec::new(),
            }),
            provider,
            turn,
            jobs: Mutex::new(Some(jobs)),
            ended,
            worker: Mutex::new(Some(handle)),
            shared,
        };
        local.send(Job::Hello(reply))?;
        local.peer = Arc::new(local.receive(&hello, deadline, Phase::Handshake, after)?);
        Ok(local)
    }

    fn send(&self, job: Job) -> Result<()> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // The queue has room for one job and only the holder of the turn sends: this never waits.
        match jobs.as_ref().map(|jobs| jobs.send(job).is_ok()) {
            Some(true) => Ok(()),
            Some(false) | None => Err(self.closed()),
        }
    }

    fn receive<T>(
        &self,
        reply: &Receiver<Result<T>>,
        deadline: Deadline,
        phase: Phase,
        after: Duration,
    ) -> Result<T> {
        match reply.recv_deadline(deadline.instant()) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(Error::Timeout {
                provider: self.provider.clone(),
                phase,
                after,
            }),
            Err(RecvTimeoutError::Disconnected) => Err(self.closed()),
        }
    }

    fn closed(&self) -> Error {
        Error::Closed {
            provider: self.provider.clone(),
            last_words: LastWords {
                reason: "it was shut down".to_owned(),
                ..LastWords::default()
            },
        }
    }

    fn is_closed(&self) -> bool {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.is_none()
    }

    /// Hands a request over; the turn has been taken.
    fn hand_over(&self, request: &Request, deadline: Deadline) -> Result<Exchange<'_>> {
        let (sender, reply) = bounded(1);
        let number = self.shared.current.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(Job::Call(request.clone(), sender))?;
        Ok(Exchange {
            local: self,
            number,
            reply,
            deadline,
            after: deadline.remaining(),
            is_over: false,
        })
    }

    fn busy(&self, after: Duration) -> Error {
        let with = if self.shared.is_abandoned() {
            Occupation::AbandonedRequest
        } else {
            Occupation::AnotherRequest
        };
        Error::Busy {
            provider: self.provider.clone(),
            with,
            after,
        }
    }

    /// Takes no more jobs, and waits for the worker to finish what it has.
    fn close(&self, deadline: Deadline) -> Result<()> {
        let after = deadline.remaining();
        drop(
            self.jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        if let Err(RecvTimeoutError::Timeout) = self.ended.recv_deadline(deadline.instant()) {
            return Err(Error::Timeout {
                provider: self.provider.clone(),
                phase: Phase::Shutdown,
                after,
            });
        }
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.take().map(JoinHandle::join) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(panic)) => Err(Error::panicked(&self.provider, &*panic)),
        }
    }
}

impl Transport for Local {
    fn connected(&self) -> Option<Arc<Peer>> {
        Some(Arc::clone(&self.peer))
    }

    fn connect(&self, _deadline: Deadline) -> Result<Arc<Peer>> {
        Ok(Arc::clone(&self.peer))
    }

    fn start<'a>(
        &'a self,
        _peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Started<'a>> {
        if self.is_closed() {
            return Err(self.closed());
        }
        match self.turn.try_recv() {
            Ok(()) => Ok(Started::Pending(Box::new(
                self.hand_over(request, deadline)?,
            ))),
            Err(_) => Ok(Started::WouldWait),
        }
    }

    fn call(
        &self,
        _peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Option<Reply>> {
        if self.is_closed() {
            return Err(self.closed());
        }
        // Half of the time for the turn, so that the other half is left for the answer.
        let after = deadline.remaining();
        match self.turn.recv_deadline(deadline.halfway().instant()) {
            Ok(()) => Box::new(self.hand_over(request, deadline)?)
                .wait()
                .map(Some),
            Err(RecvTimeoutError::Timeout) => Err(self.busy(after / 2)),
            Err(RecvTimeoutError::Disconnected) => Err(self.closed()),
        }
    }

    fn is_stuck(&self) -> bool {
        self.turn.is_empty() && self.shared.is_abandoned()
    }

    fn shutdown(&self, deadline: Deadline) -> Result<()> {
        self.close(deadline)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let grace = if self.turn.is_empty() {
            Duration::ZERO
        } else {
            DROP_GRACE
        };
        if self.close(Deadline::after(grace)).is_ok() {
            return;
        }
        LEFT_BEHIND.fetch_add(1, Ordering::Relaxed);
        self.shared.is_left_behind.store(true, Ordering::Release);
        // Between the last look and the store it may have ended: then nobody else counts it off.
        if self
            .ended
            .recv_deadline(Deadline::after(Duration::ZERO).instant())
            != Err(RecvTimeoutError::Timeout)
            && self.shared.is_left_behind.swap(false, Ordering::AcqRel)
        {
            LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        log::warn!(
            "provider `{}` does not come back: its worker is left behind",
            self.provider
        );
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("provider", &self.provider)
            .field("info", &self.peer.info)
            .finish_non_exhaustive()
    }
}

/// A request that the worker has.
struct Exchange<'a> {
    local: &'a Local,
    number: u64,
    reply: Receiver<Result<Reply>>,
    deadline: Deadline,
    after: Duration,
    is_over: bool,
}

impl Pending for Exchange<'_> {
    fn wait(mut self: Box<Self>) -> Result<Reply> {
        let result = self
            .local
            .receive(&self.reply, self.deadline, Phase::Reply, self.after);
        self.is_over = !matches!(result, Err(Error::Timeout { .. }));
        result
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let abandoned = &self.local.shared.abandoned;
            abandoned.store(self.number, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("provider", &self.local.provider)
            .finish_non_exhaustive()
    }
}

/// What runs on the provider's own thread.
struct Worker<P> {
    provider: ProviderId,
    implementation: P,
    give_back: Sender<()>,
    shared: Arc<Shared>,
    _alive: Sender<()>,
}

impl<P: ContextProvider> Worker<P> {
    fn run(self, jobs: &Receiver<Job>) {
        for job in jobs {
            match job {
                Job::Hello(reply) => self.answer(&reply, self.guarded(|it| Ok(hello(it)))),
                Job::Call(request, reply) => {
                    let result = self.guarded(|it| call(it, &request));
                    self.answer(&reply, result);
                }
            }
        }
        if let Err(error) = self.guarded(|it| {
            it.shutdown();
            Ok(())
        }) {
            log::warn!("{error}");
        }
        if self.shared.is_left_behind.swap(false, Ordering::AcqRel) {
            LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives the turn back, then the answer: a caller that has it may ask again at once.
    fn answer<T>(&self, reply: &Sender<Result<T>>, result: Result<T>) {
        // There is one token and we have it, so there is room. A caller that has given up has
        // dropped its end, and the answer goes with it.
        self.give_back.try_send(()).ok();
        reply.try_send(result).ok();
    }

    /// Runs a method of the provider; a panic in it is an error like any other.
    fn guarded<T>(&self, method: impl FnOnce(&P) -> Result<T, ProviderError>) -> Result<T> {
        let provider = self.provider.clone();
        match catch_unwind(AssertUnwindSafe(|| method(&self.implementation))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Error::Refused {
                provider,
                code: Some(error.code),
                message: error.message,
            }),
            Err(panic) => Err(Error::panicked(&provider, &*panic)),
        }
    }
}

fn call(provider: &impl ContextProvider, request: &Request) -> Result<Reply, ProviderError> {
    let notes = Vec::new();
    match request {
        Request::Query(query) => {
            let result = provider.query(query)?;
            Ok(Reply::Frames { result, notes })
        }
        Request::Verify(request) => {
            let response = provider.verify(request)?;
            Ok(Reply::Verified { response, notes })
        }
    }
}

fn hello(provider: &impl ContextProvider) -> Peer {
    Peer {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        info: provider.info(),
        capabilities: provider.capabilities(),
        attester_keys: Vec::new(),
        notes: Vec::new(),
    }
}
