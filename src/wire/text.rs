//! Text that a peer wrote, made fit to be shown to a person.
//!
//! Names, titles, labels and messages of a provider end up in errors, logs and
//! terminals. There a carriage return can repaint a verdict and a bidirectional
//! override can turn a word around, so such text is shown escaped and cut, never raw.

use std::fmt::{self, Write as _};

/// How many bytes of a peer's text an error or a log line shows.
pub const SHOWN_BYTES: usize = 200;

/// Shows a peer's text: control, bidirectional and invisible characters as visible
/// escapes such as `\x1b` or `\u{202e}`, and at most [`SHOWN_BYTES`] of it.
///
/// ```
/// use contextgraph_sync::wire::text::shown;
///
/// assert_eq!(shown("ok\x1b[2J\r").to_string(), r"ok\x1b[2J\r");
/// ```
#[must_use]
pub fn shown(text: &str) -> Shown<'_> {
    Shown {
        text,
        limit: SHOWN_BYTES,
        keep_layout: false,
    }
}

/// A peer's text as [`shown`] displays it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    text: &'a str,
    limit: usize,
    keep_layout: bool,
}

impl Shown<'_> {
    /// Shows up to `bytes` bytes of the text instead of [`SHOWN_BYTES`].
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self {
            limit: bytes,
            ..self
        }
    }

    /// Lets line feeds and tabs through: for a body that is printed as a body.
    #[must_use]
    pub fn keep_layout(self) -> Self {
        Self {
            keep_layout: true,
            ..self
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = floor_char_boundary(self.text, self.limit);
        for c in self.text[..end].chars() {
            match c {
                '\n' | '\t' if self.keep_layout => f.write_char(c)?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                _ if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                _ if c.is_control() || is_invisible(c) => {
                    write!(f, "\\u{{{:x}}}", u32::from(c))?;
                }
                _ => f.write_char(c)?,
            }
        }
        match self.text.len() - end {
            0 => Ok(()),
            n_cut => write!(f, "… ({n_cut} bytes more)"),
        }
    }
}

/// Characters that change how their neighbours look while showing nothing themselves.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Bytes in lower-case hex.
pub(crate) fn lower_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
    digits
        .map(|it| char::from(DIGITS[usize::from(it)]))
        .collect()
}

/// The largest boundary at or below `at`; std's own is newer than our Rust version.
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Whether a person would see nothing: empty, white space, or invisible characters.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::{is_blank, shown};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(shown(text).to_string(), expected);
    }

    #[test]
    fn controls_become_visible() {
        check("a\u{8}b\u{7f}", "a\\x08b\\x7f");
        check("\u{9b}31m", "\\u{9b}31m");
        check("\u{202e}gpj.exe", "\\u{202e}gpj.exe");
        check("a\u{200b}b\nc", "a\\u{200b}b\\nc");
        check("tag\u{e0041}", "tag\\u{e0041}");
    }

    #[test]
    fn ordinary_text_is_untouched() {
        check("Vec<Frame> – 文脈 🔎", "Vec<Frame> – 文脈 🔎");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let shown = shown("ééé").limit(3).to_string();
        assert_eq!(shown, "é… (4 bytes more)");
    }

    #[test]
    fn layout_survives_when_asked() {
        let shown = shown("a\n\tb\r").keep_layout().to_string();
        assert_eq!(shown, "a\n\tb\\r");
    }

    #[test]
    fn invisible_is_blank() {
        assert!(is_blank(" \u{200b}\u{a0}"));
        assert!(!is_blank(" x"));
    }
}
