//! Which members a message has, for the reading that repairs.
//!
//! It repeats the wire types as tables. A test holds the two together: a fully populated
//! message has exactly the members that stand here.

use serde::de::DeserializeOwned;
use serde_json::Error;

use crate::codec::List;
use crate::wire::Whole;
use crate::wire::attestation::InclusionStep;

/// An object and its members.
#[derive(Debug)]
pub(super) struct Shape {
    /// The word in `type` for a message, a name for anything inside one.
    pub(super) name: &'static str,
    pub(super) members: &'static [Member],
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) need: Need,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The object is lost without it.
    Required,
    /// It is read as absent if it cannot be read.
    Optional,
    /// It may be absent, but the object is lost if it is there and cannot be read.
    Sound,
}

#[derive(Debug)]
pub(super) enum Form {
    /// One value that is right or wrong as a whole.
    Leaf(fn(&str) -> Result<(), Error>),
    Object(&'static Shape),
    /// Elements that are right or wrong one by one.
    List(&'static Form, List),
}

const fn required(name: &'static str, form: Form) -> Member {
    Member {
        name,
        need: Need::Required,
        form,
    }
}

const fn optional(name: &'static str, form: Form) -> Member {
    Member {
        name,
        need: Need::Optional,
        form,
    }
}

const fn sound(name: &'static str, form: Form) -> Member {
    Member {
        name,
        need: Need::Sound,
        form,
    }
}

const fn list(element: &'static Form) -> Form {
    Form::List(element, List::Other)
}

fn readable<T: DeserializeOwned>(text: &str) -> Result<(), Error> {
    serde_json::from_str::<T>(text).map(drop)
}

const TEXT: Form = Form::Leaf(readable::<String>);
const FLAG: Form = Form::Leaf(readable::<bool>);
const NUMBER: Form = Form::Leaf(readable::<f32>);
const U32: Form = Form::Leaf(readable::<Whole<u32>>);
const U64: Form = Form::Leaf(readable::<Whole<u64>>);
// One component less would be another vector, one step less another path.
const VECTOR: Form = Form::Leaf(readable::<Vec<f32>>);
const STEPS: Form = Form::Leaf(readable::<Vec<InclusionStep>>);
const WORDS: Form = list(&TEXT);

pub(super) static HANDSHAKE: Shape = Shape {
    name: "handshake",
    members: &[required("protocol_version", TEXT)],
};

pub(super) static HANDSHAKE_ACK: Shape = Shape {
    name: "handshake_ack",
    members: &[
        required("protocol_version", TEXT),
        required("provider", Form::Object(&PROVIDER_INFO)),
        required("capabilities", Form::Object(&CAPABILITIES)),
        optional("attester_keys", list(&Form::Object(&ATTESTER_KEY))),
    ],
};

pub(super) static QUERY: Shape = Shape {
    name: "query",
    members: &[
        optional("id", TEXT),
        required("query", Form::Object(&CONTEXT_QUERY)),
    ],
};

pub(super) static FRAMES: Shape = Shape {
    name: "frames",
    members: &[
        optional("id", TEXT),
        required("result", Form::Object(&RESULT)),
    ],
};

pub(super) static VERIFY: Shape = Shape {
    name: "verify",
    members: &[
        optional("id", TEXT),
        required("request", Form::Object(&VERIFY_REQUEST)),
    ],
};

pub(super) static VERIFIED: Shape = Shape {
    name: "verified",
    members: &[
        optional("id", TEXT),
        required("response", Form::Object(&VERIFY_RESPONSE)),
    ],
};

pub(super) static SHUTDOWN: Shape = Shape {
    name: "shutdown",
    members: &[],
};

pub(super) static ERROR: Shape = Shape {
    name: "error",
    members: &[
        optional("id", TEXT),
        optional("code", TEXT),
        required("message", TEXT),
    ],
};

static PROVIDER_INFO: Shape = Shape {
    name: "provider",
    members: &[
        required("name", TEXT),
        required("version", TEXT),
        required("data_flow", Form::Object(&DATA_FLOW)),
    ],
};

static DATA_FLOW: Shape = Shape {
    name: "data flow",
    members: &[
        optional("reads", FLAG),
        optional("writes", FLAG),
        // A data flow that cannot be read must not become "nothing leaves the machine".
        sound("egress", FLAG),
        sound("egress_scopes", Form::Leaf(readable::<Vec<String>>)),
    ],
};

static CAPABILITIES: Shape = Shape {
    name: "capabilities",
    members: &[
        optional("query", Form::Object(&QUERY_CAPABILITY)),
        optional("correlation", FLAG),
        optional("graph", FLAG),
        optional("embeddings_fingerprint", TEXT),
        optional("verify", FLAG),
        optional("representations", WORDS),
        optional("resolve", FLAG),
    ],
};

static QUERY_CAPABILITY: Shape = Shape {
    name: "query capability",
    members: &[optional("kinds", WORDS)],
};

static ATTESTER_KEY: Shape = Shape {
    name: "attester key",
    members: &[
        required("key_id", TEXT),
        required("algorithm", TEXT),
        required("public_key", TEXT),
    ],
};

static CONTEXT_QUERY: Shape = Shape {
    name: "query",
    members: &[
        required("goal", TEXT),
        optional("query_text", TEXT),
        optional("embedding", VECTOR),
        optional("kinds", WORDS),
        optional("anchors", WORDS),
        required("max_frames", U32),
        required("max_tokens", U32),
        optional("as_of", TEXT),
        optional("representation_preferences", WORDS),
    ],
};

static RESULT: Shape = Shape {
    name: "result",
    members: &[
        required("frames", Form::List(&Form::Object(&FRAME), List::Frames)),
        required("truncated", FLAG),
        optional("dropped_estimate", U32),
        optional(
            "frame_attestations",
            list(&Form::Object(&FRAME_ATTESTATION)),
        ),
        optional("result_attestation", Form::Object(&ATTESTATION)),
    ],
};

static FRAME: Shape = Shape {
    name: "frame",
    members: &[
        required("id", TEXT),
        required("kind", TEXT),
        required("title", TEXT),
        optional("content", TEXT),
        optional("content_digest", TEXT),
        optional("uri", TEXT),
        optional("representation", TEXT),
        optional("content_fidelity", TEXT),
        optional("canonical_content_hash", TEXT),
        optional("content_ref", Form::Object(&CONTENT_REF)),
        optional("transform", Form::Object(&TRANSFORM)),
        optional("minimum_content_fidelity", TEXT),
        optional("inline_content_requirement", TEXT),
        required("score", NUMBER),
        required("token_cost", U32),
        optional("canonical_token_cost", U32),
        optional("tokenizer_ref", TEXT),
        optional("valid_from", TEXT),
        optional("valid_to", TEXT),
        optional("recorded_at", TEXT),
        optional("provenance", list(&Form::Object(&PROVENANCE))),
        optional("citation_label", TEXT),
        optional("embedding", Form::Object(&EMBEDDING)),
        optional("relations", list(&Form::Object(&RELATION))),
    ],
};

static CONTENT_REF: Shape = Shape {
    name: "content ref",
    members: &[
        required("provider_id", TEXT),
        required("uri", TEXT),
        optional("expires_at", TEXT),
    ],
};

static TRANSFORM: Shape = Shape {
    name: "transform",
    members: &[
        required("method", TEXT),
        required("implementation", TEXT),
        required("version", TEXT),
    ],
};

static PROVENANCE: Shape = Shape {
    name: "provenance",
    members: &[
        required("type", TEXT),
        optional("uri", TEXT),
        optional("range", TEXT),
        optional("digest", TEXT),
        optional("method", TEXT),
        optional("by", TEXT),
    ],
};

static EMBEDDING: Shape = Shape {
    name: "embedding",
    members: &[required("fingerprint", TEXT), optional("vector", VECTOR)],
};

static RELATION: Shape = Shape {
    name: "relation",
    members: &[
        required("rel", TEXT),
        required("target_uri", TEXT),
        optional("display_name", TEXT),
    ],
};

static VERIFY_REQUEST: Shape = Shape {
    name: "request",
    members: &[optional("frames", list(&Form::Object(&FRAME_ID)))],
};

static VERIFY_RESPONSE: Shape = Shape {
    name: "response",
    members: &[optional("verdicts", list(&Form::Object(&VERDICT)))],
};

static FRAME_ID: Shape = Shape {
    name: "identity",
    members: &[
        required("provider_id", TEXT),
        required("frame_id", TEXT),
        optional("content_digest", TEXT),
    ],
};

static VERDICT: Shape = Shape {
    name: "verdict",
    members: &[
        required("frame", Form::Object(&FRAME_ID)),
        required("status", TEXT),
        optional("replacement_digest", TEXT),
    ],
};

static FRAME_ATTESTATION: Shape = Shape {
    name: "frame attestation",
    members: &[
        required("frame", Form::Object(&FRAME_ID)),
        optional("attestation", Form::Object(&ATTESTATION)),
        optional("inclusion_proof", Form::Object(&PROOF)),
    ],
};

static ATTESTATION: Shape = Shape {
    name: "attestation",
    members: &[
        required("signed_commitment", TEXT),
        required("key_id", TEXT),
        required("algorithm", TEXT),
        required("attester_id", TEXT),
        required("signature", TEXT),
        required("issued_at", TEXT),
    ],
};

static PROOF: Shape = Shape {
    name: "inclusion proof",
    members: &[
        required("leaf_index", U64),
        required("leaf_count", U64),
        required("path", STEPS),
    ],
};

#[cfg(test)]
mod tests;
