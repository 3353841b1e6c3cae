use super::{Attester, Ed25519Signer, Evidence, SignError, Signer};
use crate::attest::commitment::frame_commitment;
use crate::attest::hex;
use crate::attest::key::PublicKey;
use crate::attest::merkle::{leaf_order, merkle_root};
use crate::attest::verify::{verify_frame, verify_inclusion};
use crate::wire::attested::AttestationVerdict as Verdict;
use crate::wire::frame::ContextFrame;
use crate::wire::query::ContextQueryResult;
use crate::wire::time::Timestamp;

/// The seed `00`, `01`, … `1f`.
fn key_a(key_id: &str) -> Ed25519Signer {
    let seed = std::array::from_fn(|it| u8::try_from(it).unwrap());
    Ed25519Signer::from_seed(key_id, &seed)
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// An answer by key A in all forms; the frame in the middle has no digest.
const ANSWER: &str = r#"{"frames":[{"id":"z-last","kind":"doc","title":"T z-last","content":"body of z-last","content_digest":"sha256:7777777777777777777777777777777777777777777777777777777777777777","score":0.5,"token_cost":4,"provenance":[{"type":"file","uri":"file:///srv/app/worker.py","range":"L7-19","digest":"sha256:5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c","method":"file-read","by":"indexer-7"}],"citation_label":"cite z-last"},{"id":"a-first","kind":"doc","title":"T a-first","content":"body of a-first","content_digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","score":0.25,"token_cost":4,"provenance":[{"type":"file","uri":"file:///srv/app/worker.py","range":"L7-19","digest":"sha256:5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c","method":"file-read","by":"indexer-7"},{"type":"derivation","method":"summarize","by":"distiller/2"}],"citation_label":"cite a-first"},{"id":"m-mid","kind":"doc","title":"T m-mid","content":"body of m-mid","score":0.75,"token_cost":4,"citation_label":"cite m-mid"}],"truncated":false,"frame_attestations":[{"frame":{"provider_id":"doc-index","frame_id":"a-first","content_digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111"},"attestation":{"signed_commitment":"sha256:ad904a573b601174bd2ab4679a91a3462fe4f4d2633e8cdd6efb0acecff25649","key_id":"k-2026","algorithm":"ed25519","attester_id":"doc-index","signature":"09e9e6c07c1476630c0e8646f359f48da0fa0b788ff93e3595f5689fd186be00289983190f0bcd1549ccbda55f18892530d4719910d12ce1ad52da18aca0e00f","issued_at":"2026-08-29T00:00:00Z"},"inclusion_proof":{"leaf_index":0,"leaf_count":3,"path":[{"sibling":"sha256:77585659b790761a2932aefa42b15aa63803f247867cb290b032cb24eb02da48","sibling_is_left":false},{"sibling":"sha256:470b64b49f84be92ef4151723625692f8fc9385a367944f478b541f435e96047","sibling_is_left":false}]}},{"frame":{"provider_id":"doc-index","frame_id":"m-mid"},"inclusion_proof":{"leaf_index":1,"leaf_count":3,"path":[{"sibling":"sha256:6e1bbca38e26cacc0f6601b1b67a466c5a1a5373fb6265c0836821141d2c5124","sibling_is_left":true},{"sibling":"sha256:470b64b49f84be92ef4151723625692f8fc9385a367944f478b541f435e96047","sibling_is_left":false}]}},{"frame":{"provider_id":"doc-index","frame_id":"z-last","content_digest":"sha256:7777777777777777777777777777777777777777777777777777777777777777"},"inclusion_proof":{"leaf_index":2,"leaf_count":3,"path":[{"sibling":"sha256:25d77779a593977c9ab9d0f3f800ad12988a722bdf436af0962726868d5e13db","sibling_is_left":true}]}}],"result_attestation":{"signed_commitment":"sha256:e41318425d1409f7aa42a9567f26df08c9813cbf039a8e5a257e25d39b03de8e","key_id":"k-2026","algorithm":"ed25519","attester_id":"doc-index","signature":"bfe1c1948c536fffa63514ceb1354d2e212aaff1ef27a739a4402d3a26d39cb8c32ff6fd43bc89e000d778c91542c0188bf8c61cc2da55abb4187094cf69f100","issued_at":"2026-08-29T00:00:00Z"}}"#;

fn answer() -> ContextQueryResult {
    serde_json::from_str(ANSWER).unwrap()
}

#[test]
fn what_we_sign_is_what_others_sign() {
    let expected = answer();
    let mut signed = answer();
    Attester::new(key_a("k-2026"), "doc-index")
        .attest(&mut signed, Evidence::Both, &time("2026-08-29T00:00:00Z"))
        .unwrap();
    assert_eq!(signed.frames, expected.frames);
    assert_eq!(signed.result_attestation, expected.result_attestation);
    // In the order of the frames: `z-last` and `a-first`, but not the one without a digest.
    let [last, first] = &signed.frame_attestations[..] else {
        panic!("two entries");
    };
    assert_eq!(first, &expected.frame_attestations[0]);
    assert_eq!(last.frame, expected.frame_attestations[2].frame);
    let proof = &expected.frame_attestations[2].inclusion_proof;
    assert_eq!(&last.inclusion_proof, proof);
}

#[test]
fn a_root_covers_what_has_no_entry() {
    let answer = answer();
    let key = key_a("k").public_key();
    let root = answer.result_attestation.as_ref().unwrap();
    let order = leaf_order(&answer.frames);
    let expected = [Verdict::Valid, Verdict::ValidIdentityOnly, Verdict::Valid];
    for ((entry, at), expected) in answer.frame_attestations.iter().zip(order).zip(expected) {
        let frame = &answer.frames[at];
        assert_eq!(entry.frame, frame.identity(&"doc-index".into()));
        let proof = entry.inclusion_proof.as_ref().unwrap();
        let verdict = verify_inclusion("doc-index", frame, proof, root, key.as_bytes());
        assert_eq!(verdict, expected, "{}", frame.id);
    }
}

/// The attested answer that the published generator writes.
const PUBLISHED: &str = r#"{"frames":[{"id":"frame:policy:retry","kind":"doc","title":"Retry policy","content":"Retry with exponential backoff, at most 3 times.","content_digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","uri":"file:///repo/docs/retry-policy.md","content_fidelity":"exact","minimum_content_fidelity":"normalized","inline_content_requirement":"required","score":0.875,"token_cost":12,"canonical_token_cost":12,"tokenizer_ref":"openai:o200k_base","valid_from":"2026-01-01T00:00:00Z","valid_to":"2026-12-31T23:59:59Z","recorded_at":"2026-07-21T12:34:56Z","provenance":[{"type":"file","uri":"file:///repo/docs/retry-policy.md","range":"L10-18","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","method":"file-read","by":"repo-indexer"},{"type":"derivation","uri":"contextgraph://repo-indexer/retry-policy","method":"summary","by":"repo-indexer"}],"citation_label":"retry-policy.md L10-18","embedding":{"fingerprint":"bge-small-en-v1.5/384/l2","vector":[0.125,-0.5,1.0]},"relations":[{"rel":"doc.documents","target_uri":"symbol:///repo/src/retry.rs#RetryPolicy","display_name":"RetryPolicy"}]},{"id":"frame:minimal","kind":"fact","title":"Minimal conforming frame","content":"Default arrays are omitted on the wire.","score":1.0,"token_cost":10,"citation_label":"minimal vector"}],"truncated":false,"frame_attestations":[{"frame":{"provider_id":"repo-indexer","frame_id":"frame:policy:retry","content_digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"attestation":{"signed_commitment":"sha256:78df51a8d632df287957f71a792aca4628542e9e2ef8ef677e1dea2b67e7c499","key_id":"repo-indexer-2026-08","algorithm":"ed25519","attester_id":"repo-indexer","signature":"1d9bd851829a0c6c3ce5eb4933a1852db7ca09034f092ebd2937c111d48e0f992a28882a6c22b1c8beea92073914e5ffe141b820f2a153bdbb0134ed305c0a09","issued_at":"2026-08-29T12:00:00Z"},"inclusion_proof":{"leaf_index":1,"leaf_count":2,"path":[{"sibling":"sha256:6b1d8bc0f9f73a6ab9e84ccfaf35af23e83aa32441c75450783c699f9d8b2eae","sibling_is_left":true}]}},{"frame":{"provider_id":"repo-indexer","frame_id":"frame:minimal"},"inclusion_proof":{"leaf_index":0,"leaf_count":2,"path":[{"sibling":"sha256:de4b8191386772610af0fcdb0c9908d38ae1feb5dc65aa0098f82bc18ebfa56e","sibling_is_left":false}]}}],"result_attestation":{"signed_commitment":"sha256:e7c84f0a6b2a7f7a6f14b12baa276af1d9347d82561fa1a797b47a7334660b4f","key_id":"repo-indexer-2026-08","algorithm":"ed25519","attester_id":"repo-indexer","signature":"78439a36f599aeecaa4e36c653b647ec1c02395a4563dfe89efbeff375f21a8ca58de0b7ce6779f3cc93f445fb18a91f6ef8ad0ca651853a17056b3da4633602","issued_at":"2026-08-29T12:00:00Z"}}"#;

#[test]
fn the_published_answer() {
    let published: ContextQueryResult = serde_json::from_str(PUBLISHED).unwrap();
    let signer = Ed25519Signer::from_seed("repo-indexer-2026-08", &[0x2a; 32]);
    let mut signed = published.clone();
    Attester::new(signer, "repo-indexer")
        .attest(&mut signed, Evidence::Both, &time("2026-08-29T12:00:00Z"))
        .unwrap();
    assert_eq!(signed.result_attestation, published.result_attestation);
    // There each frame under the root has a proof; with us only what a signature covers.
    let both = published.frame_attestations[0].clone();
    assert_eq!(signed.frame_attestations, [both]);
    let commitments = published
        .frames
        .iter()
        .map(|it| frame_commitment("repo-indexer", it));
    let mut commitments: Vec<_> = commitments.collect();
    commitments.reverse();
    let root = merkle_root(&commitments).to_string();
    assert_eq!(
        root,
        "sha256:e7c84f0a6b2a7f7a6f14b12baa276af1d9347d82561fa1a797b47a7334660b4f"
    );
}

#[test]
fn signatures_of_the_published_suite() {
    let signer = Ed25519Signer::from_seed("k", &[7; 32]);
    let public = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";
    assert_eq!(signer.public_key().to_hex(), public);
    let commitment = "cba5cb083177e61ce370ab586dbf7096508e5224ad18d213c902e014796c88ea";
    let message: [u8; 32] = hex::decode(commitment).unwrap();
    let signature = hex::encode(&signer.sign(&message).unwrap());
    let expected = "2f8af919196862e7f946a0117d65522da36592344cf46ffe00ab8e6ec0a6b5cdb132800b71b5cd161609378d8ebd789a0adc971cdb8856cd195c9154fe2b2d04";
    assert_eq!(signature, expected);
}

fn frame(id: &str, digest: Option<&str>) -> ContextFrame {
    ContextFrame {
        id: id.to_owned(),
        content_digest: digest.map(str::to_owned),
        ..ContextFrame::default()
    }
}

#[test]
fn one_entry_for_each_identity() {
    let frames = vec![
        frame("b", Some("x")),
        frame("a", None),
        frame("b", Some("x")),
        frame("b", Some("y")),
    ];
    let mut result = ContextQueryResult::from(frames);
    let attester = Attester::new(key_a("k"), "p").in_the_name_of("team");
    let time = time("2026-01-01T00:00:00Z");
    attester
        .attest(&mut result, Evidence::PerFrame, &time)
        .unwrap();
    assert_eq!(result.result_attestation, None);
    let digests: Vec<_> = result
        .frame_attestations
        .iter()
        .map(|it| it.frame.content_digest.as_deref().unwrap())
        .collect();
    assert_eq!(digests, ["x", "y"]);
    let own = result.frame_attestations[1].attestation.as_ref().unwrap();
    let key = key_a("k").public_key();
    let verdict = verify_frame("p", &result.frames[3], own, key.as_bytes());
    assert_eq!(
        (verdict, own.attester_id.as_str()),
        (Verdict::Valid, "team")
    );
    attester.attest(&mut result, Evidence::Root, &time).unwrap();
    let places: Vec<_> = result
        .frame_attestations
        .iter()
        .map(|it| it.inclusion_proof.as_ref().unwrap().leaf_index)
        .collect();
    assert_eq!(places, [1, 3]);
    assert!(result.frame_attestations[0].attestation.is_none());
}

#[test]
fn the_handshake_publishes_the_key() {
    let published = Attester::new(key_a("k-2026"), "p").attester_key();
    assert_eq!(published.algorithm, "ed25519");
    assert_eq!(published.key_id, "k-2026");
    assert_eq!(
        published.public_key,
        "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    );
}

/// A token that was pulled out.
struct Absent;

impl Signer for Absent {
    fn key_id(&self) -> &str {
        "token"
    }

    fn public_key(&self) -> PublicKey {
        key_a("k").public_key()
    }

    fn sign(&self, _message: &[u8]) -> Result<[u8; 64], SignError> {
        Err(SignError::new("token", "not there\r"))
    }
}

#[test]
fn a_signer_that_fails_leaves_the_answer_alone() {
    let mut result = answer();
    let error = Attester::new(Absent, "doc-index")
        .attest(&mut result, Evidence::Both, &time("2026-01-01T00:00:00Z"))
        .unwrap_err();
    assert_eq!(error.to_string(), r"key `token`: not there\r");
    assert_eq!(result, answer());
}

#[test]
fn secrets_are_not_shown() {
    let signer = key_a("k");
    let shown = format!("{signer:?}");
    assert!(
        shown.contains("03a107bf") && !shown.contains("00010203"),
        "{shown}"
    );
    assert!(!shown.contains("[0, 1, 2"), "{shown}");
    let other = Ed25519Signer::generate("k").unwrap();
    assert_ne!(
        other.public_key(),
        Ed25519Signer::generate("k").unwrap().public_key()
    );
}
