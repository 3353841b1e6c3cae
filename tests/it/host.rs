//! A host and providers in its own process, most of them broken.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contextgraph_sync::Host;
use contextgraph_sync::error::{Error, Occupation, Phase};
use contextgraph_sync::host::{HostConfig, Mode};
use contextgraph_sync::provider::{Budget, ContextProvider, ProviderError};
use contextgraph_sync::transport::local::workers_left_behind;
use contextgraph_sync::wire::{
    Capabilities, ContextFrame, ContextQuery, ContextQueryResult, ErrorCode, FrameKind,
    ProviderInfo,
};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::{GUARD, Scripted, ask, doc, echo};

const SHORT: Duration = Duration::from_millis(40);

/// A host that waits a moment only.
fn impatient() -> Host {
    Host::with_config(HostConfig {
        call_timeout: SHORT,
        handshake_timeout: GUARD,
        shutdown_grace: SHORT,
        ..HostConfig::default()
    })
}

/// A provider that says when it has been asked, and answers when it is told to.
struct Gate {
    asked: Receiver<()>,
    go: Sender<()>,
}

fn gated() -> (impl ContextProvider, Gate) {
    let (asking, asked) = bounded(8);
    let (go, wait) = bounded::<()>(8);
    let provider = Scripted(move |query: &ContextQuery| {
        asking.send(()).ok();
        wait.recv().ok();
        echo(query)
    });
    (provider, Gate { asked, go })
}

#[track_caller]
fn content(frames: &[ContextFrame]) -> Vec<&str> {
    frames
        .iter()
        .filter_map(|it| it.content.as_deref())
        .collect()
}

#[test]
fn an_honest_provider_answers() {
    let host = Host::new();
    host.register("docs", Scripted(echo)).unwrap();
    let answer = host.query_provider("docs", &ask("hello")).unwrap();
    assert_eq!(content(&answer.frames), ["hello"]);
    assert!(answer.findings.is_empty());
    assert_eq!(host.provider_ids(), ["docs"]);
    assert_eq!(host.info("docs").unwrap().name, "scripted");
    assert!(
        host.shutdown()
            .into_iter()
            .all(|(_, result)| result.is_ok())
    );
    assert!(host.is_empty());
}

#[test]
fn a_host_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Host>();
    let host = Host::new();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let host = &host;
            scope.spawn(move || {
                let id = format!("p{n}");
                host.register(id.as_str(), Scripted(echo)).unwrap();
                for round in 0..50 {
                    let goal = format!("{n} {round}");
                    let answer = host.query_provider(id.as_str(), &ask(&goal)).unwrap();
                    assert_eq!(content(&answer.frames), [goal]);
                }
            });
        }
    });
    assert_eq!(host.len(), 4);
}

#[test]
fn many_callers_of_one_provider_get_their_own_answers() {
    let host = Host::new();
    host.register("docs", Scripted(echo)).unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let host = &host;
            scope.spawn(move || {
                for round in 0..100 {
                    let goal = format!("{n} {round}");
                    let frames = if round % 2 == 0 {
                        host.query_provider("docs", &ask(&goal)).unwrap().frames
                    } else {
                        let fan_out = host.query_all(&ask(&goal));
                        fan_out.frames().into_iter().map(|it| it.frame).collect()
                    };
                    assert_eq!(content(&frames), [goal]);
                }
            });
        }
    });
}

#[test]
fn ids_are_unique_and_known() {
    let host = Host::new();
    host.register("docs", Scripted(echo)).unwrap();
    let again = host.register("docs", Scripted(echo)).unwrap_err();
    assert!(matches!(again, Error::DuplicateProvider { .. }));
    let unknown = host.query_provider("nobody", &ask("g")).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "provider `nobody`: no provider is registered under this id"
    );
    host.remove("docs").unwrap();
    assert!(matches!(
        host.remove("docs"),
        Err(Error::UnknownProvider { .. })
    ));
    host.register("docs", Scripted(echo)).unwrap();
}

#[test]
fn a_late_answer_is_never_the_next_one() {
    let host = impatient();
    let (provider, gate) = gated();
    host.register("slow", provider).unwrap();
    let error = host.query_provider("slow", &ask("first")).unwrap_err();
    assert!(matches!(error, Error::Timeout { phase: Phase::Reply, after, .. } if after <= SHORT));
    gate.asked.recv_timeout(GUARD).unwrap();
    assert_eq!(host.stuck(), ["slow"]);

    let error = host.query_provider("slow", &ask("second")).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Busy {
                with: Occupation::AbandonedRequest,
                ..
            }
        ),
        "{error}"
    );
    let leg = host.query_all(&ask("third")).legs.remove(0);
    assert!(matches!(leg.outcome, Err(Error::Busy { .. })));
    assert!(gate.asked.is_empty(), "nothing was sent");

    gate.go.send(()).unwrap();
    gate.go.send(()).unwrap();
    // The answer to the first question is on its way out now; whoever asks next waits for the
    // turn and gets its own.
    let answer = loop {
        match host.query_provider("slow", &ask("fourth")) {
            Err(Error::Busy { .. }) => {}
            answer => break answer.unwrap(),
        }
    };
    assert_eq!(content(&answer.frames), ["fourth"]);
    assert!(host.stuck().is_empty());
}

#[test]
fn a_provider_that_never_returns_costs_only_itself() {
    let host = impatient();
    let (provider, gate) = gated();
    host.register("before", Scripted(echo)).unwrap();
    host.register("hung", provider).unwrap();
    host.register("after", Scripted(echo)).unwrap();
    let fan_out = host.query_all(&ask("g"));
    let outcomes: Vec<_> = fan_out.legs.iter().map(|it| it.outcome.is_ok()).collect();
    assert_eq!(outcomes, [true, false, true]);
    let ids: Vec<_> = fan_out.legs.iter().map(|it| it.provider.as_str()).collect();
    assert_eq!(ids, ["before", "hung", "after"]);

    let ends = host.shutdown();
    assert!(matches!(
        ends[1].1,
        Err(Error::Timeout {
            phase: Phase::Shutdown,
            ..
        })
    ));
    assert!(ends[0].1.is_ok() && ends[2].1.is_ok());
    assert!(workers_left_behind() >= 1);
    let Gate { asked, go } = gate;
    drop(go);
    // The worker ends when its provider does, and drops the provider's end of this channel.
    while asked.recv_timeout(GUARD).is_ok() {}
}

#[test]
fn dropping_a_host_ends_its_workers() {
    let (alive, ended) = bounded::<()>(0);
    let host = Host::new();
    let provider = Scripted(move |query: &ContextQuery| {
        let _alive = &alive;
        echo(query)
    });
    host.register("docs", provider).unwrap();
    drop(host);
    assert!(
        ended
            .recv_timeout(GUARD)
            .is_err_and(|it| it.is_disconnected())
    );
}

#[test]
fn a_panic_is_contained() {
    let host = Host::new();
    let n_calls = AtomicUsize::new(0);
    let provider = Scripted(move |query: &ContextQuery| {
        assert!(
            n_calls.fetch_add(1, Ordering::Relaxed) > 0,
            "the index is gone"
        );
        echo(query)
    });
    host.register("docs", provider).unwrap();
    let error = host.query_provider("docs", &ask("first")).unwrap_err();
    assert!(matches!(&error, Error::Panicked { message, .. } if message == "the index is gone"));
    let answer = host.query_provider("docs", &ask("second")).unwrap();
    assert_eq!(content(&answer.frames), ["second"]);
}

#[test]
fn lies_and_floods_are_named_on_both_paths() {
    let host = Host::new();
    let lie = |query: &ContextQuery| {
        let frame = ContextFrame {
            token_cost: 1,
            ..doc("a", &query.goal)
        };
        Ok(vec![frame].into())
    };
    let over = |query: &ContextQuery| Ok(vec![doc("a", &query.goal.repeat(1000))].into());
    let flood = |_: &ContextQuery| {
        let frames: Vec<_> = (0..50).map(|it| doc(&it.to_string(), "")).collect();
        Ok(frames.into())
    };
    host.register("lie", Scripted(lie)).unwrap();
    host.register("over", Scripted(over)).unwrap();
    host.register("flood", Scripted(flood)).unwrap();
    host.register("honest", Scripted(echo)).unwrap();

    let query = ask("a goal of some length");
    let fan_out = host.query_all(&query);
    for leg in &fan_out.legs {
        let alone = host.query_provider(&leg.provider, &query);
        let named = |outcome: &Result<_, Error>| match outcome {
            Ok(_) => "answered",
            Err(Error::CostLie { .. }) => "lied about a cost",
            Err(Error::BudgetLie { .. }) => "exceeded the budget",
            Err(Error::FrameFlood { .. }) => "flooded",
            Err(_) => "failed",
        };
        let expected = match leg.provider.as_str() {
            "lie" => "lied about a cost",
            "over" => "exceeded the budget",
            "flood" => "flooded",
            _ => "answered",
        };
        assert_eq!((named(&leg.outcome), named(&alone)), (expected, expected));
    }
    assert_eq!(fan_out.frames().len(), 1);
    assert_eq!(fan_out.failures().count(), 3);
}

#[test]
fn frames_of_another_kind_are_excluded() {
    let host = Host::new();
    let provider = Scripted(|query: &ContextQuery| {
        let fact = ContextFrame {
            kind: FrameKind::Fact,
            ..doc("fact", "x")
        };
        Ok(vec![fact, doc("doc", &query.goal)].into())
    });
    host.register("docs", provider).unwrap();
    let query = ContextQuery {
        kinds: vec![FrameKind::Doc],
        ..ask("g")
    };
    let answer = host.query_provider("docs", &query).unwrap();
    assert_eq!(content(&answer.frames), ["g"]);
    assert!(
        answer.findings[0]
            .to_string()
            .starts_with("Q1: frame `fact`: kind: `fact` was not asked for")
    );
}

#[test]
fn lenient_mode_keeps_a_liar_and_says_so() {
    let host = Host::with_config(HostConfig {
        mode: Mode::Lenient,
        ..HostConfig::default()
    });
    let provider = Scripted(|_: &ContextQuery| {
        let frame = ContextFrame {
            token_cost: 9999,
            ..doc("a", "abcdefgh")
        };
        Ok(vec![frame].into())
    });
    host.register("docs", provider).unwrap();
    let answer = host.query_provider("docs", &ask("g")).unwrap();
    assert_eq!(answer.frames[0].token_cost, 2);
    assert!(!answer.findings.is_empty());
}

#[test]
fn a_refusal_keeps_its_code() {
    let host = Host::new();
    let provider = Scripted(|_: &ContextQuery| {
        Err(ProviderError::new(ErrorCode::from("acme:quota"), "used up"))
    });
    host.register("docs", provider).unwrap();
    let error = host.query_provider("docs", &ask("g")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "provider `docs`: refused: used up (acme:quota)"
    );
    assert!(!error.is_retryable());
}

#[test]
fn a_query_with_a_bad_instant_is_not_sent() {
    let host = Host::new();
    host.register("docs", Scripted(|_: &ContextQuery| panic!("never asked")))
        .unwrap();
    let query = ContextQuery {
        as_of: Some("yesterday".to_owned()),
        ..ask("g")
    };
    let error = host.query_provider("docs", &query).unwrap_err();
    assert!(matches!(error, Error::InvalidQuery { .. }), "{error}");
}

/// Says what it is told to about itself, and records what it is asked.
struct Declares {
    info: ProviderInfo,
    capabilities: Capabilities,
    asked: Arc<Mutex<Vec<ContextQuery>>>,
}

impl Declares {
    fn new(egress: bool, scopes: &[&str]) -> Self {
        let mut info = ProviderInfo::local("declares", "1");
        info.data_flow.egress = egress;
        info.data_flow.egress_scopes = scopes.iter().map(|&it| it.into()).collect();
        Self {
            info,
            capabilities: Capabilities::kinds([FrameKind::Doc]),
            asked: Arc::default(),
        }
    }
}

impl ContextProvider for Declares {
    fn info(&self) -> ProviderInfo {
        self.info.clone()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        self.asked.lock().unwrap().push(query.clone());
        echo(query)
    }
}

#[test]
fn nothing_is_sent_off_the_machine_without_consent() {
    for (scopes, named) in [
        (&[][..], "(egress)"),
        (
            &["org-tenant", "local-only", "acme:x"][..],
            "org-tenant, acme:x",
        ),
    ] {
        let host = Host::new();
        let provider = Declares::new(true, scopes);
        let asked = Arc::clone(&provider.asked);
        host.register("cloud", provider).unwrap();
        let error = host.query_provider("cloud", &ask("secret")).unwrap_err();
        assert!(
            matches!(error, Error::Consent { .. }) && error.to_string().contains(named),
            "{error}"
        );
        let fan_out = host.query_all(&ask("secret"));
        assert!(matches!(
            fan_out.legs[0].outcome,
            Err(Error::Consent { .. })
        ));
        assert!(asked.lock().unwrap().is_empty());
    }
}

#[test]
fn a_contradiction_about_data_flow_is_refused_at_registration() {
    for (egress, scopes) in [(false, &["third-party-model"][..]), (true, &["acme"][..])] {
        let host = Host::new();
        let error = host
            .register("cloud", Declares::new(egress, scopes))
            .unwrap_err();
        assert!(error.to_string().contains("C5"), "{error}");
        assert!(host.is_empty());
    }
}

#[test]
fn a_provider_that_does_not_say_who_it_is() {
    struct Silent(Receiver<()>);
    impl ContextProvider for Silent {
        fn info(&self) -> ProviderInfo {
            self.0.recv().ok();
            ProviderInfo::default()
        }
        fn capabilities(&self) -> Capabilities {
            panic!("no idea")
        }
        fn query(&self, _: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
            Err(ProviderError::internal("never asked"))
        }
    }
    let host = Host::with_config(HostConfig {
        handshake_timeout: SHORT,
        ..HostConfig::default()
    });
    let (go, wait) = bounded(0);
    let error = host.register("silent", Silent(wait)).unwrap_err();
    assert!(matches!(
        error,
        Error::Timeout {
            phase: Phase::Handshake,
            ..
        }
    ));
    drop(go);
    let (_, wait) = bounded(0);
    let error = host.register("clueless", Silent(wait)).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
}

#[test]
fn only_matching_providers_are_asked_and_share_the_budget() {
    let host = Host::new();
    let facts = Declares {
        capabilities: Capabilities::kinds([FrameKind::Fact]),
        ..Declares::new(false, &[])
    };
    let docs = [Declares::new(false, &[]), Declares::new(false, &[])];
    let cloud = Declares::new(true, &[]);
    let asked: Vec<_> = docs.iter().map(|it| Arc::clone(&it.asked)).collect();
    let not_asked = [Arc::clone(&facts.asked), Arc::clone(&cloud.asked)];
    host.register("facts", facts).unwrap();
    host.register("cloud", cloud).unwrap();
    for (n, provider) in docs.into_iter().enumerate() {
        host.register(format!("docs{n}"), provider).unwrap();
    }
    let query = ContextQuery {
        kinds: vec![FrameKind::Doc],
        ..ask("g")
    };
    let fan_out = host.query_all_budgeted(&query, 101);
    let ids: Vec<_> = fan_out.legs.iter().map(|it| it.provider.as_str()).collect();
    assert_eq!(ids, ["cloud", "docs0", "docs1"]);
    let shares: Vec<_> = asked
        .iter()
        .map(|it| it.lock().unwrap()[0].max_tokens)
        .collect();
    assert_eq!(
        shares,
        [51, 50],
        "a provider that may not be asked takes no share"
    );
    assert!(not_asked.iter().all(|it| it.lock().unwrap().is_empty()));
}

#[test]
fn a_vector_stays_here_unless_the_spaces_are_equal() {
    let host = Host::with_config(HostConfig {
        embeddings_fingerprint: Some("m/2".to_owned()),
        ..HostConfig::default()
    });
    let declares = |fingerprint: &str| {
        let mut provider = Declares::new(false, &[]);
        provider.capabilities.embeddings_fingerprint = Some(fingerprint.to_owned());
        provider
    };
    let (same, other) = (declares("m/2"), declares("m/2/l2"));
    let asked = [Arc::clone(&same.asked), Arc::clone(&other.asked)];
    host.register("same", same).unwrap();
    host.register("other", other).unwrap();
    let query = ContextQuery {
        embedding: Some(vec![0.5, 0.5]),
        ..ask("g")
    };
    assert_eq!(host.query_all(&query).answers().count(), 2);
    let sent = asked.map(|it| it.lock().unwrap()[0].embedding.is_some());
    assert_eq!(sent, [true, false]);
}

#[test]
fn shutting_down_is_told_to_the_provider_once() {
    struct Counts(Sender<()>);
    impl ContextProvider for Counts {
        fn info(&self) -> ProviderInfo {
            ProviderInfo::local("counts", "1")
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::default()
        }
        fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
            Ok(Budget::pack([], query))
        }
        fn shutdown(&self) {
            self.0.send(()).unwrap();
        }
    }
    let host = Host::new();
    let (told, count) = bounded(8);
    host.register("counts", Counts(told)).unwrap();
    host.shutdown();
    host.shutdown();
    drop(host);
    assert_eq!(count.iter().count(), 1);
}
