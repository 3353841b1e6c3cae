use serde_json::{Value, json};

use super::{
    RecordAttestation, RecordError, attest_record, canonical, record_hash, record_message,
    verify_record,
};
use crate::attest::hex;
use crate::attest::sign::{Ed25519Signer, Signer as _};
use crate::wire::attested::AttestationVerdict as Verdict;
use crate::wire::time::Timestamp;

const RECORD: &str = r#"{
  "schema_version": "contextgraph/lifecycle/1.0-draft",
  "record_id": "rec_vec_1",
  "lineage_id": "lin_vec_1",
  "record_kind": "memory",
  "record_status": "active",
  "scope": {
    "user_id": "u1",
    "task_id": "t9"
  },
  "sharing_scope": "user",
  "observed_at": "2026-08-29T10:00:00Z",
  "confidence": 0.5,
  "origin": "declared",
  "provenance": {
    "origin_provider_id": "prov-x",
    "producer_kind": "human"
  },
  "extensions": {
    "acme:n": 3,
    "record_hash": "nested stays"
  },
  "statement": "prefers tabs — é",
  "salience": 0.25,
  "acme:extra": [
    1,
    "two",
    null,
    true
  ]
}"#;

const CANONICAL: &str = r#"{"acme:extra":[1,"two",null,true],"confidence":0.5,"extensions":{"acme:n":3,"record_hash":"nested stays"},"lineage_id":"lin_vec_1","observed_at":"2026-08-29T10:00:00Z","origin":"declared","provenance":{"origin_provider_id":"prov-x","producer_kind":"human"},"record_id":"rec_vec_1","record_kind":"memory","record_status":"active","salience":0.25,"schema_version":"contextgraph/lifecycle/1.0-draft","scope":{"task_id":"t9","user_id":"u1"},"sharing_scope":"user","statement":"prefers tabs — é"}"#;

const HASH: &str = "673e6a27e8d0cf6ebcfb0077edbf405bfc7431efff898ae5b9eae8b934b930f4";

const ATTESTATION: &str = r#"{
  "signed_record_hash": "sha256:673e6a27e8d0cf6ebcfb0077edbf405bfc7431efff898ae5b9eae8b934b930f4",
  "key_id": "cep-1",
  "algorithm": "ed25519",
  "attester_id": "prov-x",
  "signature": "83ba7848991eb8db609104bcebede3cb0d0e5b0607bfe7704c191ba2363124bb8abad3c73bc5e61481a9afea382dc18d7ddfd1fc71ee89216774ff65cb1b5700",
  "issued_at": "2026-08-29T10:00:01Z"
}"#;

/// Over the hash alone, without the tag.
const UNTAGGED: &str = "a0a09ef5b0546aa4baf701b57bdaf2f09fcfb9cbe261ad9806cb2ce299af58a2c63e3add92fef58c22c46dcd98b4e2a14d9313a4c3b42e09d47e99a38e3d7c04";

fn record() -> Value {
    serde_json::from_str(RECORD).unwrap()
}

fn attestation() -> RecordAttestation {
    serde_json::from_str(ATTESTATION).unwrap()
}

/// The seed `00`, `01`, … `1f`.
fn key_a() -> Ed25519Signer {
    let seed = std::array::from_fn(|it| u8::try_from(it).unwrap());
    Ed25519Signer::from_seed("cep-1", &seed)
}

#[test]
fn the_hash_is_over_canonical_json() {
    let mut record = record();
    let text = String::from_utf8(canonical(&record).unwrap()).unwrap();
    assert_eq!(text, CANONICAL);
    let hash = record_hash(&record).unwrap();
    assert_eq!(hash.to_string(), format!("sha256:{HASH}"));
    let tag = hex::encode(b"contextgraph/attest/1/record");
    assert_eq!(hex::encode(&record_message(&hash)), format!("{tag}{HASH}"));
    record["record_hash"] = "anything".into();
    assert_eq!(record_hash(&record), Ok(hash));
    record["extensions"]["record_hash"] = "moved".into();
    assert_ne!(record_hash(&record), Ok(hash));
}

#[track_caller]
fn check_canonical(json: &str, expected: &str) {
    let text = canonical(&serde_json::from_str(json).unwrap()).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn numbers_are_doubles() {
    check_canonical(r#"{"a":1.0}"#, r#"{"a":1}"#);
    check_canonical(r#"{"a":-0}"#, r#"{"a":0}"#);
    check_canonical(r#"{"a":-0.0}"#, r#"{"a":0}"#);
    check_canonical(r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#);
    check_canonical(r#"{"a":1E21}"#, r#"{"a":1e+21}"#);
    check_canonical(r#"{"a":0.0000001}"#, r#"{"a":1e-7}"#);
    // A reader that is not exact to the last bit makes this …3.
    check_canonical(r#"{"a":333333333.33333329}"#, r#"{"a":333333333.3333333}"#);
    check_canonical(
        r#"{"a":1.7976931348623157e308}"#,
        r#"{"a":1.7976931348623157e+308}"#,
    );
}

#[test]
fn names_are_in_the_order_of_utf_16() {
    check_canonical(
        r#"{"\ufb33":1,"\ud83d\ude00":2,"\r":3,"1":4,"€":5}"#,
        "{\"\\r\":3,\"1\":4,\"€\":5,\"😀\":2,\"\u{fb33}\":1}",
    );
}

#[track_caller]
fn check(change: impl FnOnce(&mut Value, &mut RecordAttestation), key: &[u8], expected: &Verdict) {
    let (mut record, mut attestation) = (record(), attestation());
    change(&mut record, &mut attestation);
    let verdict = verify_record(&record, &attestation, key);
    assert_eq!(verdict.as_ref(), Ok(expected));
}

#[test]
fn what_the_signature_says() {
    let key = key_a().public_key();
    let key = key.as_bytes();
    check(|_, _| (), key, &Verdict::Valid);
    let other = Ed25519Signer::from_seed("b", &[0xa5; 32]).public_key();
    check(|_, _| (), other.as_bytes(), &Verdict::BadSignature);
    check(
        |_, it| it.signature = UNTAGGED.to_owned(),
        key,
        &Verdict::BadSignature,
    );
    let mut edited = record();
    edited["salience"] = json!(0.5);
    let mismatch = Verdict::CommitmentMismatch {
        expected: record_hash(&edited).unwrap().to_string(),
        signed: format!("sha256:{HASH}"),
    };
    check(|record, _| *record = edited, key, &mismatch);
    let unknown = Verdict::unknown_algorithm("es256");
    check(|_, it| it.algorithm = "es256".to_owned(), key, &unknown);
    let upper = format!("sha256:{}", "AB".repeat(32));
    check(
        |_, it| it.signed_record_hash = upper,
        key,
        &Verdict::MalformedCommitment,
    );
    // The reference reads this one; here a signature has one spelling everywhere.
    check(
        |_, it| it.signature.make_ascii_uppercase(),
        key,
        &Verdict::MalformedSignature,
    );
    check(|_, _| (), &key[1..], &Verdict::MalformedKey);
}

#[test]
fn what_we_sign_is_what_others_sign() {
    let issued_at = Timestamp::parse("2026-08-29T10:00:01Z").unwrap();
    let signed = attest_record(&key_a(), "prov-x", &record(), &issued_at);
    assert_eq!(signed, Ok(attestation()));
}

#[test]
fn only_objects_are_records() {
    for value in [json!([]), json!("a"), json!(null), json!(1)] {
        assert_eq!(record_hash(&value), Err(RecordError::NotAnObject));
        let verdict = verify_record(&value, &attestation(), &[]);
        assert_eq!(verdict, Err(RecordError::NotAnObject));
    }
}
