//! One registered provider: who it is, whether it may be asked, and the asking.

use std::sync::{Arc, PoisonError, RwLock};

use crate::clock::Deadline;
use crate::error::{Error, Occupation, Result};
use crate::host::audit::{self, Answer};
use crate::host::{HostConfig, consent};
use crate::transport::{Peer, Reply, Request, Started, Transport};
use crate::wire::fingerprint::same_space;
use crate::wire::identity::ProviderId;
use crate::wire::query::ContextQuery;
use crate::wire::rules::{Rule, check_info, check_query};
use crate::wire::version::{VersionMatch, compare};

/// A provider and the way to it.
#[derive(Debug)]
pub(super) struct Entry {
    id: ProviderId,
    transport: Box<dyn Transport>,
    /// Who was connected last: what fan-outs match kinds against while nobody is.
    peer: RwLock<Arc<Peer>>,
}

/// How often a request is prepared anew because somebody else got connected meanwhile.
const ATTEMPTS: usize = 3;

impl Entry {
    pub(super) fn open(
        id: ProviderId,
        transport: Box<dyn Transport>,
        deadline: Deadline,
    ) -> Result<Self> {
        let peer = transport.connect(deadline)?;
        check_declaration(&id, &peer)?;
        log::debug!("provider `{id}` shook hands: {:?}", peer.info);
        Ok(Self {
            id,
            transport,
            peer: RwLock::new(peer),
        })
    }

    pub(super) fn id(&self) -> &ProviderId {
        &self.id
    }

    pub(super) fn peer(&self) -> Arc<Peer> {
        let peer = self.peer.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&peer)
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.transport.is_stuck()
    }

    pub(super) fn shutdown(&self, deadline: Deadline) -> Result<()> {
        self.transport.shutdown(deadline)
    }

    /// Whether the gate would let a query through now.
    pub(super) fn may_be_asked(&self) -> bool {
        consent::check(&self.id, &self.peer().info).is_ok()
    }

    /// Asks and waits.
    pub(super) fn ask(
        &self,
        query: &ContextQuery,
        config: &HostConfig,
        deadline: Deadline,
    ) -> Result<Answer> {
        for _ in 0..ATTEMPTS {
            let peer = self.transport.connect(deadline)?;
            let request = self.prepare(&peer, query, config)?;
            if let Some(reply) = self.transport.call(&peer, &request, deadline)? {
                return self.judge(query, reply, config);
            }
        }
        Err(Error::Busy {
            provider: self.id.clone(),
            with: Occupation::Starting,
            after: config.call_timeout.saturating_sub(deadline.remaining()),
        })
    }

    /// Hands the question over if that needs no waiting; none means that [`ask`](Self::ask) must.
    pub(super) fn start<'a>(
        &'a self,
        query: &ContextQuery,
        config: &HostConfig,
        deadline: Deadline,
    ) -> Result<Option<Box<dyn crate::transport::Pending + 'a>>> {
        let Some(peer) = self.transport.connected() else {
            return Ok(None);
        };
        let request = self.prepare(&peer, query, config)?;
        match self.transport.start(&peer, &request, deadline)? {
            Started::Pending(pending) => Ok(Some(pending)),
            Started::WouldWait | Started::OtherPeer => Ok(None),
        }
    }

    /// Judges what came back.
    pub(super) fn judge(
        &self,
        query: &ContextQuery,
        reply: Reply,
        config: &HostConfig,
    ) -> Result<Answer> {
        match reply {
            Reply::Frames { result, notes } => {
                audit::audit(&self.id, query, result, &notes, config.mode)
            }
            Reply::Verified { .. } => Err(Error::Unexpected {
                provider: self.id.clone(),
                wanted: "frames",
                got: "verified".to_owned(),
            }),
        }
    }

    /// Passes the gate and makes the request fit for this very peer.
    fn prepare(
        &self,
        peer: &Arc<Peer>,
        query: &ContextQuery,
        config: &HostConfig,
    ) -> Result<Request> {
        let is_news = !Arc::ptr_eq(&self.peer(), peer);
        if is_news {
            check_declaration(&self.id, peer)?;
            let mut last = self.peer.write().unwrap_or_else(PoisonError::into_inner);
            *last = Arc::clone(peer);
        }
        consent::check(&self.id, &peer.info)?;
        let violations = check_query(query);
        if !violations.is_empty() {
            return Err(Error::InvalidQuery {
                provider: self.id.clone(),
                violations,
            });
        }
        let fingerprint = config.embeddings_fingerprint.as_deref();
        Ok(Request::Query(fit_for(peer, query, fingerprint)))
    }
}

/// Another family is refused (H3), and so is a contradiction about data flow (C5); a blank name or version (H2) is only worth a warning.
fn check_declaration(id: &ProviderId, peer: &Peer) -> Result<()> {
    match compare(&peer.protocol_version) {
        VersionMatch::Same => {}
        VersionMatch::Other => {
            return Err(Error::Version {
                provider: id.clone(),
                theirs: Some(peer.protocol_version.clone()),
            });
        }
        VersionMatch::Malformed => {
            return Err(Error::Version {
                provider: id.clone(),
                theirs: None,
            });
        }
    }
    let mut refused = check_info(&peer.info);
    for violation in refused.extract_if(.., |it| it.rule != Rule::C5) {
        log::warn!("provider `{id}`: {violation}");
    }
    for note in &peer.notes {
        log::warn!("provider `{id}`: {note}");
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(Error::Declaration {
        provider: id.clone(),
        violations: refused,
    })
}

/// The query without what this provider must not or need not see: a vector from another
/// embedding space (E1), representations it does not offer (P5).
fn fit_for(peer: &Peer, query: &ContextQuery, our_fingerprint: Option<&str>) -> ContextQuery {
    let theirs = peer.capabilities.embeddings_fingerprint.as_deref();
    let shares_space = matches!(
        (our_fingerprint, theirs),
        (Some(ours), Some(theirs)) if same_space(ours, theirs)
    );
    let mut query = query.clone();
    if !shares_space {
        query.embedding = None;
    }
    query
        .representation_preferences
        .retain(|it| peer.capabilities.offers(it));
    query
}

#[cfg(test)]
mod tests {
    use super::fit_for;
    use crate::transport::Peer;
    use crate::wire::capability::{Capabilities, ProviderInfo};
    use crate::wire::frame::Representation;
    use crate::wire::query::ContextQuery;

    fn peer(fingerprint: Option<&str>, representations: &[Representation]) -> Peer {
        Peer {
            protocol_version: "contextgraph/1.0".to_owned(),
            info: ProviderInfo::local("p", "1"),
            capabilities: Capabilities {
                embeddings_fingerprint: fingerprint.map(str::to_owned),
                representations: representations.to_vec(),
                ..Capabilities::default()
            },
            attester_keys: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_vector_goes_only_into_its_own_space() {
        let query = ContextQuery {
            embedding: Some(vec![0.5]),
            ..ContextQuery::new("g", 1, 1)
        };
        let sends = |ours: Option<&str>, theirs: Option<&str>| {
            fit_for(&peer(theirs, &[]), &query, ours)
                .embedding
                .is_some()
        };
        assert!(sends(Some("m/1"), Some("m/1")));
        assert!(!sends(Some("m/1"), Some("m/1/l2")));
        assert!(!sends(Some("m/1"), None));
        assert!(!sends(None, Some("m/1")));
        assert!(!sends(None, None));
        assert!(!sends(Some(""), Some("")));
    }

    #[test]
    fn only_offered_representations_are_asked_for() {
        let query = ContextQuery {
            representation_preferences: vec![
                Representation::Compact,
                Representation::Reference,
                Representation::Full,
            ],
            ..ContextQuery::new("g", 1, 1)
        };
        let asked = |offered: &[Representation]| {
            fit_for(&peer(None, offered), &query, None).representation_preferences
        };
        assert_eq!(asked(&[]), [Representation::Full]);
        let compact = [Representation::Compact];
        assert_eq!(
            asked(&compact),
            [Representation::Compact, Representation::Full]
        );
    }
}
