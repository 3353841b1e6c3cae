//! A line on the terminal for a search that takes longer than a second.

use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(200);

/// Runs `work`, and meanwhile shows what `status` says if stderr is a terminal.
pub(super) fn while_showing<T>(status: impl Fn() -> String + Send, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, watch) = bounded::<()>(0);
    thread::scope(|scope| {
        let show = move || {
            let mut wait = PATIENCE;
            let mut is_shown = false;
            // The sender is dropped when the work is over.
            while watch.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                write!(io::stderr(), "\r\x1b[K{}", status()).ok();
                (wait, is_shown) = (TICK, true);
            }
            if is_shown {
                write!(io::stderr(), "\r\x1b[K").ok();
            }
        };
        let shower = thread::Builder::new()
            .name("cgp progress".to_owned())
            .spawn_scoped(scope, show);
        let result = work();
        drop(done);
        // Without a thread there is no line; the work counts.
        drop(shower);
        result
    })
}
