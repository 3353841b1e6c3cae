use super::{AnswerCheck, TrustStore};
use crate::attest::key::PublicKey;
use crate::attest::sign::{Attester, Ed25519Signer, Evidence, Signer as _};
use crate::digest::sha256;
use crate::wire::attestation::{FrameAttestation, ProvenanceAttestation};
use crate::wire::attested::{AttestationState as State, AttestationVerdict as Verdict};
use crate::wire::frame::ContextFrame;
use crate::wire::identity::ProviderId;
use crate::wire::query::ContextQueryResult;
use crate::wire::time::Timestamp;

mod flips;

fn signer(key_id: &str) -> Ed25519Signer {
    Ed25519Signer::from_seed(key_id, &[7; 32])
}

fn key() -> PublicKey {
    signer("").public_key()
}

fn docs() -> ProviderId {
    "docs".into()
}

/// The keys `k` of the provider registered as `docs`.
fn trusted() -> TrustStore {
    let mut store = TrustStore::default();
    store.trust(docs(), "k", key());
    store
}

fn frame(id: &str, content: &str) -> ContextFrame {
    ContextFrame {
        id: id.to_owned(),
        content: Some(content.to_owned()),
        content_digest: Some(sha256(content.as_bytes()).into()),
        ..ContextFrame::default()
    }
}

/// Signs under the declared name `acme`.
fn attest(result: &mut ContextQueryResult, evidence: Evidence) {
    let now = Timestamp::parse("2026-08-29T00:00:00Z").unwrap();
    Attester::new(signer("k"), "acme")
        .attest(result, evidence, &now)
        .unwrap();
}

fn answer(evidence: Evidence) -> ContextQueryResult {
    let frames = vec![frame("b", "two"), frame("a", "one"), frame("c", "three")];
    let mut result = ContextQueryResult::from(frames);
    attest(&mut result, evidence);
    result
}

fn states(result: &ContextQueryResult) -> Vec<State> {
    trusted().check(&docs(), "acme", result)
}

fn attested(covers_content: bool) -> State {
    State::attested("k", "acme", covers_content)
}

/// The state of frame `a` after a change to the answer; the other two are attested all the same.
#[track_caller]
fn check(evidence: Evidence, change: impl FnOnce(&mut ContextQueryResult), expected: &State) {
    let mut result = answer(evidence);
    change(&mut result);
    let states = states(&result);
    assert_eq!(states[1], *expected);
    assert_eq!([&states[0], &states[2]], [&attested(true), &attested(true)]);
}

#[test]
fn evidence_of_every_kind_attests() {
    for evidence in [Evidence::PerFrame, Evidence::Root, Evidence::Both] {
        check(evidence, |_| (), &attested(true));
    }
}

#[test]
fn keys_belong_to_a_registration() {
    let result = answer(Evidence::PerFrame);
    let states = trusted().check(&"acme".into(), "acme", &result);
    assert_eq!(states[0], State::no_trusted_key("k"));
    // Under another declared name there is no entry for any frame.
    let states = trusted().check(&docs(), "docs", &result);
    assert_eq!(states[0], State::Unattested);
}

/// The same with a change to the entry of frame `a`, or to the signature in it.
#[track_caller]
fn falls(change: fn(&mut FrameAttestation), expected: State) {
    check(
        Evidence::PerFrame,
        |it| change(&mut it.frame_attestations[1]),
        &expected,
    );
}

fn own(entry: &mut FrameAttestation) -> &mut ProvenanceAttestation {
    entry.attestation.as_mut().unwrap()
}

#[test]
fn one_frame_falls_alone() {
    let malformed = State::Invalid(Verdict::MalformedSignature);
    falls(|it| it.frame.frame_id.push('x'), State::Unattested);
    falls(|it| it.frame.content_digest = None, State::Unattested);
    falls(|it| it.attestation = None, State::UnusableEvidence);
    falls(
        |it| own(it).algorithm = "x".repeat(300),
        State::unknown_algorithm(&"x".repeat(128)),
    );
    falls(
        |it| own(it).key_id = "other".to_owned(),
        State::no_trusted_key("other"),
    );
    falls(
        |it| own(it).signed_commitment.truncate(70),
        State::Invalid(Verdict::MalformedCommitment),
    );
    falls(|it| own(it).signature.truncate(126), malformed.clone());
    falls(|it| own(it).signature.make_ascii_uppercase(), malformed);
}

#[test]
fn a_lifted_signature() {
    let mut result = answer(Evidence::PerFrame);
    result.frame_attestations[0].attestation = result.frame_attestations[1].attestation.clone();
    let state = &states(&result)[0];
    let is_mismatch = matches!(state, State::Invalid(Verdict::CommitmentMismatch { .. }));
    assert!(is_mismatch, "{state}");
}

#[test]
fn a_key_that_only_has_the_name() {
    let mut store = TrustStore::default();
    let other = Ed25519Signer::from_seed("k", &[8; 32]).public_key();
    store.trust(docs(), "k", other);
    for evidence in [Evidence::PerFrame, Evidence::Root] {
        let states = store.check(&docs(), "acme", &answer(evidence));
        assert_eq!(states, vec![State::Invalid(Verdict::BadSignature); 3]);
    }
}

#[test]
fn a_frames_own_signature_wins() {
    let spoil = |it: &mut ContextQueryResult| {
        own(&mut it.frame_attestations[1]).algorithm = "x".to_owned();
    };
    check(Evidence::Both, spoil, &State::unknown_algorithm("x"));
}

#[test]
fn a_proof_needs_a_root() {
    let mut result = answer(Evidence::Root);
    result.result_attestation = None;
    assert_eq!(states(&result), vec![State::UnusableEvidence; 3]);
}

#[test]
fn swapped_content_is_not_covered() {
    for evidence in [Evidence::PerFrame, Evidence::Root] {
        let swap = |it: &mut ContextQueryResult| it.frames[1].content = Some("other".to_owned());
        check(evidence, swap, &attested(false));
        let leave_out = |it: &mut ContextQueryResult| it.frames[1].content = None;
        check(evidence, leave_out, &attested(true));
    }
}

#[test]
fn a_frame_without_digest_has_an_identity_at_most() {
    let mut result = answer(Evidence::Root);
    result.frames[1].content_digest = None;
    attest(&mut result, Evidence::Both);
    assert_eq!(states(&result)[1], State::Unattested);
    // Others write proofs for such frames, too.
    let mut entry = result.frame_attestations[0].clone();
    entry.frame = result.frames[1].identity(&"acme".into());
    entry.attestation = None;
    let leaves = [&result.frames[1], &result.frames[0], &result.frames[2]]
        .map(|it| crate::attest::commitment::frame_commitment("acme", it));
    entry.inclusion_proof = crate::attest::merkle::MerkleTree::new(&leaves).proof(0);
    result.frame_attestations.push(entry);
    assert_eq!(states(&result)[1], attested(false));
}

#[test]
fn a_root_is_over_exactly_this_answer() {
    let malformed = State::Invalid(Verdict::MalformedCommitment);
    let lie = |it: &mut ContextQueryResult| {
        let proof = it.frame_attestations[1].inclusion_proof.as_mut().unwrap();
        // Leaf 0 of 4 has the same path as leaf 0 of 3.
        proof.leaf_count = 4;
    };
    check(Evidence::Root, lie, &malformed);
    let mut result = answer(Evidence::Root);
    result.frames.pop();
    assert_eq!(states(&result), vec![malformed; 2]);
    // Unless the third frame came but could not be read.
    let (store, docs) = (trusted(), docs());
    let mut check = AnswerCheck::new(&store, &docs, "acme", &result, 3);
    assert_eq!(check.state(&result.frames[1]), attested(true));
}

#[test]
fn a_thousand_entries_for_one_frame() {
    let mut result = answer(Evidence::PerFrame);
    let mut bad = result.frame_attestations[1].clone();
    own(&mut bad).signature = "00".repeat(64);
    result.frame_attestations = vec![bad; 1000];
    result.frame_attestations[0] = answer(Evidence::PerFrame).frame_attestations[1].clone();
    // The first of an identity counts, and none beyond as many as there are frames.
    let expected = [State::Unattested, attested(true), State::Unattested];
    assert_eq!(states(&result), expected);
    let good = result.frame_attestations.swap_remove(0);
    result.frame_attestations[3] = good;
    let bad = State::Invalid(Verdict::BadSignature);
    assert_eq!(states(&result), [State::Unattested, bad, State::Unattested]);
}

#[test]
fn the_store_is_what_the_operator_made_it() {
    let mut store = TrustStore::default();
    assert!(store.is_empty());
    let other = Ed25519Signer::from_seed("k", &[8; 32]).public_key();
    assert_eq!(store.trust(docs(), "k", other), None);
    assert_eq!(store.trust(docs(), "k", key()), Some(other));
    assert_eq!(store.trust(docs(), "k", key()), None);
    store.trust(docs(), "a", other);
    store.trust("api".into(), "z", other);
    let names: Vec<_> = store
        .keys()
        .map(|(id, key_id, _)| format!("{id} {key_id}"))
        .collect();
    assert_eq!(names, ["api z", "docs a", "docs k"]);
    assert_eq!(store.key(&docs(), "k"), Some(&key()));
    assert_eq!(store.key(&"api".into(), "k"), None);
    assert!(store.revoke(&docs(), "k"));
    assert!(!store.revoke(&docs(), "k"));
    assert!(!store.revoke(&"x".into(), "k"));
    store.revoke(&docs(), "a");
    store.revoke(&"api".into(), "z");
    assert_eq!(store, TrustStore::default());
}

#[test]
fn the_store_as_json() {
    let json = format!(r#"{{"docs":{{"k":{{"public_key":"{}"}}}}}}"#, key());
    assert_eq!(serde_json::to_string(&trusted()).unwrap(), json);
    let read = |json: &str| serde_json::from_str::<TrustStore>(json);
    assert_eq!(read(&json).unwrap(), trusted());
    let newer = json.replace("\"}", "\",\"since\":\"2027\"}");
    assert_eq!(read(&newer).unwrap(), trusted());
    assert!(read(r#"{"docs":{}}"#).unwrap().is_empty());
    let weak = json.replace(&key().to_hex(), &"00".repeat(32));
    let error = read(&weak).unwrap_err().to_string();
    assert!(error.starts_with("not a safe public key"), "{error}");
}
