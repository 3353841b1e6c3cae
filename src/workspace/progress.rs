//! How far a search has come, for whoever waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters of the searches of one workspace; they only grow.
#[derive(Debug, Default)]
pub struct Progress {
    files_seen: AtomicU64,
    files_searched: AtomicU64,
    too_large: AtomicU64,
    not_text: AtomicU64,
    unreadable: AtomicU64,
    is_over: AtomicBool,
}

/// Why a file was not searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    TooLarge,
    NotText,
    Unreadable,
}

impl Progress {
    /// Files looked at, searched or not.
    #[must_use]
    pub fn files_seen(&self) -> u64 {
        self.files_seen.load(Ordering::Relaxed)
    }

    /// Files searched to their end.
    #[must_use]
    pub fn files_searched(&self) -> u64 {
        self.files_searched.load(Ordering::Relaxed)
    }

    /// Files over the limit of size.
    #[must_use]
    pub fn too_large(&self) -> u64 {
        self.too_large.load(Ordering::Relaxed)
    }

    /// Files that are not UTF-8 text, by content or by name.
    #[must_use]
    pub fn not_text(&self) -> u64 {
        self.not_text.load(Ordering::Relaxed)
    }

    /// Files and directories that could not be read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    pub(super) fn saw_file(&self) {
        self.files_seen.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn searched_file(&self) {
        self.files_searched.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn skipped(&self, why: Skipped) {
        let counter = match why {
            Skipped::TooLarge => &self.too_large,
            Skipped::NotText => &self.not_text,
            Skipped::Unreadable => &self.unreadable,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends every search of the workspace, now and later.
    pub(super) fn give_up(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}
