//! What several tests need.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contextgraph_sync::provider::{Budget, ContextProvider, FrameBuilder, ProviderError};
use contextgraph_sync::wire::{
    Capabilities, ContextFrame, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
};

/// How long a test waits for something that is bound to happen; only a bug makes it wait so long.
pub(crate) const GUARD: Duration = Duration::from_secs(10);

/// An honest frame of kind `doc`.
pub(crate) fn doc(id: &str, content: &str) -> ContextFrame {
    FrameBuilder::new(id, FrameKind::Doc, id, content)
        .score(0.5)
        .build()
}

/// A local provider of `doc` frames whose answer is a function.
pub(crate) struct Scripted<F>(pub(crate) F);

impl<F> ContextProvider for Scripted<F>
where
    F: Fn(&ContextQuery) -> Result<ContextQueryResult, ProviderError> + Send + Sync + 'static,
{
    fn info(&self) -> ProviderInfo {
        ProviderInfo::local("scripted", "1")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::kinds([FrameKind::Doc])
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        (self.0)(query)
    }
}

/// Answers every query with one frame that repeats its goal.
pub(crate) fn echo(query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
    Ok(Budget::pack([doc("echo", &query.goal)], query))
}

/// A query for anything, with room for a few frames.
pub(crate) fn ask(goal: &str) -> ContextQuery {
    ContextQuery::new(goal, 8, 1000)
}

/// A directory that is removed with everything in it.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "contextgraph-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, its directories first.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}
