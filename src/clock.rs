//! Deadlines and wall time; the only file that reads a clock.

use std::time::{Duration, Instant, SystemTime};

/// An instant by which something has to be over.
///
/// Made once where a call begins, and passed by value all the way down: a duration would
/// start anew at every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline `limit` from now; a limit too long for the clock is a century.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        let now = monotonic_now();
        Self(now.checked_add(limit).unwrap_or(now + CENTURY))
    }

    /// The deadline at an instant; lets a test invent time.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The instant itself, for waits that take one.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// How long until then; zero once it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(monotonic_now())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// The deadline halfway from now, or the same one if it has passed.
    #[must_use]
    pub fn halfway(self) -> Self {
        self.halfway_from(monotonic_now())
    }

    fn halfway_from(self, now: Instant) -> Self {
        match self.0.checked_duration_since(now) {
            Some(left) => Self(now + left / 2),
            None => self,
        }
    }

    /// The earlier of two deadlines.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        std::cmp::min(self, other)
    }
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "the one place that reads it")]
#[must_use]
pub fn monotonic_now() -> Instant {
    Instant::now()
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "the one place that reads it")]
#[must_use]
pub fn wall_now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Deadline, monotonic_now};

    #[test]
    fn arithmetic_needs_no_waiting() {
        let now = monotonic_now();
        let second = Duration::from_secs(1);
        let deadline = Deadline::at(now + 2 * second);
        assert_eq!(deadline.halfway_from(now), Deadline::at(now + second));
        assert_eq!(deadline.halfway_from(now + 3 * second), deadline);
        assert!(Deadline::at(now).has_passed());
        assert_eq!(Deadline::at(now).remaining(), Duration::ZERO);
        assert!(!Deadline::after(Duration::MAX).has_passed());
    }
}
