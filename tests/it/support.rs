//! What several tests need.

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
