//! Many providers, one question, one deadline.

use std::sync::Arc;
use std::thread;

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::host::HostConfig;
use crate::host::audit::Answer;
use crate::host::peer::Entry;
use crate::transport::Pending;
use crate::wire::frame::ProviderFrame;
use crate::wire::identity::ProviderId;
use crate::wire::query::ContextQuery;

/// What became of a question to many providers.
#[derive(Debug, Default)]
pub struct FanOut {
    /// One per provider that was to be asked, in registration order.
    pub legs: Vec<Leg>,
}

/// What became of one provider's part.
#[derive(Debug)]
pub struct Leg {
    /// Whose it is.
    pub provider: ProviderId,
    /// Its audited answer, or why there is none.
    pub outcome: Result<Answer>,
}

impl FanOut {
    /// The answers that were accepted, with whose they are.
    pub fn answers(&self) -> impl Iterator<Item = (&ProviderId, &Answer)> {
        let answer = |leg: &Leg| leg.outcome.is_ok();
        self.legs
            .iter()
            .filter(move |leg| answer(leg))
            .filter_map(|leg| Some((&leg.provider, leg.outcome.as_ref().ok()?)))
    }

    /// Why the others have no answer.
    pub fn failures(&self) -> impl Iterator<Item = &Error> {
        self.legs
            .iter()
            .filter_map(|leg| leg.outcome.as_ref().err())
    }

    /// All accepted frames under their registration ids, ready to be composed.
    #[must_use]
    pub fn frames(&self) -> Vec<ProviderFrame> {
        let frames = self.answers().flat_map(|(provider, answer)| {
            answer.frames.iter().map(|frame| ProviderFrame {
                provider_id: provider.clone(),
                frame: frame.clone(),
            })
        });
        frames.collect()
    }

    /// The declared cost of all accepted frames.
    #[must_use]
    pub fn token_cost(&self) -> u64 {
        let frames = self.answers().flat_map(|(_, answer)| &answer.frames);
        frames.map(|it| u64::from(it.token_cost)).sum()
    }
}

/// Splits a budget over `n` providers: equal shares, and what is left over goes to the first
/// ones, a token each. The shares sum to the budget; no providers, no shares.
///
/// ```
/// use contextgraph_sync::host::fan_out::budget_split;
///
/// assert_eq!(budget_split(10, 3), [4, 3, 3]);
/// ```
#[must_use]
pub fn budget_split(budget: u32, n: usize) -> Vec<u32> {
    let Ok(count) = u32::try_from(n) else {
        // More providers than tokens there can be: the first ones get one each.
        return (0..n)
            .map(|index| u32::from(index < budget as usize))
            .collect();
    };
    let share = |index: u32| budget / count + u32::from(index < budget % count);
    (0..count).map(share).collect()
}

/// Asks all of them at once. A leg that has a thread of its own already is started here and
/// awaited below; only a leg that would block gets a scoped thread.
pub(super) fn ask_all(
    questions: &[(Arc<Entry>, ContextQuery)],
    config: &HostConfig,
    deadline: Deadline,
) -> FanOut {
    let started: Vec<_> = questions
        .iter()
        .map(|(entry, query)| entry.start(query, config, deadline))
        .collect();
    thread::scope(|scope| {
        let running: Vec<_> = started
            .into_iter()
            .zip(questions)
            .map(|(started, (entry, query))| match started {
                Err(error) => Running::Over(error),
                Ok(Some(pending)) => Running::Pending(pending),
                Ok(None) if questions.len() == 1 => Running::Here,
                Ok(None) => Running::Thread(
                    thread::Builder::new()
                        .name(format!("cgp {} leg", entry.id()))
                        .spawn_scoped(scope, || entry.ask(query, config, deadline)),
                ),
            })
            .collect();
        let legs = running
            .into_iter()
            .zip(questions)
            .map(|(leg, (entry, query))| {
                let outcome = match leg {
                    Running::Over(error) => Err(error),
                    Running::Pending(pending) => pending
                        .wait()
                        .and_then(|reply| entry.judge(query, reply, config)),
                    Running::Here => entry.ask(query, config, deadline),
                    Running::Thread(Ok(thread)) => thread
                        .join()
                        .unwrap_or_else(|panic| Err(Error::panicked(entry.id(), &*panic))),
                    Running::Thread(Err(source)) => Err(Error::Io {
                        provider: entry.id().clone(),
                        source,
                    }),
                };
                Leg {
                    provider: entry.id().clone(),
                    outcome,
                }
            });
        FanOut {
            legs: legs.collect(),
        }
    })
}

/// A leg on its way.
enum Running<'scope, 'a> {
    Over(Error),
    Pending(Box<dyn Pending + 'a>),
    /// The only leg: it may block the caller, who has nothing else to wait for.
    Here,
    Thread(std::io::Result<thread::ScopedJoinHandle<'scope, Result<Answer>>>),
}

#[cfg(test)]
mod tests {
    use super::budget_split;

    #[test]
    fn shares_sum_to_the_budget() {
        for (budget, n, expected) in [
            (10, 3, vec![4, 3, 3]),
            (2, 3, vec![1, 1, 0]),
            (0, 2, vec![0, 0]),
            (7, 1, vec![7]),
            (u32::MAX, 2, vec![2_147_483_648, 2_147_483_647]),
        ] {
            assert_eq!(budget_split(budget, n), expected);
        }
        assert!(budget_split(10, 0).is_empty());
    }
}
