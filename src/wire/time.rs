//! Timestamps: one strict UTC profile (F4), compared as instants.

use std::cmp::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::wire::grammar::GrammarError;

const WANTED: &str = "a timestamp like 2026-01-31T23:59:59Z";
const SECONDS_PER_DAY: i64 = 86_400;

/// An instant in the profile of F4: `YYYY-MM-DDTHH:MM:SS[.digits]Z`.
///
/// Wire types hold timestamps as text, because a peer may send any; this is what the
/// text means. Instants compare by time, to the last digit of the fraction: as text,
/// `…01.5Z` would sort before `…01Z`. A leap second (`:60`) comes after second 59 and
/// before the next minute.
///
/// ```
/// use contextgraph_sync::wire::Timestamp;
///
/// let early = Timestamp::parse("2026-07-01T00:00:01Z")?;
/// let late = Timestamp::parse("2026-07-01T00:00:01.5Z")?;
/// assert!(early < late);
/// # Ok::<(), contextgraph_sync::wire::GrammarError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// Seconds since 1970, a leap second counted as the second it follows.
    seconds: i64,
    is_leap: bool,
    /// Digits of the fraction without trailing zeros.
    fraction: String,
}

impl Timestamp {
    /// Reads a timestamp of the F4 profile: upper-case `T` and `Z`, no offset, real dates.
    ///
    /// # Errors
    ///
    /// A [`GrammarError`] that shows the text, with a hint for what other libraries write.
    pub fn parse(text: &str) -> Result<Self, GrammarError> {
        parse(text.as_bytes()).ok_or_else(|| GrammarError::new(text, WANTED, hint(text)))
    }

    /// The instant of a system time, to its last nanosecond.
    ///
    /// The grammar has years 0000 to 9999; an instant outside is taken to the nearest end.
    #[must_use]
    pub fn from_system_time(time: SystemTime) -> Self {
        let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (
                i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
                after.subsec_nanos(),
            ),
            Err(before) => before_epoch(before.duration()),
        };
        let first = SECONDS_PER_DAY * days_from_civil(0, 1, 1);
        let last = SECONDS_PER_DAY * days_from_civil(10_000, 1, 1) - 1;
        let fraction = format!("{nanoseconds:09}");
        Self {
            seconds: seconds.clamp(first, last),
            is_leap: false,
            fraction: fraction.trim_end_matches('0').to_owned(),
        }
    }

    /// Seconds since 1970, the fraction cut off.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        self.seconds
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.seconds
            .cmp(&other.seconds)
            .then(self.is_leap.cmp(&other.is_leap))
            // Without trailing zeros, digits after the point compare like text.
            .then_with(|| self.fraction.cmp(&other.fraction))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let days = self.seconds.div_euclid(SECONDS_PER_DAY);
        let of_day = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
        let second = of_day % 60 + i64::from(self.is_leap);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        if !self.fraction.is_empty() {
            write!(f, ".{}", self.fraction)?;
        }
        f.write_str("Z")
    }
}

fn before_epoch(distance: Duration) -> (i64, u32) {
    let whole = i64::try_from(distance.as_secs()).unwrap_or(i64::MAX);
    match distance.subsec_nanos() {
        0 => (-whole, 0),
        nanoseconds => ((-whole).saturating_sub(1), 1_000_000_000 - nanoseconds),
    }
}

fn parse(text: &[u8]) -> Option<Timestamp> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let fraction = match rest.strip_suffix(b"Z")? {
        [] => &[][..],
        [b'.', digits @ ..] if !digits.is_empty() => digits,
        _ => return None,
    };
    for (&byte, &shape) in date_time.iter().zip(b"0000-00-00T00:00:00") {
        let fits = match shape {
            b'0' => byte.is_ascii_digit(),
            _ => byte == shape,
        };
        if !fits {
            return None;
        }
    }
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }

    let number = |from: usize, to: usize| {
        let digits = date_time[from..to].iter();
        digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let date_exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    if !date_exists || hour > 23 || minute > 59 || second > 60 {
        return None;
    }

    let is_leap = second == 60;
    let of_day = hour * 3600 + minute * 60 + second - i64::from(is_leap);
    let fraction = String::from_utf8_lossy(fraction);
    Some(Timestamp {
        seconds: days_from_civil(year, month, day) * SECONDS_PER_DAY + of_day,
        is_leap,
        fraction: fraction.trim_end_matches('0').to_owned(),
    })
}

fn hint(text: &str) -> Option<&'static str> {
    let fits = |text: &str| parse(text.as_bytes()).is_some();
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return None;
    }
    if trimmed != text && fits(trimmed) {
        return Some("white space around it");
    }
    if trimmed.ends_with("+00:00") || trimmed.ends_with("-00:00") {
        return Some("Python's isoformat() writes +00:00; write Z");
    }
    if trimmed
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Some("looks like seconds since 1970");
    }
    let upper = trimmed.to_ascii_uppercase();
    if upper != trimmed && fits(&upper) {
        return Some("T and Z are upper case");
    }
    if fits(&format!("{trimmed}Z")) {
        return Some("the Z is missing");
    }
    let time = trimmed.get(19..).unwrap_or_default();
    if time.contains(['+', '-']) {
        return Some("no offset: convert it to UTC and write Z");
    }
    if fits(&trimmed.replacen(' ', "T", 1)) {
        return Some("a T stands between date and time");
    }
    None
}

fn is_leap_year(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01; years begin in March so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::Timestamp;

    #[track_caller]
    fn check(text: &str, valid: bool) {
        assert_eq!(Timestamp::parse(text).is_ok(), valid, "{text:?}");
    }

    #[test]
    fn the_profile_is_strict() {
        for text in [
            "2026-07-01T00:00:00Z",
            "2026-07-01T00:00:00.000000000123Z",
            "2024-02-29T00:00:00Z",
            "2000-02-29T23:59:59Z",
            "2026-07-01T23:59:60Z",
            "2026-07-01T00:00:60Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            check(text, true);
        }
        for text in [
            "",
            "last tuesday",
            "2026-07-01t00:00:00Z",
            "2026-07-01T00:00:00z",
            "2026-07-01 00:00:00Z",
            "2026-07-01T00:00:00+00:00",
            "2026-07-01T00:00:00",
            "2026-07-01T00:00:00.Z",
            "2026-07-01T00:00:00.1aZ",
            "2026-07-01T00:00:00ZZ",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-04-00T00:00:00Z",
            "2026-07-01T24:00:00Z",
            "2026-07-01T23:60:00Z",
            "2026-07-01T23:59:61Z",
            "10000-01-01T00:00:00Z",
            "２026-07-01T00:00:00Z",
            "-026-07-01T00:00:00Z",
            " 2026-07-01T00:00:00Z",
            "2026-07-01T00:00:00Z\n",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn instants_compare_by_time() {
        let rising = [
            "1969-12-31T23:59:59.9Z",
            "2026-07-01T00:00:59Z",
            "2026-07-01T00:00:59.05Z",
            "2026-07-01T00:00:59.5Z",
            "2026-07-01T00:00:60Z",
            "2026-07-01T00:01:00Z",
        ];
        let instants = rising.map(|text| Timestamp::parse(text).unwrap());
        assert!(instants.is_sorted_by(|a, b| a < b));
        assert_eq!(
            Timestamp::parse("2026-07-01T00:00:00.50Z"),
            Timestamp::parse("2026-07-01T00:00:00.5Z")
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        let whole = |seconds: i64| {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let time = if seconds < 0 {
                UNIX_EPOCH - distance
            } else {
                UNIX_EPOCH + distance
            };
            Timestamp::from_system_time(time).to_string()
        };
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (1_785_000_000, "2026-07-25T17:20:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(whole(seconds), text);
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        let before = UNIX_EPOCH - Duration::from_millis(1_500);
        assert_eq!(
            Timestamp::from_system_time(before).to_string(),
            "1969-12-31T23:59:58.5Z"
        );
        let leap = "2016-12-31T23:59:60.25Z";
        assert_eq!(Timestamp::parse(leap).unwrap().to_string(), leap);
    }

    #[test]
    fn hints_name_the_usual_sources() {
        for (text, hint) in [
            ("2026-01-31T23:59:59+00:00", "Python's isoformat()"),
            ("2026-01-31T23:59:59", "the Z is missing"),
            ("2026-01-31t23:59:59z", "upper case"),
            ("1769900399", "seconds since 1970"),
            ("2026-01-31T23:59:59+01", "no offset"),
            ("2026-01-31 23:59:59Z", "a T stands"),
        ] {
            let error = Timestamp::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(hint), "{error}");
        }
    }
}
