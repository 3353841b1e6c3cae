//! The shortest useful provider: what an author writes, asked in process.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows"
)]

use contextgraph_sync::Host;
use contextgraph_sync::provider::{Budget, ContextProvider, FrameBuilder, ProviderError};
use contextgraph_sync::wire::{
    Capabilities, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
};

/// Three facts about invoices. A real provider would look them up.
struct Invoices;

const FACTS: [(&str, &str); 3] = [
    ("numbers", "Invoice numbers restart every January."),
    ("due", "An invoice is due thirty days after it was sent."),
    (
        "currency",
        "Invoices are written in the currency of the order.",
    ),
];

impl ContextProvider for Invoices {
    fn info(&self) -> ProviderInfo {
        ProviderInfo::local("invoices", "1.0")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::kinds([FrameKind::Fact])
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        let goal = query.goal.to_lowercase();
        let frames = FACTS.iter().map(|(id, text)| {
            let score = if goal.contains(id) { 0.9 } else { 0.1 };
            FrameBuilder::new(*id, FrameKind::Fact, *id, *text)
                .citation_label(format!("handbook: {id}"))
                .score(score)
                .build()
        });
        // Fits the best into the budget, and says what was left out.
        Ok(Budget::pack(frames, query))
    }
}

fn main() -> Result<(), contextgraph_sync::Error> {
    let host = Host::new();
    host.register("invoices", Invoices)?;
    let question = ContextQuery::new("when is an invoice due", 1, 100);
    for frame in host.query_provider("invoices", &question)?.frames {
        println!("{}: {}", frame.title, frame.content.unwrap_or_default());
    }
    Ok(())
}
