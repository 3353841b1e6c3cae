//! An in-process provider on a thread of its own.
