//! A provider as a child process: messages on stdin, answers on stdout (R1, R2).
//!
//! Stdout belongs to the protocol: whatever else a provider prints there, with `println!` say,
//! reaches the host as a line that is no message. Diagnostics go to stderr.

use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::codec::lines::{LINE_LIMIT, Line, LineBuffer, is_blank};
use crate::codec::{Decoded, Malformed, decode, encode};
use crate::provider::ContextProvider;
use crate::provider::answer::{Answer, answer};
use crate::wire::envelope::Envelope;
use crate::wire::error_code::ErrorCode;

/// Serves a provider on this process's stdin and stdout until the host says `shutdown` or goes
/// away: what the `main` of a provider calls.
///
/// Questions are answered one after the other; for more see [`Serve`]. Nothing that comes in
/// ends it early: what cannot be read is answered `bad_request`, and a panic `internal`.
///
/// ```no_run
/// # use contextgraph_sync::provider::{ContextProvider, ProviderError};
/// # use contextgraph_sync::wire::{Capabilities, ContextQuery, ContextQueryResult, ProviderInfo};
/// # struct Invoices;
/// # impl ContextProvider for Invoices {
/// #     fn info(&self) -> ProviderInfo { ProviderInfo::local("invoices", "1") }
/// #     fn capabilities(&self) -> Capabilities { Capabilities::default() }
/// #     fn query(&self, _: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
/// #         Ok(ContextQueryResult::default())
/// #     }
/// # }
/// fn main() -> std::io::Result<()> {
///     contextgraph_sync::provider::serve_stdio(&Invoices)
/// }
/// ```
///
/// # Errors
///
/// If stdin cannot be read or stdout not be written. A host that closed its end is no error.
pub fn serve_stdio(provider: &impl ContextProvider) -> io::Result<()> {
    Serve::default().stdio(provider)
}

/// How a provider is served over a pair of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// How many questions may be answered at the same time. With more than one the provider
    /// is called from several threads, and answers go out as they are ready; only questions
    /// with an id, from a host that correlates, are answered so. 1.
    pub workers: NonZeroUsize,
    /// The longest line that is read or written, in bytes. 16 MiB.
    pub line_limit: usize,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            workers: NonZeroUsize::MIN,
            line_limit: LINE_LIMIT,
        }
    }
}

impl Serve {
    /// Serves on this process's stdin and stdout.
    ///
    /// # Errors
    ///
    /// As [`serve_stdio`].
    pub fn stdio(self, provider: &impl ContextProvider) -> io::Result<()> {
        self.serve(provider, io::stdin().lock(), io::stdout())
    }

    /// Serves on any pair of streams until `shutdown`, the end of input, or a closed output.
    /// Then every answer has been written, and the provider's `shutdown` has been called.
    ///
    /// # Errors
    ///
    /// If `input` cannot be read or `output` not be written, a broken pipe excepted.
    pub fn serve(
        self,
        provider: &impl ContextProvider,
        input: impl Read,
        output: impl Write + Send,
    ) -> io::Result<()> {
        let output = Output {
            stream: Mutex::new(output),
            failed: Mutex::new(None),
            limit: self.line_limit,
        };
        let read = if self.workers.get() == 1 {
            read_lines(input, self.line_limit, |message| {
                output.answer(provider, message)
            })
        } else {
            self.with_pool(provider, input, &output)
        };
        if catch_unwind(AssertUnwindSafe(|| provider.shutdown())).is_err() {
            log::warn!("the provider panicked while it was shut down");
        }
        let failed = output.failed.into_inner();
        match failed.unwrap_or_else(PoisonError::into_inner) {
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(error) => Err(error),
            None => read,
        }
    }

    /// Questions with an id go to the workers, everything else is answered in between.
    fn with_pool(
        self,
        provider: &impl ContextProvider,
        input: impl Read,
        output: &Output<impl Write + Send>,
    ) -> io::Result<()> {
        // A full queue holds the reader back: a flood of questions stays in the pipe.
        let (questions, queue): (Sender<Decoded>, Receiver<Decoded>) = bounded(self.workers.get());
        thread::scope(|scope| {
            for number in 0..self.workers.get() {
                let queue = queue.clone();
                let work = move || {
                    for question in queue {
                        if output.answer(provider, question).is_break() {
                            break;
                        }
                    }
                };
                thread::Builder::new()
                    .name(format!("cgp answer {number}"))
                    .spawn_scoped(scope, work)?;
            }
            drop(queue);
            let read = read_lines(input, self.line_limit, |message| {
                let is_question = matches!(
                    message,
                    Decoded::Envelope {
                        envelope: Envelope::Query { id: Some(_), .. },
                        ..
                    }
                );
                if !is_question {
                    return output.answer(provider, message);
                }
                // No worker is left only if the output is closed.
                match questions.send(message) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            // The queue closes here; the scope ends when the last answer is written.
            drop(questions);
            read
        })
    }
}

/// Reads messages until `each` breaks or the input ends. Blank lines are no messages.
fn read_lines(
    mut input: impl Read,
    limit: usize,
    mut each: impl FnMut(Decoded) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut lines = LineBuffer::new(limit);
    let mut chunk = vec![0; 8 << 10];
    let mut line = |line: Line<'_>| match line {
        Line::Whole(line) if is_blank(line) => ControlFlow::Continue(()),
        Line::Whole(line) => {
            log::trace!("< {}", String::from_utf8_lossy(line));
            each(decode(line))
        }
        Line::TooLong { bytes, .. } => each(Decoded::Malformed(Malformed {
            kind: None,
            id: None,
            member: String::new(),
            reason: format!("a line of {bytes} bytes is over the limit of {limit}"),
        })),
    };
    loop {
        let flow = match input.read(&mut chunk) {
            Ok(0) => {
                let _ = lines.finish(&mut line);
                return Ok(());
            }
            Ok(n) => lines.push(&chunk[..n], &mut line),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if flow.is_break() {
            return Ok(());
        }
    }
}

/// Where answers go, from any thread, one whole line at a time.
struct Output<W> {
    stream: Mutex<W>,
    /// Why no more can be written.
    failed: Mutex<Option<io::Error>>,
    limit: usize,
}

impl<W: Write> Output<W> {
    /// Answers a message; breaks if that was the last.
    fn answer(&self, provider: &impl ContextProvider, message: Decoded) -> ControlFlow<()> {
        match answer(provider, message) {
            Answer::Reply(envelope) => self.write(&envelope),
            Answer::Silence => ControlFlow::Continue(()),
            Answer::End => ControlFlow::Break(()),
        }
    }

    fn write(&self, envelope: &Envelope) -> ControlFlow<()> {
        let mut line = encode(envelope);
        if line.len() > self.limit {
            let message = format!(
                "the answer has {} bytes, over the limit of {} for a line",
                line.len(),
                self.limit
            );
            line = encode(&Envelope::Error {
                id: envelope.id().cloned(),
                code: Some(ErrorCode::Internal),
                message,
            });
        }
        log::trace!("> {}", String::from_utf8_lossy(&line).trim_end());
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        match stream.write_all(&line).and_then(|()| stream.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                // The first one is the reason, whatever follows from it.
                failed.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    }
}
