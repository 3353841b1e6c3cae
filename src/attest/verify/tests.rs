use super::{verify_frame, verify_inclusion};
use crate::wire::attestation::{InclusionProof, InclusionStep, ProvenanceAttestation};
use crate::wire::attested::AttestationVerdict as Verdict;
use crate::wire::frame::{ContextFrame, Provenance};

/// Public keys of the seeds `00`, `01`, … `1f` and 32 times `a5`.
const A: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
const B: &str = "29e5833a915a6429a4e3a7948475c338ef436eb82be89c92f059704403db9d55";
/// The point that is no point at all: of order one.
const IDENTITY: &str = "0100000000000000000000000000000000000000000000000000000000000000";

const COMMITMENT: &str = "84fe021f85197a6563956814de28a54b0f7c880c95cbd282a6f2a344881bc3bb";
const WITHOUT_DIGEST: &str = "0495ed031f1c2a8fa9c238a715f9963a3ae3847a51fbd484bcf8b7bf6c424087";
const OTHER_ID: &str = "b40fd84541b53bcdd1399438ecbc872464d5069a6015ad8a13eddf93c5e6e754";
const ROOT: &str = "e6b6b655ca1af6171be7bf811ddb2678195533603f3517e2aa040b0be2abe4c0";

const SIGNATURE: &str = "fd2bfa90b01985e43cd0c4e0bd5d3364eaef4c9939ba917a43607f9b0ed4671f71f5543aa996c13202a067573c5e6076eac53166de4e2565e7a66d92399ff10f";
const OVER_WITHOUT_DIGEST: &str = "7a3558d2e3fae907851ab215a27ce021eda4768233783dcf4d6570b07f35e656089c92a217f54872cd27d0f611d80505da30e25f45cff572a96ae999bacfe002";
const OVER_ROOT: &str = "bf48dd3212421ba99282ef1846120271a9b4770bdbc0595d7d2f34942be44d9ad5931e25e5c47e6bdbb6702ffbf0d38a7c2fcbd8006609c30a1c338297758a00";
/// [`SIGNATURE`] with the order of the group added to its second half.
const MALLEABLE: &str = "fd2bfa90b01985e43cd0c4e0bd5d3364eaef4c9939ba917a43607f9b0ed4671f5ec94a97c3f9d38ad83c5ffa1a583f8beac53166de4e2565e7a66d92399ff11f";
/// By key A over [`COMMITMENT`], with a first half of small order.
const SMALL_R: &str = "0100000000000000000000000000000000000000000000000000000000000000f4abbe57b8e9a3ce660b62ceae7e5ef84bddb02e4e9e1e2f5eba19bafc26680f";

/// Of any length, and with what nobody should accept.
fn key(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn frame() -> ContextFrame {
    let link = Provenance {
        kind: "file".into(),
        uri: Some("file:///srv/app/worker.py".to_owned()),
        range: Some("L7-19".to_owned()),
        digest: Some(format!("sha256:{}", "5c".repeat(32))),
        method: Some("file-read".to_owned()),
        by: Some("indexer-7".to_owned()),
    };
    ContextFrame {
        id: "guide/retries".to_owned(),
        content_digest: Some(format!("sha256:{}", "3f".repeat(32))),
        provenance: vec![link],
        ..ContextFrame::default()
    }
}

fn signed(commitment: &str, signature: &str) -> ProvenanceAttestation {
    ProvenanceAttestation {
        signed_commitment: format!("sha256:{commitment}"),
        key_id: "key-1".to_owned(),
        algorithm: "ed25519".to_owned(),
        attester_id: "example-attester".to_owned(),
        signature: signature.to_owned(),
        issued_at: "2026-08-29T00:00:00Z".to_owned(),
    }
}

fn good() -> ProvenanceAttestation {
    signed(COMMITMENT, SIGNATURE)
}

/// A good case, changed.
#[track_caller]
fn check(
    change: impl FnOnce(&mut ContextFrame, &mut ProvenanceAttestation),
    public: &str,
    expected: &Verdict,
) {
    let (mut frame, mut attestation) = (frame(), good());
    change(&mut frame, &mut attestation);
    let verdict = verify_frame("doc-index", &frame, &attestation, &key(public));
    assert_eq!(verdict, *expected);
}

fn mismatch(expected: &str, signed: &str) -> Verdict {
    Verdict::CommitmentMismatch {
        expected: format!("sha256:{expected}"),
        signed: format!("sha256:{signed}"),
    }
}

#[test]
fn what_the_signature_says() {
    check(|_, _| (), A, &Verdict::Valid);
    let identity_only = signed(WITHOUT_DIGEST, OVER_WITHOUT_DIGEST);
    check(
        |frame, it| (frame.content_digest, *it) = (None, identity_only),
        A,
        &Verdict::ValidIdentityOnly,
    );
    check(
        |_, it| it.issued_at = "whenever".to_owned(),
        A,
        &Verdict::Valid,
    );
    check(
        |_, it| (it.key_id, it.attester_id) = ("other".to_owned(), "someone-else".to_owned()),
        A,
        &Verdict::Valid,
    );
}

#[test]
fn lifted_and_changed() {
    check(
        |frame, _| frame.content_digest = None,
        A,
        &mismatch(WITHOUT_DIGEST, COMMITMENT),
    );
    check(
        |frame, _| frame.id = "guide/backoff".to_owned(),
        A,
        &mismatch(OTHER_ID, COMMITMENT),
    );
    let verdict = verify_frame("doc-index-2", &frame(), &good(), &key(A));
    let other_provider = "b28a15529efc9638e850f63f5cbd9921d602630878e10c9d43d1a90c5c9b85ef";
    assert_eq!(verdict, mismatch(other_provider, COMMITMENT));
}

#[test]
fn signatures_have_one_form() {
    check(|_, _| (), B, &Verdict::BadSignature);
    let bad = |text: &str| {
        check(
            |_, it| it.signature = text.to_owned(),
            A,
            &Verdict::BadSignature,
        )
    };
    bad(&SIGNATURE.replacen('f', "0", 1));
    bad(MALLEABLE);
    bad(SMALL_R);
    let malformed = |text: &str| {
        check(
            |_, it| it.signature = text.to_owned(),
            A,
            &Verdict::MalformedSignature,
        );
    };
    malformed("abcd");
    malformed("");
    malformed(&SIGNATURE[..127]);
    malformed(&SIGNATURE.to_uppercase());
    malformed(&SIGNATURE.replacen("fd", "zz", 1));
}

#[test]
fn keys_of_small_order_sign_nothing() {
    check(|_, _| (), IDENTITY, &Verdict::BadSignature);
    let trivial = format!("01{}", "00".repeat(63));
    check(
        |_, it| it.signature = trivial,
        IDENTITY,
        &Verdict::BadSignature,
    );
}

#[test]
fn malformed_keys() {
    check(|_, _| (), &A[..62], &Verdict::MalformedKey);
    check(|_, _| (), &format!("{A}00"), &Verdict::MalformedKey);
    check(
        |_, _| (),
        &format!("02{}", "00".repeat(31)),
        &Verdict::MalformedKey,
    );
}

#[test]
fn malformed_commitments() {
    for text in [
        format!("sha256:{}", COMMITMENT.to_uppercase()),
        COMMITMENT.to_owned(),
        "not-a-digest".to_owned(),
        format!("sha256:{}", &COMMITMENT[..62]),
        format!("sha512:{COMMITMENT}"),
    ] {
        check(
            |_, it| it.signed_commitment = text,
            A,
            &Verdict::MalformedCommitment,
        );
    }
}

#[test]
fn unknown_algorithms() {
    for name in ["dilithium3", "Ed25519", ""] {
        let expected = Verdict::unknown_algorithm(name);
        check(|_, it| it.algorithm = name.to_owned(), A, &expected);
    }
}

#[test]
fn the_order_of_checks() {
    let expected = Verdict::unknown_algorithm("x");
    check(
        |_, it| {
            it.algorithm = "x".to_owned();
            it.signed_commitment = "junk".to_owned();
            it.signature = String::new();
        },
        "",
        &expected,
    );
    check(
        |frame, _| frame.id = "guide/backoff".to_owned(),
        "00",
        &mismatch(OTHER_ID, COMMITMENT),
    );
    check(
        |_, it| it.signature = "zz".to_owned(),
        "00",
        &Verdict::MalformedKey,
    );
}

/// The proof of leaf 3 of 5.
fn proof() -> InclusionProof {
    let step = |sibling_is_left, hex| InclusionStep {
        sibling: format!("sha256:{hex}"),
        sibling_is_left,
    };
    InclusionProof {
        leaf_index: 3,
        leaf_count: 5,
        path: vec![
            step(
                true,
                "23146354493b19d11a00ddb878576cdb07f49ebdfbd6ee299366cf586c861465",
            ),
            step(
                true,
                "95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
            ),
            step(
                false,
                "57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
            ),
        ],
    }
}

fn included(id: &str, change: impl FnOnce(&mut InclusionProof), public: &str) -> Verdict {
    let frame = ContextFrame {
        id: id.to_owned(),
        content_digest: Some(format!("sha256:{}", "0e".repeat(32))),
        ..ContextFrame::default()
    };
    let mut proof = proof();
    change(&mut proof);
    let root = signed(ROOT, OVER_ROOT);
    verify_inclusion("doc-index", &frame, &proof, &root, &key(public))
}

#[test]
fn a_leaf_under_a_signed_root() {
    assert_eq!(included("f3", |_| (), A), Verdict::Valid);
    assert_eq!(included("f3", |_| (), B), Verdict::BadSignature);
    let other = included("f2", |_| (), A);
    assert!(
        matches!(other, Verdict::CommitmentMismatch { .. }),
        "{other}"
    );
}

/// The reference lets the first four pass or calls them a mismatch; it looks at no numbers.
#[test]
fn proofs_must_fit_their_numbers() {
    let zeros = InclusionStep {
        sibling: format!("sha256:{}", "00".repeat(32)),
        sibling_is_left: false,
    };
    let long = |n_steps| InclusionProof {
        leaf_index: 0,
        leaf_count: 1,
        path: vec![zeros.clone(); n_steps],
    };
    let malformed = |change: &dyn Fn(&mut InclusionProof)| {
        assert_eq!(included("f3", change, A), Verdict::MalformedCommitment);
    };
    malformed(&|it| (it.leaf_index, it.leaf_count) = (0, 9999));
    malformed(&|it| *it = long(64));
    malformed(&|it| it.path.truncate(2));
    malformed(&|it| it.path[0].sibling_is_left = false);
    malformed(&|it| *it = long(65));
    malformed(&|it| it.leaf_index = 5);
    malformed(&|it| it.path[0].sibling = "sha256:zz".to_owned());
    malformed(&|it| it.path[0].sibling = it.path[0].sibling.to_uppercase());
}
