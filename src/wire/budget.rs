//! Budget tokens: the protocol's unit of account (B3).

/// What `text` costs: its UTF-8 bytes divided by four, rounded up (B3). Exact, no tolerance.
///
/// ```
/// use contextgraph_sync::wire::budget::budget_tokens;
///
/// assert_eq!(budget_tokens("Numbers restart every January."), 8);
/// assert_eq!(budget_tokens(""), 0);
/// ```
#[must_use]
pub fn budget_tokens(text: &str) -> u32 {
    tokens_of_len(text.len())
}

/// What a text of `n_bytes` costs; a text too long for the wire costs the most there is.
#[must_use]
pub(crate) fn tokens_of_len(n_bytes: usize) -> u32 {
    u32::try_from(n_bytes.div_ceil(4)).unwrap_or(u32::MAX)
}

/// The budget that fits into `model_tokens` of a model: divided by `factor`, rounded down.
///
/// 1.35 is a common factor for English text and code. A factor that is not above zero
/// leaves the number as it is. Single precision, as other hosts count.
#[must_use]
pub fn budget_from_model_tokens(model_tokens: u32, factor: f32) -> u32 {
    if factor > 0.0 {
        (model_tokens as f32 / factor) as u32
    } else {
        model_tokens
    }
}

/// The wrong method that would give the cost a provider `declared` for `text`, if one does.
pub(crate) fn method_behind(declared: u32, text: &str) -> Option<&'static str> {
    let escaped_len = || {
        let escape = |unit: &u16| match u8::try_from(*unit) {
            Ok(b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12) => 2,
            Ok(0x20..=0x7e) => 1,
            _ => 6,
        };
        text.encode_utf16().map(|unit| escape(&unit)).sum()
    };
    let methods: [(&'static str, &dyn Fn() -> usize); 4] = [
        ("the length in UTF-16 units", &|| {
            text.encode_utf16().count()
        }),
        ("the number of characters", &|| text.chars().count()),
        ("the length of the JSON-escaped text", &escaped_len),
        ("4 × the number of words", &|| {
            4 * text.split_whitespace().count()
        }),
    ];
    methods
        .into_iter()
        .find(|(_, count)| tokens_of_len(count()) == declared)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::{budget_from_model_tokens, budget_tokens, method_behind};

    #[test]
    fn bytes_count_and_nothing_else() {
        for (text, cost) in [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("é", 1),
            ("日本語", 3),
            ("🎼", 1),
            ("a\r\nb\n", 2),
            ("\0", 1),
        ] {
            assert_eq!(budget_tokens(text), cost, "{text:?}");
        }
    }

    #[test]
    fn model_tokens_are_divided_in_single_precision() {
        for (tokens, factor, budget) in [
            (10_000, 1.35, 7407),
            (10_000, 1.0, 10_000),
            (10_000, 0.0, 10_000),
            (10_000, -2.0, 10_000),
            (10_000, f32::NAN, 10_000),
            (u32::MAX, 1.35, 3_181_457_152),
            (100, 3.0, 33),
        ] {
            assert_eq!(budget_from_model_tokens(tokens, factor), budget);
        }
    }

    #[test]
    fn the_wrong_method_is_recognised() {
        let text = "文脈 文脈 文脈";
        assert_eq!(budget_tokens(text), 5);
        assert_eq!(method_behind(2, text), Some("the length in UTF-16 units"));
        assert_eq!(
            method_behind(10, text),
            Some("the length of the JSON-escaped text")
        );
        assert_eq!(method_behind(3, text), Some("4 × the number of words"));
        assert_eq!(method_behind(77, text), None);
    }
}
