//! The shortest useful host: one provider, one question, one prompt.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows"
)]

use contextgraph_sync::Host;
use contextgraph_sync::compose::compose_for_prompt;
use contextgraph_sync::wire::ContextQuery;
use contextgraph_sync::workspace::Workspace;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::new();
    host.register("files", Workspace::new(".")?)?;
    let fan_out = host.query_all(&ContextQuery::new("how is a timestamp compared", 8, 4000));
    for error in fan_out.failures() {
        eprintln!("{error}");
    }
    print!("{}", compose_for_prompt(&fan_out.frames(), 4000).prompt);
    Ok(())
}
