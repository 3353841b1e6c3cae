//! What a reader tolerates: null for "no value", and whole numbers in any notation.
//!
//! JSON has one number type and many writers. `8.0` and `1e1` are whole numbers
//! there, and a producer that always writes its optional members writes `null`.

use serde::de::{Deserialize, Deserializer, Error as _};

/// Reads `null` as the default: an empty list, `false`, `full`.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A whole number in any JSON notation: `8`, `8.0`, `1e1`.
pub(crate) struct Whole<T>(pub(crate) T);

impl<'de, T: TryFrom<u64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        whole(&number)
            .and_then(|it| T::try_from(it).ok())
            .map(Self)
            .ok_or_else(|| {
                let bits = 8 * size_of::<T>();
                D::Error::custom(format_args!(
                    "{number} is not a whole number of {bits} bits from 0"
                ))
            })
    }
}

fn whole(number: &serde_json::Number) -> Option<u64> {
    // Above 2^53 a double no longer says which whole number was meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let value = number.as_f64()?;
        let exact = value.fract() == 0.0 && (0.0..=EXACT).contains(&value);
        exact.then_some(value as u64)
    })
}

pub(crate) fn whole_number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    Whole::deserialize(deserializer).map(|Whole(it)| it)
}

pub(crate) fn optional_whole_number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let number = Option::<Whole<T>>::deserialize(deserializer)?;
    Ok(number.map(|Whole(it)| it))
}

#[cfg(test)]
mod tests {
    use super::Whole;

    #[track_caller]
    fn check(json: &str, expected: Option<u32>) {
        let read = serde_json::from_str::<Whole<u32>>(json);
        assert_eq!(read.ok().map(|Whole(it)| it), expected, "{json}");
    }

    #[test]
    fn notation_does_not_matter() {
        check("8", Some(8));
        check("8.0", Some(8));
        check("1e1", Some(10));
        check("-0.0", Some(0));
        check("4294967295", Some(u32::MAX));
        check("4294967295.0", Some(u32::MAX));
    }

    #[test]
    fn value_does() {
        check("8.5", None);
        check("-1", None);
        check("4294967296", None);
        check("1e300", None);
        check("\"8\"", None);
        check("null", None);
    }

    #[test]
    fn the_reason_shows_the_number() {
        let error = serde_json::from_str::<Whole<u32>>("8.5").err().unwrap();
        assert!(error.to_string().starts_with("8.5 is not a whole number"));
    }
}
