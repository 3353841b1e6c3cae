//! Fixed numbers of bytes as hex digits.

pub(super) use crate::wire::text::lower_hex as encode;

/// Exactly `N` bytes from lower-case hex: one spelling, so that a value has one text.
pub(super) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn one_spelling_only() {
        assert_eq!(encode(&[0x00, 0xa7, 0xff]), "00a7ff");
        assert_eq!(decode("00a7ff"), Some([0x00, 0xa7, 0xff]));
        for text in [
            "00A7ff", "00a7f", "00a7ff0", "00a7ff00", " 0a7ff", "00a7fg", "", "é0a7f",
        ] {
            assert_eq!(decode::<3>(text), None, "{text}");
        }
    }
}
