//! A child spoken to line by line, for tools that test providers and for tests.

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use crate::clock::Deadline;
use crate::codec::encode;
use crate::error::{Error, Phase, Result};
use crate::transport::stdio::StdioCommand;
use crate::transport::stdio::connection::Connection;
use crate::transport::stdio::shared::RAW_ROOM;
use crate::wire::envelope::Envelope;
use crate::wire::identity::ProviderId;

/// A child process, its lines in and its lines out, nothing interpreted.
///
/// Lines that nobody takes stay in the pipe once a few are kept, so a flood costs no memory.
///
/// ```no_run
/// use std::time::Duration;
/// use contextgraph_sync::clock::Deadline;
/// use contextgraph_sync::transport::stdio::{RawConnection, StdioCommand};
///
/// let raw = RawConnection::open("probe", &StdioCommand::new("./provider"))?;
/// let deadline = Deadline::after(Duration::from_secs(5));
/// raw.send_line(b"{\"type\":\"handshake\",\"protocol_version\":\"contextgraph/1.0\"}", deadline)?;
/// let ack = raw.receive_line(deadline)?;
/// # Ok::<(), contextgraph_sync::Error>(())
/// ```
#[derive(Debug)]
pub struct RawConnection {
    provider: ProviderId,
    connection: Connection,
    lines: Receiver<Vec<u8>>,
}

impl RawConnection {
    /// Starts the child and says nothing. Dropping it ends the child.
    ///
    /// # Errors
    ///
    /// [`Error::Spawn`] if it cannot be started.
    pub fn open(provider: impl Into<ProviderId>, command: &StdioCommand) -> Result<Self> {
        let provider = provider.into();
        let (sender, lines) = bounded(RAW_ROOM);
        Ok(Self {
            connection: Connection::open(&provider, command, Some(sender))?,
            provider,
            lines,
        })
    }

    /// Writes a message.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] if the child does not read, [`Error::Closed`] if it is gone.
    pub fn send(&self, envelope: &Envelope, deadline: Deadline) -> Result<()> {
        self.connection.write_raw(&encode(envelope), deadline)
    }

    /// Writes any bytes as a line; a line end is added if there is none.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_line(&self, line: &[u8], deadline: Deadline) -> Result<()> {
        let mut line = line.to_vec();
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        self.connection.write_raw(&line, deadline)
    }

    /// The next line as it came, without its line end; of one over the limit only the beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] if none comes in time, [`Error::Closed`] with how the child ended.
    pub fn receive_line(&self, deadline: Deadline) -> Result<Vec<u8>> {
        let after = deadline.remaining();
        let received = self.lines.recv_deadline(deadline.instant());
        // There is room for another one now.
        self.connection.wake();
        received.map_err(|error| match error {
            RecvTimeoutError::Disconnected => self.connection.closed(),
            RecvTimeoutError::Timeout => Error::Timeout {
                provider: self.provider.clone(),
                phase: Phase::Reply,
                after,
            },
        })
    }

    /// Closes the child's stdin.
    pub fn close_stdin(&self, deadline: Deadline) {
        self.connection.close_stdin(deadline);
    }

    /// The last lines that the child wrote to its stderr.
    #[must_use]
    pub fn stderr(&self) -> Vec<String> {
        self.connection.stderr()
    }

    /// Says `shutdown` and waits for the child to end.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] if it had to be made to.
    pub fn shutdown(&self, deadline: Deadline) -> Result<()> {
        self.connection.shutdown(deadline)
    }
}
