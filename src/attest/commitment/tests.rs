use super::{Commitment, chain_head, frame_commitment, preimage, put_link};
use crate::attest::hex;
use crate::wire::frame::{ContextFrame, Provenance};

fn links(names: &[&str]) -> Vec<Provenance> {
    let named = |name: &&str| LINKS.iter().find(|(it, ..)| it == name).unwrap().1;
    let read = |json| serde_json::from_str(json).unwrap();
    names.iter().map(named).map(read).collect()
}

fn frame(id: &str, digest: Option<&str>, names: &[&str]) -> ContextFrame {
    ContextFrame {
        id: id.to_owned(),
        content_digest: digest.map(str::to_owned),
        provenance: links(names),
        ..ContextFrame::default()
    }
}

/// Name, link, encoding.
const LINKS: &[(&str, &str, &str)] = &[
    (
        "kind_only",
        r#"{"type":"episode"}"#,
        "00000007657069736f64650000000000",
    ),
    (
        "uri_only",
        r#"{"type":"file","uri":"a"}"#,
        "0000000466696c6501000000016100000000",
    ),
    (
        "uri_empty",
        r#"{"type":"file","uri":""}"#,
        "0000000466696c65010000000000000000",
    ),
    (
        "uri_absent",
        r#"{"type":"file"}"#,
        "0000000466696c650000000000",
    ),
    ("kind_empty", r#"{"type":""}"#, "000000000000000000"),
    (
        "boundary_ab_c",
        r#"{"type":"file","uri":"ab","range":"c"}"#,
        "0000000466696c6501000000026162010000000163000000",
    ),
    (
        "boundary_a_bc",
        r#"{"type":"file","uri":"a","range":"bc"}"#,
        "0000000466696c6501000000016101000000026263000000",
    ),
    (
        "all_fields",
        r#"{"type":"file","uri":"file:///srv/app/worker.py","range":"L7-19","digest":"sha256:5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c","method":"file-read","by":"indexer-7"}"#,
        "0000000466696c65010000001966696c653a2f2f2f7372762f6170702f776f726b65722e707901000000054c372d313901000000477368613235363a35633563356335633563356335633563356335633563356335633563356335633563356335633563356335633563356335633563356335633563356335633563010000000966696c652d726561640100000009696e64657865722d37",
    ),
    (
        "derivation",
        r#"{"type":"derivation","method":"summarize","by":"distiller/2"}"#,
        "0000000a64657269766174696f6e000000010000000973756d6d6172697a65010000000b64697374696c6c65722f32",
    ),
    (
        "multibyte",
        r#"{"type":"file","uri":"docs/Übersicht/図.md","range":"L1","method":"résumé","by":"🎼-bot"}"#,
        "0000000466696c650100000016646f63732fc39c62657273696368742fe59bb32e6d6401000000024c3100010000000872c3a973756dc3a90100000008f09f8ebc2d626f74",
    ),
    (
        "published_file",
        r#"{"type":"file","uri":"src/retry.rs","range":"L10-L20","digest":"sha256:abababababababababababababababababababababababababababababababab"}"#,
        "0000000466696c65010000000c7372632f72657472792e727301000000074c31302d4c323001000000477368613235363a616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261626162616261620000",
    ),
    (
        "published_unicode",
        r#"{"type":"file","uri":"docs/naïve/日本語.md","range":"L1-L2","method":"résumé","by":"𝄞-agent"}"#,
        "0000000466696c650100000018646f63732f6e61c3af76652fe697a5e69cace8aa9e2e6d6401000000054c312d4c3200010000000872c3a973756dc3a9010000000af09d849e2d6167656e74",
    ),
    (
        "published_derivation",
        r#"{"type":"derivation","method":"extractive_summary","by":"refprov/1.0"}"#,
        "0000000a64657269766174696f6e0000000100000012657874726163746976655f73756d6d617279010000000b72656670726f762f312e30",
    ),
];

/// Names of links, and the head after each, the empty chain first.
const CHAINS: &[(&[&str], &[&str])] = &[
    (
        &[],
        &["2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6"],
    ),
    (
        &["kind_only"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "02cbb2cdbe74ec52e91a053facf9b1bd9238b0562af718e352f0ffe2e34ab967",
        ],
    ),
    (
        &["all_fields"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "3c56b5595725a76f39affe567652f2764a55ef64cfe0b6fc795ce8993ae20bd5",
        ],
    ),
    (
        &["all_fields", "derivation"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "3c56b5595725a76f39affe567652f2764a55ef64cfe0b6fc795ce8993ae20bd5",
            "bed0bab24f7eade24e6e4fefc7dc3b4568628ff7c0c33e322a96a3748309ee7a",
        ],
    ),
    (
        &["derivation", "all_fields"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "e0985074ed6271faad710ae0e040faa4a4a9276c0665620da83cd4f5e4dca8ba",
            "7091a5edf7c3249cb6827709e86443f7c6a3cea79cdc0f42d07cae9bd0aeeea9",
        ],
    ),
    (
        &["uri_empty"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "616d4fa60a91420472f7fcc1ebb49ff503a05104e3762570b67011dbbcd22152",
        ],
    ),
    (
        &["uri_absent"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "1bba53f2944ffeb223e7418e32780d0e91510f6b3c58787055f1109a525d5675",
        ],
    ),
    (
        &["boundary_ab_c"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "bfe9227b61bce624832f6c174af2110bcd5dcbc0554a5a6389111dc91915977a",
        ],
    ),
    (
        &["boundary_a_bc"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "3c79b531cb23b220276f71cc3dc8057247a222e6ab657dd7de3abe7bc432dc93",
        ],
    ),
    (
        &["multibyte"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "2a8da95adca30818a8539f50fa7be5fea7578d43c5e53289f78c9d1a678c5842",
        ],
    ),
    (
        &["all_fields", "derivation", "multibyte"],
        &[
            "2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6",
            "3c56b5595725a76f39affe567652f2764a55ef64cfe0b6fc795ce8993ae20bd5",
            "bed0bab24f7eade24e6e4fefc7dc3b4568628ff7c0c33e322a96a3748309ee7a",
            "3d08c3e0d7907a127aef5e8e298beed06b8faf84abcd5f8de41ee978d4de6744",
        ],
    ),
];

/// Chains of the published suite.
const PUBLISHED: &[(&[&str], &str)] = &[
    (
        &["published_file"],
        "ac5418d723088033179a2671d17cd08d3e082eefa783e3eeb1a5145f83592178",
    ),
    (
        &["published_file", "published_derivation"],
        "2245cb46807d55e9e89479b2948d7887fbba95430dd315d63972744a47a18410",
    ),
    (
        &["published_unicode"],
        "af8acb1dd4bd884f03cfcb21983b680b906f92733d905c3f22949fe90c8de065",
    ),
];

#[test]
fn links_are_encoded_member_by_member() {
    for (name, json, expected) in LINKS {
        let mut bytes = Vec::new();
        put_link(&mut bytes, &serde_json::from_str(json).unwrap());
        assert_eq!(hex::encode(&bytes), *expected, "{name}");
    }
}

#[test]
fn every_link_moves_the_head() {
    for (names, heads) in CHAINS {
        for (n_links, head) in heads.iter().enumerate() {
            let links = links(&names[..n_links]);
            assert_eq!(hex::encode(&chain_head(&links)), *head, "{names:?}");
        }
    }
    for (names, head) in PUBLISHED {
        assert_eq!(hex::encode(&chain_head(&links(names))), *head, "{names:?}");
    }
}

#[track_caller]
fn check(provider: &str, frame: &ContextFrame, expected: &str) {
    let commitment = frame_commitment(provider, frame);
    assert_eq!(commitment.to_string(), format!("sha256:{expected}"));
    assert_eq!(Commitment::parse(&commitment.to_string()), Some(commitment));
}

#[test]
fn commitments_of_frames() {
    let digest = format!("sha256:{}", "3f".repeat(32));
    let digest = Some(digest.as_str());
    let it = frame("guide/retries", digest, &["all_fields"]);
    check(
        "doc-index",
        &it,
        "84fe021f85197a6563956814de28a54b0f7c880c95cbd282a6f2a344881bc3bb",
    );
    let it = frame("guide/retries", None, &["all_fields"]);
    check(
        "doc-index",
        &it,
        "0495ed031f1c2a8fa9c238a715f9963a3ae3847a51fbd484bcf8b7bf6c424087",
    );
    let it = frame("guide/retries", Some(""), &["all_fields"]);
    check(
        "doc-index",
        &it,
        "d9fff1cc78d71c1b96ba6cb597c236cd1781bdab76a05265ac28ab27304e1065",
    );
    let it = frame("guide/retries", digest, &[]);
    check(
        "doc-index",
        &it,
        "59cabb9b805fd2bbf3f0209d39537c94625faf6f6d04d8b16837b43666921dbc",
    );
    let it = frame("guide/retries", digest, &["all_fields"]);
    check(
        "doc-index-2",
        &it,
        "b28a15529efc9638e850f63f5cbd9921d602630878e10c9d43d1a90c5c9b85ef",
    );
    let it = frame("guide/backoff", digest, &["all_fields"]);
    check(
        "doc-index",
        &it,
        "b40fd84541b53bcdd1399438ecbc872464d5069a6015ad8a13eddf93c5e6e754",
    );
    let it = frame("c", digest, &[]);
    check(
        "ab",
        &it,
        "0ea03833ae17b3f0b29d869271cbaee438a5227eb945fed7542b251d9212f6ef",
    );
    let it = frame("bc", digest, &[]);
    check(
        "a",
        &it,
        "daf2a872949e6ca31490e667d3cf907759659d7cc45d186856b7c5956dd64625",
    );
    let it = frame("片/é", digest, &["multibyte"]);
    check(
        "インデックス",
        &it,
        "e1771fd68f861ac728c81fca6c527614333d19ebd44c326484cbafdaabb4e41e",
    );
    let it = frame(
        "guide/retries",
        Some("blake3:zz"),
        &["all_fields", "derivation"],
    );
    check(
        "doc-index",
        &it,
        "dc9abbef1f904c48e42bb42fc8e5196eb7cb094e8059f6f924880e12beefafdf",
    );
    let digest = format!("sha256:{}", "cd".repeat(32));
    let it = frame("retry-policy", Some(&digest), &["published_file"]);
    check(
        "repo-graph",
        &it,
        "cba5cb083177e61ce370ab586dbf7096508e5224ad18d213c902e014796c88ea",
    );
}

#[test]
fn the_preimage_to_the_byte() {
    let digest = format!("sha256:{}", "3f".repeat(32));
    let bytes = preimage("doc-index", &frame("guide/retries", Some(&digest), &[]));
    let expected = [
        b"contextgraph/attest/1/frame".as_slice(),
        b"\0\0\0\x09doc-index",
        b"\0\0\0\x0dguide/retries",
        b"\x01\0\0\0\x47",
        digest.as_bytes(),
        &hex::decode::<32>("2ab226c884ffeb5ac95d300a8d8ee726cb4488fb59a19047d21da7170e9b63d6")
            .unwrap(),
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn only_what_is_named_is_covered() {
    let plain = frame("a", Some("x"), &["derivation"]);
    let dressed = ContextFrame {
        title: "other".to_owned(),
        content: Some("other".to_owned()),
        uri: Some("other".to_owned()),
        score: 0.5,
        token_cost: 7,
        ..plain.clone()
    };
    assert_eq!(
        frame_commitment("p", &plain),
        frame_commitment("p", &dressed)
    );
}

#[test]
fn commitments_have_one_text() {
    let good = format!("sha256:{}", "ab".repeat(32));
    assert!(Commitment::parse(&good).is_some());
    for text in [
        good.to_uppercase(),
        format!("sha256:{}", "AB".repeat(32)),
        good.replace("sha256:", ""),
        good.replace("sha256", "sha512"),
        good[..69].to_owned(),
        format!("{good}00"),
        format!("{good} "),
        "not-a-digest".to_owned(),
        String::new(),
    ] {
        assert_eq!(Commitment::parse(&text), None, "{text}");
    }
}
