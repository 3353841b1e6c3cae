//! Embedding spaces: two sides share one only if they name it alike (E1).

/// The dimension a fingerprint declares: `384` of `bge-small/384/l2`.
///
/// None if the text does not follow `<model>/<dimensions>[/<normalization>]` so far.
#[must_use]
pub fn dimensions(fingerprint: &str) -> Option<usize> {
    let digits = fingerprint.split('/').nth(1)?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Whether two fingerprints name one embedding space: equal byte for byte and not empty (E1).
#[must_use]
pub fn same_space(ours: &str, theirs: &str) -> bool {
    !ours.is_empty() && ours == theirs
}

#[cfg(test)]
mod tests {
    use super::{dimensions, same_space};

    #[test]
    fn the_second_segment_is_the_dimension() {
        for (fingerprint, expected) in [
            ("bge/384/l2", Some(384)),
            ("bge/384", Some(384)),
            ("bge", None),
            ("bge/", None),
            ("bge/x/l2", None),
            ("bge/-1", None),
            ("bge/+5", None),
            ("bge/ 5", None),
            ("a/1/b/c", Some(1)),
        ] {
            assert_eq!(dimensions(fingerprint), expected, "{fingerprint}");
        }
    }

    #[test]
    fn spaces_match_byte_for_byte() {
        assert!(same_space("a/1", "a/1"));
        assert!(!same_space("a/1", "a/1/l2"));
        assert!(!same_space("a/1", "A/1"));
        assert!(!same_space("", ""));
    }
}
