use proptest::prelude::*;

use super::shape::{self, Shape};
use super::{Decoded, Effect, List, Note, decode, encode, repair};
use crate::wire::attestation::*;
use crate::wire::capability::*;
use crate::wire::envelope::Envelope;
use crate::wire::frame::*;
use crate::wire::identity::FrameId;
use crate::wire::query::*;
use crate::wire::verify::*;

fn text(word: &str) -> Option<String> {
    Some(word.to_owned())
}

fn frame_id() -> FrameId {
    FrameId {
        provider_id: "p".into(),
        frame_id: "f".to_owned(),
        content_digest: text("d"),
    }
}

fn attestation() -> ProvenanceAttestation {
    ProvenanceAttestation {
        signed_commitment: "c".to_owned(),
        key_id: "k".to_owned(),
        algorithm: "ed25519".to_owned(),
        attester_id: "a".to_owned(),
        signature: "s".to_owned(),
        issued_at: "i".to_owned(),
    }
}

/// A frame with every member set.
pub(super) fn full_frame() -> ContextFrame {
    ContextFrame {
        id: "f".to_owned(),
        kind: "acme:note".into(),
        title: "t".to_owned(),
        content: text("c"),
        content_digest: text("d"),
        uri: text("u"),
        representation: Representation::Compact,
        content_fidelity: Some(ContentFidelity::Exact),
        canonical_content_hash: text("h"),
        content_ref: Some(ContentRef {
            provider_id: "p".to_owned(),
            uri: "u".to_owned(),
            expires_at: text("e"),
        }),
        transform: Some(Transform {
            method: "m".to_owned(),
            implementation: "i".to_owned(),
            version: "v".to_owned(),
        }),
        minimum_content_fidelity: Some(ContentFidelity::Normalized),
        inline_content_requirement: Some(InlineContentRequirement::Required),
        score: 0.5,
        token_cost: 1,
        canonical_token_cost: Some(2),
        tokenizer_ref: text("t"),
        valid_from: text("from"),
        valid_to: text("to"),
        recorded_at: text("at"),
        provenance: vec![Provenance {
            kind: ProvenanceType::File,
            uri: text("u"),
            range: text("L1"),
            digest: text("d"),
            method: text("m"),
            by: text("b"),
        }],
        citation_label: text("l"),
        embedding: Some(FrameEmbedding {
            fingerprint: "m/1".to_owned(),
            vector: Some(vec![0.25]),
        }),
        relations: vec![Relation {
            rel: Rel::CodeCalls,
            target_uri: "u".to_owned(),
            display_name: text("n"),
        }],
    }
}

/// One message of each type with every member set, beside its shape.
pub(super) fn everything() -> Vec<(&'static Shape, Envelope)> {
    let ack = Envelope::HandshakeAck {
        protocol_version: "contextgraph/1.0".to_owned(),
        provider: ProviderInfo {
            name: "n".to_owned(),
            version: "v".to_owned(),
            data_flow: DataFlow {
                reads: true,
                writes: true,
                egress: true,
                egress_scopes: vec!["acme:x".into()],
            },
        },
        capabilities: Capabilities {
            query: QueryCapability {
                kinds: vec![FrameKind::Doc],
            },
            correlation: true,
            graph: true,
            embeddings_fingerprint: text("m/1"),
            verify: true,
            representations: vec![Representation::Full],
            resolve: true,
        },
        attester_keys: vec![AttesterKey {
            key_id: "k".to_owned(),
            algorithm: "ed25519".to_owned(),
            public_key: "00".to_owned(),
        }],
    };
    let query = Envelope::Query {
        id: Some("q1".into()),
        query: ContextQuery {
            goal: "g".to_owned(),
            query_text: text("q"),
            embedding: Some(vec![0.5]),
            kinds: vec![FrameKind::Doc],
            anchors: vec!["u".to_owned()],
            max_frames: 1,
            max_tokens: 2,
            as_of: text("at"),
            representation_preferences: vec![Representation::Compact],
        },
    };
    let frames = Envelope::Frames {
        id: Some("q1".into()),
        result: ContextQueryResult {
            frames: vec![full_frame()],
            truncated: true,
            dropped_estimate: Some(3),
            frame_attestations: vec![FrameAttestation {
                frame: frame_id(),
                attestation: Some(attestation()),
                inclusion_proof: Some(InclusionProof {
                    leaf_index: 0,
                    leaf_count: 2,
                    path: vec![InclusionStep {
                        sibling: "s".to_owned(),
                        sibling_is_left: false,
                    }],
                }),
            }],
            result_attestation: Some(attestation()),
        },
    };
    let verify = Envelope::Verify {
        id: Some("v1".into()),
        request: VerifyRequest {
            frames: vec![frame_id()],
        },
    };
    let verified = Envelope::Verified {
        id: Some("v1".into()),
        response: VerifyResponse {
            verdicts: vec![FrameVerdict {
                frame: frame_id(),
                status: VerdictStatus::Stale,
                replacement_digest: text("r"),
            }],
        },
    };
    let error = Envelope::Error {
        id: Some("q1".into()),
        code: Some("acme:quota".into()),
        message: "m".to_owned(),
    };
    vec![
        (&shape::HANDSHAKE, Envelope::handshake()),
        (&shape::HANDSHAKE_ACK, ack),
        (&shape::QUERY, query),
        (&shape::FRAMES, frames),
        (&shape::VERIFY, verify),
        (&shape::VERIFIED, verified),
        (&shape::SHUTDOWN, Envelope::Shutdown),
        (&shape::ERROR, error),
    ]
}

#[track_caller]
fn clean(line: &str) -> Envelope {
    match decode(line.as_bytes()) {
        Decoded::Envelope { envelope, notes } if notes.is_empty() => envelope,
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn noted(line: &str) -> (Envelope, Vec<Note>) {
    match decode(line.as_bytes()) {
        Decoded::Envelope { envelope, notes } => (envelope, notes),
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn malformed(line: impl AsRef<[u8]>) -> String {
    match decode(line.as_ref()) {
        Decoded::Malformed(malformed) => malformed.to_string(),
        other => panic!("{other:?}"),
    }
}

/// An answer with these frames.
fn answer(frames: &str) -> String {
    format!(r#"{{"type":"frames","id":"q1","result":{{"frames":[{frames}],"truncated":false}}}}"#)
}

const GOOD: &str = r#"{"id":"a","kind":"doc","title":"t","content":"abcd","score":1,"token_cost":1,"citation_label":"a"}"#;

#[test]
fn every_message_survives() {
    for (_, envelope) in everything() {
        let line = encode(&envelope);
        assert_eq!(line.iter().filter(|&&it| it == b'\n').count(), 1);
        assert_eq!(clean(std::str::from_utf8(&line).unwrap()), envelope);
    }
}

#[test]
fn members_are_written_in_the_documented_order() {
    for line in [
        r#"{"type":"handshake","protocol_version":"contextgraph/1.0"}"#,
        r#"{"type":"handshake_ack","protocol_version":"contextgraph/1.0","provider":{"name":"wiki","version":"3","data_flow":{"reads":true,"writes":false,"egress":false}},"capabilities":{"query":{"kinds":["doc","fact"]},"correlation":true,"graph":false,"verify":true,"resolve":false}}"#,
        r#"{"type":"query","id":"q7","query":{"goal":"invoices","kinds":["doc"],"max_frames":4,"max_tokens":600}}"#,
        r#"{"type":"frames","id":"q7","result":{"frames":[{"id":"wiki#3","kind":"doc","title":"T","content":"C","score":0.82,"token_cost":1,"citation_label":"wiki"}],"truncated":false}}"#,
        r#"{"type":"verify","request":{"frames":[{"provider_id":"wiki","frame_id":"f"}]}}"#,
        r#"{"type":"verified","response":{"verdicts":[{"frame":{"provider_id":"wiki","frame_id":"f"},"status":"stale","replacement_digest":"x"}]}}"#,
        r#"{"type":"error","id":"q8","code":"unsupported_kind","message":"doc and fact only"}"#,
        r#"{"type":"shutdown"}"#,
    ] {
        assert_eq!(encode(&clean(line)), format!("{line}\n").into_bytes());
    }
}

#[test]
fn what_a_reader_tolerates() {
    let plain = clean(r#"{"type":"shutdown"}"#);
    for line in [
        "\u{feff}{\"type\":\"shutdown\"}",
        "  {\"type\" : \"shutdown\"}\r\n",
        r#"{"later":{"a":[1,{"b":null}]},"type":"shutdown","x":1,"x":2}"#,
        r#"{"type":"shut\u0064own","id":null}"#,
    ] {
        assert_eq!(clean(line), plain, "{line}");
    }
    let nulls = r#"{"score":1,"token_cost":1.0,"uri":null,"relations":null,"representation":null,"provenance":null,"content":"docs\/\u6587 \ud83d\udd0e","title":"t","kind":"doc","id":"a"}"#;
    let Envelope::Frames { result, .. } = clean(&answer(nulls)) else {
        panic!("an answer");
    };
    let frame = &result.frames[0];
    assert_eq!(frame.content.as_deref(), Some("docs/文 🔎"));
    assert_eq!((frame.score, frame.token_cost, &frame.uri), (1.0, 1, &None));
    let caps = r#"{"type":"handshake_ack","protocol_version":"contextgraph/1.7","provider":{"name":"n","version":"v","data_flow":{}},"capabilities":{"query":null,"graph":null,"upsert":true}}"#;
    assert!(matches!(clean(caps), Envelope::HandshakeAck { .. }));
}

#[test]
fn words_are_kept_verbatim() {
    let line = r#"{"type":"frames","result":{"frames":[{"id":"a","kind":"acme:diagram","title":"t","representation":"outline","content_fidelity":"vague","score":0.5,"token_cost":0,"provenance":[{"type":"carrier pigeon"}],"relations":[{"rel":"owned_by","target_uri":"u"}]}],"truncated":false}}"#;
    assert_eq!(encode(&clean(line)), format!("{line}\n").into_bytes());
}

#[test]
fn what_is_no_message() {
    for (line, reason) in [
        ("", "not a JSON object"),
        ("[\"shutdown\"]", "not a JSON object"),
        ("hello", "not a JSON object"),
        ("null", "not a JSON object"),
        ("{}", "type is missing"),
        ("{\"type\":null}", "type is missing"),
        ("{\"type\":7}", "type is not a string"),
        ("{\"type\":\"shutdown\"", "not JSON: EOF"),
        ("{\"type\":\"shutdown\"}{}", "not JSON: trailing characters"),
        (
            "{\"type\":\"shutdown\",\"type\":\"shutdown\"}",
            "duplicate field `type`",
        ),
        (
            "{\"type\":\"error\",\"message\":NaN}",
            "not JSON: expected value",
        ),
        ("{\"type\":\"query\"}", "query: query: missing"),
        ("{\"type\":\"error\"}", "error: message: missing"),
        (
            r#"{"type":"frames","result":{"frames":null,"truncated":false}}"#,
            "frames: result.frames: missing",
        ),
        (
            r#"{"type":"frames","result":{"frames":[]}}"#,
            "frames: result.truncated: missing",
        ),
        (
            r#"{"type":"handshake_ack","protocol_version":1.0}"#,
            "handshake_ack: protocol_version: invalid type",
        ),
        (
            r#"{"type":"query","query":{"goal":"g","max_frames":1,"max_frames":1,"max_tokens":1}}"#,
            "query: query.max_frames: given twice",
        ),
    ] {
        let found = malformed(line);
        assert!(found.starts_with(reason), "{line}: {found}");
    }
    assert!(
        malformed(b"{\"type\":\"error\",\"message\":\"\xff\"}")
            .starts_with("not UTF-8 from byte 27")
    );
}

#[test]
fn a_data_flow_is_read_whole_or_not_at_all() {
    let ack = |flow: &str| {
        format!(
            r#"{{"type":"handshake_ack","protocol_version":"contextgraph/1.0","provider":{{"name":"n","version":"v","data_flow":{flow}}},"capabilities":{{}}}}"#
        )
    };
    assert!(
        malformed(ack(r#"{"egress":"yes"}"#)).contains("provider.data_flow.egress: invalid type")
    );
    assert!(malformed(ack(r#"{"egress_scopes":["org-tenant",5]}"#)).contains("egress_scopes"));
    let (_, notes) = noted(&ack(r#"{"reads":1}"#));
    assert_eq!(notes[0].member, "provider.data_flow.reads");
}

#[test]
fn unknown_types_are_classified() {
    let decoded = decode(br#"{"type":"notify","id":"q9","payload":[]}"#);
    let expected = Decoded::Unknown {
        kind: "notify".to_owned(),
        id: Some("q9".into()),
    };
    assert_eq!(decoded, expected);
}

#[test]
fn a_broken_frame_costs_itself() {
    let half = GOOD.replace("\"token_cost\":1", "\"token_cost\":8.5");
    let twice = GOOD.replace("\"kind\":\"doc\"", "\"kind\":\"doc\",\"kind\":\"doc\"");
    let untitled = GOOD.replace("\"title\":\"t\",", "");
    let (envelope, notes) = noted(&answer(
        &[GOOD, &half, &twice, "5", &untitled, GOOD].join(","),
    ));
    let Envelope::Frames { result, id } = envelope else {
        panic!("an answer");
    };
    assert_eq!((result.frames.len(), id), (2, Some("q1".into())));
    let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "result.frames[1].token_cost: 8.5 is not a whole number of 32 bits from 0; left out",
            "result.frames[2].kind: given twice; left out",
            "result.frames[3]: invalid type: integer `5`, expected an object; left out",
            "result.frames[4].title: missing; left out",
        ]
    );
}

#[test]
fn a_broken_optional_member_is_read_as_absent() {
    let odd = GOOD.replace(
        "\"id\":\"a\"",
        r#""id":"a","uri":5,"provenance":[{"type":"file","uri":7},{"uri":"x"}],"embedding":{"fingerprint":"m/2","vector":[1,"x"]},"content_ref":{"uri":"u"}"#,
    );
    let (envelope, notes) = noted(&answer(&odd));
    let Envelope::Frames { result, .. } = envelope else {
        panic!("an answer");
    };
    let frame = &result.frames[0];
    assert_eq!((&frame.uri, &frame.content_ref), (&None, &None));
    assert_eq!(
        (frame.provenance.len(), &frame.provenance[0].uri),
        (1, &None)
    );
    assert_eq!(frame.embedding.as_ref().map(|it| &it.vector), Some(&None));
    let effects: Vec<_> = notes
        .iter()
        .map(|it| (it.member.as_str(), it.effect))
        .collect();
    assert_eq!(
        effects,
        [
            ("result.frames[0].uri", Effect::ReadAsAbsent),
            (
                "result.frames[0].content_ref.provider_id",
                Effect::ReadAsAbsent
            ),
            ("result.frames[0].provenance[0].uri", Effect::ReadAsAbsent),
            (
                "result.frames[0].provenance[1].type",
                Effect::Excluded(List::Other)
            ),
            ("result.frames[0].embedding.vector", Effect::ReadAsAbsent),
        ]
    );
    assert!(!notes.iter().any(Note::is_lost_frame));
}

#[test]
fn verdicts_and_keys_are_read_one_by_one() {
    let (envelope, notes) = noted(
        r#"{"type":"verified","response":{"verdicts":[{"status":"valid"},{"frame":{"provider_id":"p","frame_id":"f"},"status":"hazy"}]}}"#,
    );
    let Envelope::Verified { response, .. } = envelope else {
        panic!("verdicts");
    };
    assert_eq!((response.verdicts.len(), notes.len()), (1, 1));
    assert!(!response.verdicts[0].status.is_known());
    let (envelope, notes) = noted(
        r#"{"type":"handshake_ack","protocol_version":"contextgraph/1.0","provider":{"name":"n","version":"v","data_flow":{}},"capabilities":{"representations":["full",9]},"attester_keys":[{"key_id":"k"},{"key_id":"k","algorithm":"a","public_key":"p"}]}"#,
    );
    let Envelope::HandshakeAck {
        capabilities,
        attester_keys,
        ..
    } = envelope
    else {
        panic!("an ack");
    };
    assert_eq!(
        (capabilities.representations.len(), attester_keys.len()),
        (1, 1)
    );
    assert_eq!(notes.len(), 2);
}

#[test]
fn numbers_out_of_range_cost_their_frame() {
    let score = |number: &str| answer(&GOOD.replace("\"score\":1", &format!("\"score\":{number}")));
    // Beyond f32 it is out of range like beyond f64; the reference reads infinity (and F1 fails).
    let (_, notes) = noted(&score("1e39"));
    assert!(notes[0].is_lost_frame());
    let (_, notes) = noted(&score("1e400"));
    assert!(notes[0].is_lost_frame() && notes[0].reason.contains("number out of range"));
}

#[test]
fn a_reason_shows_the_peers_text_escaped_and_cut() {
    let line = format!(
        r#"{{"type":"error","message":["{}"]}}"#,
        "\\u001b[2J".repeat(2000)
    );
    let reason = malformed(line);
    assert!(reason.len() < 400 && !reason.contains('\x1b'), "{reason}");
}

#[test]
fn deep_nesting_is_survived() {
    let deep = "[".repeat(100_000);
    malformed(format!("{{\"type\":\"shutdown\",\"x\":{deep}"));
    let closed = format!("{deep}{}", "]".repeat(100_000));
    clean(&format!("{{\"type\":\"shutdown\",\"x\":{closed}}}"));
    let (_, notes) = noted(&answer(&GOOD.replace("\"abcd\"", &closed)));
    assert_eq!(notes[0].member, "result.frames[0].content");
}

fn arbitrary_frame() -> impl Strategy<Value = ContextFrame> {
    let strings = (
        ".{0,8}",
        ".{0,8}",
        ".{0,8}",
        proptest::option::of(".{0,30}"),
    );
    let numbers = (
        any::<f32>(),
        any::<u32>(),
        proptest::option::of(any::<u32>()),
    );
    (strings, numbers, any::<bool>()).prop_map(|(strings, numbers, all)| {
        let base = if all {
            full_frame()
        } else {
            ContextFrame::default()
        };
        ContextFrame {
            id: strings.0,
            kind: strings.1.into(),
            title: strings.2,
            content: strings.3,
            // JSON cannot carry a number that is not finite.
            score: if numbers.0.is_finite() {
                numbers.0
            } else {
                0.1
            },
            token_cost: numbers.1,
            canonical_token_cost: numbers.2,
            ..base
        }
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(decode(&bytes));
    }

    #[test]
    fn any_damage_is_survived(which in 0..8_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = encode(&everything()[which].1);
        let at = at.index(line.len());
        line[at] = byte;
        drop(decode(&line));
        line.truncate(at);
        drop(decode(&line));
    }

    #[test]
    fn any_answer_survives(frames in proptest::collection::vec(arbitrary_frame(), 0..4), id in proptest::option::of(".{0,9}"), truncated: bool) {
        let envelope = Envelope::Frames {
            id: id.map(Into::into),
            result: ContextQueryResult { frames, truncated, ..ContextQueryResult::default() },
        };
        let line = encode(&envelope);
        prop_assert_eq!(clean(std::str::from_utf8(&line).unwrap()), envelope);
    }

    #[test]
    fn repairing_a_sound_message_changes_nothing(frame in arbitrary_frame()) {
        let envelope = Envelope::Frames { id: None, result: vec![frame].into() };
        let line = encode(&envelope);
        let text = std::str::from_utf8(&line).unwrap();
        let Ok((repaired, notes)) = repair::repair(text, &shape::FRAMES) else {
            panic!("a sound message");
        };
        prop_assert!(notes.is_empty());
        let again = repaired.replacen('{', "{\"type\":\"frames\",", 1);
        prop_assert_eq!(clean(&again), envelope);
    }
}
