//! Waiting for descriptors, with a limit.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until one of them is ready, or the limit has passed, or a signal came: the caller looks
/// again in any case. No limit is no limit.
pub(super) fn wait(fds: &mut [PollFd<'_>], limit: Option<Duration>) -> bool {
    let limit = limit.map(|it| Timespec {
        tv_sec: i64::try_from(it.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(it.subsec_nanos()),
    });
    poll(fds, limit.as_ref()).is_ok_and(|n| n > 0)
}

/// Waits for one descriptor.
pub(super) fn wait_for(fd: BorrowedFd<'_>, wanted: PollFlags, limit: Duration) -> bool {
    wait(&mut [PollFd::from_borrowed_fd(fd, wanted)], Some(limit))
}
