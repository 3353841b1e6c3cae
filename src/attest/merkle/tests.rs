use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{MerkleTree, leaf_hash, leaf_order, merkle_root, node_hash, recompute_root};
use crate::attest::commitment::{Commitment, frame_commitment};
use crate::wire::attestation::InclusionProof;
use crate::wire::frame::ContextFrame;

fn frame(id: &str, digest: Option<&str>) -> ContextFrame {
    ContextFrame {
        id: id.to_owned(),
        content_digest: digest.map(str::to_owned),
        ..ContextFrame::default()
    }
}

/// The commitments of frames `f0`, `f1`, and so on, of one digest and without provenance.
fn leaves(provider: &str, n_leaves: usize) -> Vec<Commitment> {
    let digest = format!("sha256:{}", "0e".repeat(32));
    (0..n_leaves)
        .map(|it| frame(&format!("f{it}"), Some(&digest)))
        .map(|it| frame_commitment(provider, &it))
        .collect()
}

#[test]
fn commitments_of_the_leaves() {
    let expected = [
        "76a0f2ca57c70486d02d488d5d00ae4c7b0a8a873ef65a7fa6537d7f6f35887d",
        "5b7d6d80ee75e21983dc1a58682392721bd9f48130202add4fce342300f9b005",
        "b7d992cb84f0f1ea26ca18647aee3d521146f2943d489176e9332c15a1754292",
        "8c2b52b157676019a154da7bbc99d4d2a679e48cbcdf42eba0765d26b211958d",
        "5587dcaba4f475044f72ca4537591a3d13fdb21580b64d8c8fa7a21ea36175a6",
        "ee4197ef94a24f69230dddf2b48ae697491827a85832553626e8e34ba4ed29cf",
        "1413432b5e716aa083c68d33b97681120fa138b2afa1c642d2b9c96605a70ff7",
        "f917ddeed34bb2efb09d75bc0627d8aa176e19e04417cbbe5aa4c2f2ae0e6794",
        "4645f6bda44b5c1428de3d847a88c156cd25c0d199d8ca60cef21a8c50ac053c",
    ];
    for (leaf, expected) in leaves("doc-index", 9).iter().zip(expected) {
        assert_eq!(leaf.to_string(), format!("sha256:{expected}"));
    }
}

#[track_caller]
fn check_root(provider: &str, n_leaves: usize, expected: &str) {
    let root = merkle_root(&leaves(provider, n_leaves));
    assert_eq!(root.to_string(), format!("sha256:{expected}"), "{n_leaves}");
}

#[test]
fn roots() {
    check_root(
        "doc-index",
        0,
        "1d7896160c99d216069525861650366067ae242de9ee5e86730a36c80e57bcc2",
    );
    check_root(
        "doc-index",
        1,
        "5d51e32b4f436c310426022d64462bd5f0ba6e89553915d0c26b3cc184c7feb2",
    );
    check_root(
        "doc-index",
        2,
        "95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
    );
    check_root(
        "doc-index",
        3,
        "24bf3d23243932718fb194bd1baa3003132a9948547a92625eea809b16058550",
    );
    check_root(
        "doc-index",
        4,
        "073ca04dd248f412b18e60fcc96258cffcf26c5cce49e28aa617a306b31d603b",
    );
    check_root(
        "doc-index",
        5,
        "e6b6b655ca1af6171be7bf811ddb2678195533603f3517e2aa040b0be2abe4c0",
    );
    check_root(
        "doc-index",
        6,
        "83118adcde6299c6a791963ea29601bb9cae3eb3eac0d73220c0c260bf917744",
    );
    check_root(
        "doc-index",
        7,
        "5a402394ff76690b1ddba72decf9bd87eabe9a07d24dd6d8d54a2a01d7d98ec1",
    );
    check_root(
        "doc-index",
        8,
        "2e3c0ccf864cab8d2611f02cbfec3697729f5318499590aee31ccc296f1437ce",
    );
    check_root(
        "doc-index",
        9,
        "4b79146c282b552249d9eff3d62274a31022b2625d9d87bb7919b9a5d4f64ebf",
    );
    check_root(
        "repo-graph",
        0,
        "1d7896160c99d216069525861650366067ae242de9ee5e86730a36c80e57bcc2",
    );
    check_root(
        "repo-graph",
        1,
        "ca097914b0d358813bf20c3916fe1fcbc92695bf26cc94cae2df6bfc049072ae",
    );
    check_root(
        "repo-graph",
        3,
        "bb7a2c794a3f8de323372acf692a4cf95ea4015487caf761ff964d41e4eb15b2",
    );
    check_root(
        "repo-graph",
        4,
        "a29d4042e68ee59dd8713ec5361031add15e4814353da0bfca7a5bf59a96c869",
    );
    check_root(
        "repo-graph",
        7,
        "4b421f5b2831079accda2aea30aaa989e5dfb3cb01a01fdc3855f7d1d1ff1cb3",
    );
}

/// Checks a path against siblings marked `<` for left and `>` for right.
#[track_caller]
fn check_path(provider: &str, n_leaves: usize, index: usize, expected: &[&str]) {
    let proof = MerkleTree::new(&leaves(provider, n_leaves))
        .proof(index)
        .unwrap();
    let path: Vec<_> = proof
        .path
        .iter()
        .map(|it| {
            let side = if it.sibling_is_left { "<" } else { ">" };
            it.sibling.replace("sha256:", side)
        })
        .collect();
    assert_eq!(path, expected, "leaf {index} of {n_leaves}");
    assert_eq!(proof.leaf_index, index as u64);
    assert_eq!(proof.leaf_count, n_leaves as u64);
}

#[test]
fn paths() {
    check_path("doc-index", 1, 0, &[]);
    check_path(
        "doc-index",
        2,
        0,
        &[">94b13722c4d56a710ae59f8bdbef51f8de07c650f92715787ac83c88600174fd"],
    );
    check_path(
        "doc-index",
        2,
        1,
        &["<5d51e32b4f436c310426022d64462bd5f0ba6e89553915d0c26b3cc184c7feb2"],
    );
    check_path(
        "doc-index",
        3,
        0,
        &[
            ">94b13722c4d56a710ae59f8bdbef51f8de07c650f92715787ac83c88600174fd",
            ">23146354493b19d11a00ddb878576cdb07f49ebdfbd6ee299366cf586c861465",
        ],
    );
    check_path(
        "doc-index",
        3,
        1,
        &[
            "<5d51e32b4f436c310426022d64462bd5f0ba6e89553915d0c26b3cc184c7feb2",
            ">23146354493b19d11a00ddb878576cdb07f49ebdfbd6ee299366cf586c861465",
        ],
    );
    check_path(
        "doc-index",
        3,
        2,
        &["<95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194"],
    );
    check_path(
        "doc-index",
        5,
        0,
        &[
            ">94b13722c4d56a710ae59f8bdbef51f8de07c650f92715787ac83c88600174fd",
            ">a189442fa81e7afaf79430c3d35faf2dd742bc4bd74deb36f799d1e5f702895f",
            ">57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
        ],
    );
    check_path(
        "doc-index",
        5,
        1,
        &[
            "<5d51e32b4f436c310426022d64462bd5f0ba6e89553915d0c26b3cc184c7feb2",
            ">a189442fa81e7afaf79430c3d35faf2dd742bc4bd74deb36f799d1e5f702895f",
            ">57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
        ],
    );
    check_path(
        "doc-index",
        5,
        2,
        &[
            ">1571557bdcc740cc3ef986175314f6650dbaa6c971f52981cfa5111fdd0bbc51",
            "<95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
            ">57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
        ],
    );
    check_path(
        "doc-index",
        5,
        3,
        &[
            "<23146354493b19d11a00ddb878576cdb07f49ebdfbd6ee299366cf586c861465",
            "<95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
            ">57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
        ],
    );
    check_path(
        "doc-index",
        5,
        4,
        &["<073ca04dd248f412b18e60fcc96258cffcf26c5cce49e28aa617a306b31d603b"],
    );
    check_path(
        "doc-index",
        7,
        0,
        &[
            ">94b13722c4d56a710ae59f8bdbef51f8de07c650f92715787ac83c88600174fd",
            ">a189442fa81e7afaf79430c3d35faf2dd742bc4bd74deb36f799d1e5f702895f",
            ">42019a0c8034e04e78d46366074c5f3c740daa1ea2b041c5acda2e69e3a59863",
        ],
    );
    check_path(
        "doc-index",
        7,
        1,
        &[
            "<5d51e32b4f436c310426022d64462bd5f0ba6e89553915d0c26b3cc184c7feb2",
            ">a189442fa81e7afaf79430c3d35faf2dd742bc4bd74deb36f799d1e5f702895f",
            ">42019a0c8034e04e78d46366074c5f3c740daa1ea2b041c5acda2e69e3a59863",
        ],
    );
    check_path(
        "doc-index",
        7,
        2,
        &[
            ">1571557bdcc740cc3ef986175314f6650dbaa6c971f52981cfa5111fdd0bbc51",
            "<95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
            ">42019a0c8034e04e78d46366074c5f3c740daa1ea2b041c5acda2e69e3a59863",
        ],
    );
    check_path(
        "doc-index",
        7,
        3,
        &[
            "<23146354493b19d11a00ddb878576cdb07f49ebdfbd6ee299366cf586c861465",
            "<95890322cad90bcb01a380d44fb5434ad44bb25e41427ce51dbc40dabbdc2194",
            ">42019a0c8034e04e78d46366074c5f3c740daa1ea2b041c5acda2e69e3a59863",
        ],
    );
    check_path(
        "doc-index",
        7,
        4,
        &[
            ">cf0c52203ae912aac9247a38a5b29ba22323260783c36199260738bb6ca32c26",
            ">7af96303bcad024fd14e3f1fd085913567eb3d17a5a66965370efccc75c00956",
            "<073ca04dd248f412b18e60fcc96258cffcf26c5cce49e28aa617a306b31d603b",
        ],
    );
    check_path(
        "doc-index",
        7,
        5,
        &[
            "<57f138b258b4c1f492bf815a6ecf921d065ed42fc2376bc938238957ecf5a85e",
            ">7af96303bcad024fd14e3f1fd085913567eb3d17a5a66965370efccc75c00956",
            "<073ca04dd248f412b18e60fcc96258cffcf26c5cce49e28aa617a306b31d603b",
        ],
    );
    check_path(
        "doc-index",
        7,
        6,
        &[
            "<d1990952cd66269a65dbdb319859c6c2ab597403bc043c08f8a1fb89509e23d6",
            "<073ca04dd248f412b18e60fcc96258cffcf26c5cce49e28aa617a306b31d603b",
        ],
    );
    check_path(
        "repo-graph",
        7,
        3,
        &[
            "<dc1ae14ddfe6bd0fdc1b030179837fe1b8154201fe1060d4511bc07099536629",
            "<4162de7a1474da412cf29c4ff2f687122feb66d1cb554aaf743fdbe762f58d4b",
            ">761a1b093e5a4c6f5f1a2eb2d5378377e6b62291ec11ec0a9b99822121659cc3",
        ],
    );
    assert_eq!(MerkleTree::new(&leaves("doc-index", 5)).proof(5), None);
    assert_eq!(MerkleTree::new(&[]).proof(0), None);
}

/// The root by the recursive formula of the protocol.
fn recursive(leaves: &[Commitment]) -> [u8; 32] {
    match leaves {
        [] => Sha256::digest(super::EMPTY).into(),
        [leaf] => leaf_hash(leaf),
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            node_hash(&recursive(left), &recursive(right))
        }
    }
}

#[test]
fn every_proof_leads_to_the_root() {
    for n_leaves in 0..70 {
        let leaves = leaves("p", n_leaves);
        let tree = MerkleTree::new(&leaves);
        assert_eq!(tree.root().as_bytes(), &recursive(&leaves), "{n_leaves}");
        assert_eq!(tree.proofs().count(), n_leaves);
        for (leaf, proof) in leaves.iter().zip(tree.proofs()) {
            assert_eq!(recompute_root(leaf, &proof), Some(tree.root()));
        }
    }
}

#[test]
fn leaves_are_in_canonical_order() {
    let frames = [
        frame("b", None),
        frame("a", Some("y")),
        frame("a", Some("x")),
        frame("a", None),
        frame("a", Some("x")),
    ];
    assert_eq!(leaf_order(&frames), [3, 2, 4, 1, 0]);
}

/// Whether a proof is refused before it leads anywhere.
#[track_caller]
fn refused(change: impl FnOnce(&mut InclusionProof)) {
    let leaves = leaves("p", 7);
    let mut proof = MerkleTree::new(&leaves).proof(4).unwrap();
    change(&mut proof);
    assert_eq!(recompute_root(&leaves[4], &proof), None, "{proof:?}");
}

#[test]
fn proofs_that_cannot_be_are_refused() {
    refused(|it| it.leaf_index = 7);
    refused(|it| it.leaf_count = 0);
    refused(|it| it.leaf_count = u64::MAX);
    refused(|it| (it.leaf_index, it.leaf_count) = (u64::MAX - 1, u64::MAX));
    refused(|it| it.leaf_index = 5);
    refused(|it| it.path.truncate(2));
    refused(|it| it.path.push(it.path[0].clone()));
    refused(|it| it.path[2].sibling_is_left = false);
    refused(|it| it.path[1].sibling.make_ascii_uppercase());
    refused(|it| it.path[1].sibling.push('0'));
    refused(|it| it.path[0].sibling = "sha256:zz".to_owned());
    refused(|it| it.path = vec![it.path[0].clone(); 65]);
}

proptest! {
    /// Beside its own, no index among as many leaves has the same sides.
    #[test]
    fn sides_name_the_leaf(n_leaves in 1..300_u64, a in 0..300_u64, b in 0..300_u64) {
        let (a, b) = (a % n_leaves, b % n_leaves);
        let same = super::sides(a, n_leaves).eq(super::sides(b, n_leaves));
        prop_assert_eq!(same, a == b);
    }
}
