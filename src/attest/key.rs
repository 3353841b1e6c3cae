//! Public keys that may be trusted, and what to call one when two people compare it.

use std::fmt;

use ed25519_dalek::VerifyingKey;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::attest::hex;
use crate::digest::sha256;
use crate::wire::identity::Digest;

/// An Ed25519 public key that can sign something: a point of the curve, not of small order.
///
/// A key of small order "signs" every message for everyone, so that trusting it would be a
/// mistake that no later check can mend.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Takes the 32 raw bytes of a key.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOnCurve`] and [`KeyError::SmallOrder`].
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotOnCurve)?;
        if key.is_weak() {
            return Err(KeyError::SmallOrder);
        }
        Ok(Self(bytes))
    }

    /// Reads 64 hex digits. People copy keys from many places, so here either case will do.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotHex`], and what [`Self::from_bytes`] gives.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = hex::decode(&text.to_ascii_lowercase()).ok_or(KeyError::NotHex)?;
        Self::from_bytes(bytes)
    }

    /// For the public part of a secret key, which is sound by the way it was made.
    pub(super) fn of(key: &VerifyingKey) -> Self {
        Self(key.to_bytes())
    }

    /// The raw key.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key as it travels: 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex::encode(&self.0)
    }

    /// What people compare: the digest of the raw key.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        sha256(&self.0)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

/// Why a text or some bytes are no key to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// Not 64 hex digits.
    NotHex,
    /// No point of the curve: mistyped, or a key of another algorithm.
    NotOnCurve,
    /// A point of small order, under which anyone can sign.
    SmallOrder,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHex => "a public key is 64 hex digits",
            Self::NotOnCurve => "not an Ed25519 public key: no point of the curve",
            Self::SmallOrder => "not a safe public key: anyone can sign under it",
        })
    }
}

impl std::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::{KeyError, PublicKey};

    #[test]
    fn fingerprints() {
        for (key, fingerprint) in [
            (
                "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
                "sha256:56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c",
            ),
            (
                "29e5833a915a6429a4e3a7948475c338ef436eb82be89c92f059704403db9d55",
                "sha256:a1d577350a959ecd921460e0ed89bd14c1d88583028bb71b7088885da5b55105",
            ),
        ] {
            let read = PublicKey::parse(key).unwrap();
            assert_eq!(read.to_hex(), key);
            assert_eq!(read.fingerprint().as_str(), fingerprint);
            assert_eq!(PublicKey::parse(&key.to_uppercase()), Ok(read));
        }
    }

    #[test]
    fn not_every_text_is_a_key() {
        let refused = |text: &str, error| assert_eq!(PublicKey::parse(text), Err(error), "{text}");
        refused("", KeyError::NotHex);
        refused(&"ab".repeat(31), KeyError::NotHex);
        refused(&format!(" {}", "ab".repeat(32)), KeyError::NotHex);
        refused(&format!("02{}", "00".repeat(31)), KeyError::NotOnCurve);
        refused(&format!("01{}", "00".repeat(31)), KeyError::SmallOrder);
        refused(&"00".repeat(32), KeyError::SmallOrder);
    }
}
