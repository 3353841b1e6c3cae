//! A file as whole things a reader can use: functions with their comments, sections with their
//! headings.
//!
//! It is no parser: it follows brackets, indentation and headings, which every language that
//! people write has one of. A thing that is too large falls into the things inside it, and only
//! what has nothing inside is cut, at blank lines if there are any.

mod blocks;
mod braces;
mod headings;
mod indent;

use std::path::Path;

/// Stands between the title of a thing and the titles of what is inside of it.
const INSIDE: &str = " › ";

/// What a piece may be at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// A run of lines that belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first line, from 0.
    pub(super) first: usize,
    /// The line after its last.
    pub(super) end: usize,
    /// What it is called: its heading, or its first line of code, below what it is inside of.
    pub(super) title: String,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// Prose below headings.
    Prose,
    /// Code in brackets.
    Braces(Quotes),
    /// Code below what is indented less.
    Indent,
    /// Tables below `[names]`.
    Tables,
    /// Nothing known: paragraphs.
    Other,
}

/// What opens a string, where languages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// `'` is a character or a lifetime, `r#"` is raw, `"` spans lines.
    Rust,
    /// `'` is a character.
    C,
    /// `'` and the backtick are strings.
    Script,
}

impl Language {
    pub(super) fn of(path: &Path) -> Self {
        let extension = path
            .extension()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "md" | "mdx" | "markdown" | "rst" | "adoc" | "txt" | "org" | "" => Self::Prose,
            "rs" => Self::Braces(Quotes::Rust),
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "java" | "cs" | "kt" | "swift"
            | "scala" | "proto" | "m" | "mm" | "zig" | "css" | "scss" | "dart" => {
                Self::Braces(Quotes::C)
            }
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "go" | "php" | "vue" | "svelte" => {
                Self::Braces(Quotes::Script)
            }
            "py" | "pyi" | "rb" | "yml" | "yaml" | "ex" | "exs" | "lua" | "jl" | "nim" => {
                Self::Indent
            }
            "toml" | "ini" | "cfg" | "conf" => Self::Tables,
            _ => Self::Other,
        }
    }
}

/// The pieces of a text, in order. Lines are as in [`lines`].
pub(super) fn pieces(language: Language, lines: &[&str], limits: Limits) -> Vec<Piece> {
    match language {
        Language::Prose => headings::pieces(lines, limits),
        Language::Braces(quotes) => blocks::pieces(lines, &braces::depths(lines, quotes), limits),
        Language::Indent => blocks::pieces(lines, &indent::depths(lines), limits),
        Language::Tables => blocks::pieces(lines, &table_depths(lines), limits),
        Language::Other => blocks::paragraphs(lines, limits),
    }
}

/// The lines of a text, each with its line end, as a digest counts them.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// How deep a line is nested where it begins and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Depth {
    start: usize,
    end: usize,
}

/// What follows a `[name]` is inside of it.
fn table_depths(lines: &[&str]) -> Vec<Depth> {
    let is_name = |line: &str| line.starts_with('[');
    let mut inside = 0;
    let mut depths: Vec<_> = lines
        .iter()
        .map(|line| {
            let start = if is_name(line) { 0 } else { inside };
            if is_name(line) {
                inside = 1;
            }
            Depth { start, end: inside }
        })
        .collect();
    // A table ends where the next begins; comments and blank lines before that one are its own.
    for at in (0..lines.len()).rev() {
        let next_is_top = depths.get(at + 1).is_none_or(|it| it.start == 0);
        let is_lead = lines[at].trim().is_empty() || lines[at].starts_with('#');
        if next_is_top && !is_name(lines[at]) {
            depths[at].end = 0;
            if is_lead {
                depths[at].start = 0;
            }
        }
    }
    depths
}

/// A line as part of a title.
fn as_title(line: &str) -> String {
    const LONGEST: usize = 90;
    let line = line.trim().trim_end_matches('{').trim_end();
    let cut = crate::wire::text::floor_char_boundary(line, LONGEST);
    let more = if cut < line.len() { "…" } else { "" };
    format!("{}{more}", &line[..cut])
}

/// Cuts what has no structure: at the last blank line before a limit, or at the limit.
fn cut(lines: &[&str], piece: &Piece, limits: Limits) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut first = piece.first;
    while first < piece.end {
        let end = first + fitting(&lines[first..piece.end], limits);
        let blank = (first + 1..end)
            .rev()
            .find(|&it| lines[it - 1].trim().is_empty());
        let end = if end == piece.end {
            end
        } else {
            blank.unwrap_or(end)
        };
        found.push(Piece {
            first,
            end,
            title: piece.title.clone(),
        });
        first = end;
    }
    found
}

/// How many of these lines fit; at least one.
fn fitting(lines: &[&str], limits: Limits) -> usize {
    let mut bytes = 0;
    let fits = |line: &&&str| {
        bytes += line.len();
        bytes <= limits.bytes
    };
    lines
        .iter()
        .take(limits.lines)
        .take_while(fits)
        .count()
        .max(1)
}

impl Piece {
    /// The titles of what it is inside of.
    pub(super) fn parents(&self) -> &str {
        self.title
            .rsplit_once(INSIDE)
            .map_or("", |(parents, _)| parents)
    }

    fn fits(&self, lines: &[&str], limits: Limits) -> bool {
        let bytes: usize = lines[self.first..self.end].iter().map(|it| it.len()).sum();
        self.end - self.first <= limits.lines && bytes <= limits.bytes
    }
}

#[cfg(test)]
mod tests;
