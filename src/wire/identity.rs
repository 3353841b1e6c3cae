//! Who said what: provider ids, frame identities, digests, correlation ids.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::grammar::GrammarError;
use crate::wire::text::{lower_hex, shown};

/// Declares an id that travels as a string and is never taken apart.
macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id as it travels.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                shown(&self.0).fmt(f)
            }
        }
    };
}

id! {
    /// The name a host gives a provider at registration: its key for routing and consent.
    ///
    /// It is the host's, not the provider's: what a provider calls itself is
    /// [`ProviderInfo::name`](crate::wire::ProviderInfo::name).
    ProviderId
}

id! {
    /// A correlation id: opaque, echoed byte for byte on the reply (H4).
    RequestId
}

/// The identity of a frame, in canonical order: provider, frame, digest.
///
/// The order is the bytes of each part, an absent digest before any digest. Composition
/// and Merkle leaves both use it. On a host `provider_id` is the registration id; inside
/// attestations it is the name that the provider declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FrameId {
    /// Whose frame it is.
    pub provider_id: ProviderId,
    /// The provider's name for it.
    pub frame_id: String,
    /// Digest of the inline content, as the provider wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider_id, shown(&self.frame_id))
    }
}

/// A digest in the form of the wire: `sha256:` and 64 lower-case hex digits (D1).
///
/// Wire types hold digests as text, because a peer may send any, and compare them as
/// text, because two spellings are two identities. To make one, see [`crate::digest`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    const WANTED: &'static str = "a digest: sha256: and 64 lower-case hex digits";

    /// Reads a digest. Nothing is folded or trimmed.
    ///
    /// # Errors
    ///
    /// A [`GrammarError`] with a hint for upper case, another algorithm, a missing prefix
    /// or the wrong length.
    pub fn parse(text: &str) -> Result<Self, GrammarError> {
        let hex = text.strip_prefix("sha256:");
        let fits = hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(is_lower_hex));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(GrammarError::new(text, Self::WANTED, digest_hint(text)))
        }
    }

    pub(crate) fn from_sha256(bytes: &[u8; 32]) -> Self {
        Self(format!("sha256:{}", lower_hex(bytes)))
    }

    /// The digest as it travels.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn digest_hint(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    if lower != text && Digest::parse(&lower).is_ok() {
        return Some("must be lower case");
    }
    let trimmed = text.trim();
    if trimmed != text && Digest::parse(trimmed).is_ok() {
        return Some("white space around it");
    }
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some("the prefix sha256: is missing");
    }
    let (algorithm, hex) = text.split_once(':')?;
    if algorithm != "sha256" {
        return Some("only sha256 is defined");
    }
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && hex.len() != 64).then_some("wrong number of digits")
}

#[cfg(test)]
mod tests {
    use super::{Digest, FrameId};

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[track_caller]
    fn refused(text: &str, hint: Option<&str>) {
        let error = Digest::parse(text).unwrap_err();
        assert_eq!(error.hint(), hint, "{text}");
    }

    #[test]
    fn one_spelling_only() {
        let good = format!("sha256:{HEX}");
        assert_eq!(Digest::parse(&good).unwrap().as_str(), good);
        refused(&good.to_uppercase(), Some("must be lower case"));
        refused(&format!("SHA256:{HEX}"), Some("must be lower case"));
        refused(&format!("{good}\n"), Some("white space around it"));
        refused(HEX, Some("the prefix sha256: is missing"));
        refused(&good[..70], Some("wrong number of digits"));
        refused(&format!("{good}0"), Some("wrong number of digits"));
        refused(&format!("sha512:{HEX}"), Some("only sha256 is defined"));
        refused(&format!("sha256-{HEX}"), None);
        refused(&format!("sha256:{}А", &HEX[..63]), None);
        refused("sha256:", Some("wrong number of digits"));
        refused("", None);
    }

    #[test]
    fn what_we_write_is_well_formed() {
        let digest = Digest::from_sha256(&[0xa7; 32]);
        assert_eq!(digest.as_str(), format!("sha256:{}", "a7".repeat(32)));
        assert_eq!(Digest::parse(digest.as_str()).unwrap(), digest);
    }

    #[test]
    fn an_absent_digest_comes_first() {
        let id = |provider: &str, frame: &str, digest: Option<&str>| FrameId {
            provider_id: provider.into(),
            frame_id: frame.to_owned(),
            content_digest: digest.map(str::to_owned),
        };
        let ordered = [
            id("a", "z", None),
            id("a", "z", Some("")),
            id("a", "z", Some("x")),
            id("ab", "a", None),
            id("b", "a", None),
        ];
        assert!(ordered.is_sorted_by(|a, b| a < b));
    }
}
