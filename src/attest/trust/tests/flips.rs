//! Whatever bit of the evidence, or of what it is evidence for, is flipped: it is not valid.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{AnswerCheck, TrustStore, attest, docs, frame, key};
use crate::attest::key::PublicKey;
use crate::attest::sign::Evidence;
use crate::wire::attestation::FrameAttestation;
use crate::wire::attested::AttestationState;
use crate::wire::frame::{ContextFrame, Provenance};
use crate::wire::query::ContextQueryResult;

/// What is flipped: one frame, its entry, the root, the provider's name and the trusted key.
fn subject(result: &ContextQueryResult, at: usize) -> Value {
    let frame = &result.frames[at];
    let entry = &result.frame_attestations[at];
    let mut subject = json!({
        "name": "acme",
        "key": key(),
        "id": frame.id,
        "digest": frame.content_digest,
        "provenance": frame.provenance,
        "own": entry.attestation,
        "proof": entry.inclusion_proof,
        "root": result.result_attestation,
    });
    // Said by the attester, but not signed.
    for attestation in ["own", "root"] {
        if let Some(it) = subject[attestation].as_object_mut() {
            it.retain(|name, _| name != "attester_id" && name != "issued_at");
        }
    }
    subject
}

/// Puts a flipped subject in its place and judges it; none if it cannot be put together.
fn judge(mut result: ContextQueryResult, at: usize, subject: &Value) -> Option<AttestationState> {
    let name = subject["name"].as_str()?;
    let text = subject["key"].as_str()?;
    // With a digit in upper case it is the same key.
    let key = PublicKey::parse(text)
        .ok()
        .filter(|it| it.to_hex() == text)?;
    let mut store = TrustStore::default();
    store.trust(docs(), "k", key);
    let entry = &mut result.frame_attestations[at];
    let mut attestations = [&subject["own"], &subject["root"]].map(Value::clone);
    for it in attestations.iter_mut().filter_map(Value::as_object_mut) {
        it.insert("attester_id".to_owned(), "acme".into());
        it.insert("issued_at".to_owned(), "".into());
    }
    let [own, root] = attestations;
    let frame = &mut result.frames[at];
    frame.id = serde_json::from_value(subject["id"].clone()).ok()?;
    frame.content_digest = serde_json::from_value(subject["digest"].clone()).ok()?;
    frame.provenance = serde_json::from_value(subject["provenance"].clone()).ok()?;
    // The entry follows, so that it is not enough that no entry fits.
    *entry = FrameAttestation {
        frame: frame.identity(&name.into()),
        attestation: serde_json::from_value(own).ok()?,
        inclusion_proof: serde_json::from_value(subject["proof"].clone()).ok()?,
    };
    result.result_attestation = serde_json::from_value(root).ok()?;
    let (docs, n_carried) = (docs(), result.frames.len());
    let mut check = AnswerCheck::new(&store, &docs, name, &result, n_carried);
    Some(check.state(&result.frames[at]))
}

/// All texts, numbers and booleans inside, and what could be a text.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().flat_map(leaves).collect(),
        Value::Object(members) => members.values_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

/// Flips one bit; none if what comes out is no text.
fn flip(leaf: &mut Value, bit: Index) -> Option<()> {
    *leaf = match leaf {
        Value::String(text) => {
            // One more than there are bits: the text is not there at all.
            let bit = bit.index(8 * text.len() + 1);
            let mut bytes = std::mem::take(text).into_bytes();
            if bit == 8 * bytes.len() {
                Value::Null
            } else {
                bytes[bit / 8] ^= 1 << (bit % 8);
                Value::String(String::from_utf8(bytes).ok()?)
            }
        }
        Value::Number(number) => (number.as_u64()? ^ 1 << bit.index(64)).into(),
        Value::Bool(it) => (!*it).into(),
        _ => Value::String(String::new()),
    };
    Some(())
}

fn link() -> impl Strategy<Value = Provenance> {
    let member = || prop::option::of("[a-zL0-9/:-]{0,8}");
    let members = (member(), member(), member(), member(), member());
    ("[a-z]{0,6}", members).prop_map(|(kind, (uri, range, digest, method, by))| Provenance {
        kind: kind.into(),
        uri,
        range,
        digest,
        method,
        by,
    })
}

fn frames() -> impl Strategy<Value = Vec<ContextFrame>> {
    let one = ("[a-z]{1,5}", prop::collection::vec(link(), 0..3));
    prop::collection::vec(one, 1..9).prop_map(|parts| {
        let frames = parts.into_iter().enumerate().map(|(at, (id, provenance))| {
            let frame = frame(&format!("{id}{at}"), &id);
            ContextFrame {
                provenance,
                ..frame
            }
        });
        frames.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_flipped_bit_is_valid(
        frames in frames(),
        is_root in any::<bool>(),
        at in any::<Index>(),
        leaf in any::<Index>(),
        bit in any::<Index>(),
    ) {
        let at = at.index(frames.len());
        let mut result = ContextQueryResult::from(frames);
        let evidence = if is_root { Evidence::Root } else { Evidence::PerFrame };
        attest(&mut result, evidence);
        let mut subject = subject(&result, at);
        let before = judge(result.clone(), at, &subject);
        prop_assert_eq!(before, Some(super::attested(true)));

        // Of the two kinds of evidence the one that is not there stays away.
        let unused: &[&str] = if is_root { &["own"] } else { &["proof", "root"] };
        if let Some(it) = subject.as_object_mut() {
            it.retain(|name, _| !unused.contains(&name.as_str()));
        }
        let mut leaves = leaves(&mut subject);
        let leaf = leaf.index(leaves.len());
        prop_assume!(flip(leaves[leaf], bit).is_some());
        if let Some(after) = judge(result, at, &subject) {
            prop_assert!(!after.is_attested(), "{} {}", after, subject);
        }
    }
}
