//! The words of the wire: lists that stay open, and lists that peers open anyway.
//!
//! Every vocabulary is an enum whose last variant keeps the text of a word we do
//! not know, so that it survives a round trip (U2, X1). Closed lists get the same
//! shape: an unknown word there becomes a violation that names it, where a decode
//! error would take the whole frame along (`closed-word` in SPEC.md).

/// Declares a vocabulary: its words, and everything a word needs on the wire.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$word_meta:meta])* $variant:ident = $text:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$word_meta])* $variant, )+
            /// A word that is not on the list, kept as it came.
            Other(String),
        }

        impl $name {
            /// The words on the list, in the order of the protocol.
            pub const KNOWN: &'static [$name] = &[ $( $name::$variant, )+ ];

            /// The word as it travels.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Other(word) => word,
                }
            }

            /// Whether the word is on the list.
            #[must_use]
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $( $text => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $( $text => Self::$variant, )+
                    _ => Self::Other(word),
                }
            }
        }

        // By the word, so that `Other("doc")` cannot differ from the word it spells.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl Eq for $name {}

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::wire::text::shown(self.as_str()).fmt(f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

pub(crate) use vocabulary;
