//! Sections of prose: a heading and what is below it.

use super::{INSIDE, Limits, Piece, as_title, blocks, cut};

pub(super) fn pieces(lines: &[&str], limits: Limits) -> Vec<Piece> {
    let headings = headings(lines);
    let Some(first) = headings.first() else {
        return blocks::paragraphs(lines, limits);
    };
    let mut found = Vec::new();
    let intro = first.line;
    if lines[..intro].iter().any(|it| !it.trim().is_empty()) {
        found.extend(blocks::paragraphs(&lines[..intro], limits));
    }
    let sections = Sections {
        lines,
        limits,
        headings,
    };
    sections.among(0..sections.headings.len(), "", &mut found);
    found
}

struct Heading {
    line: usize,
    level: usize,
    title: String,
}

struct Sections<'a> {
    lines: &'a [&'a str],
    limits: Limits,
    headings: Vec<Heading>,
}

impl Sections<'_> {
    /// The sections of these headings, each with all below it if that fits.
    fn among(&self, headings: std::ops::Range<usize>, parent: &str, found: &mut Vec<Piece>) {
        let mut at = headings.start;
        while at < headings.end {
            let level = self.headings[at].level;
            let below = |it: &usize| self.headings[*it].level > level;
            let next = at + 1 + (at + 1..headings.end).take_while(below).count();
            self.section(at..next, parent, found);
            at = next;
        }
    }

    fn section(&self, headings: std::ops::Range<usize>, parent: &str, found: &mut Vec<Piece>) {
        let own = &self.headings[headings.start].title;
        let title = match parent {
            "" => own.clone(),
            _ => format!("{parent}{INSIDE}{own}"),
        };
        let whole = self.lines_of(headings.start, headings.end, title.clone());
        if whole.fits(self.lines, self.limits) {
            found.push(whole);
            return;
        }
        let own = self.lines_of(headings.start, headings.start + 1, title.clone());
        if own.fits(self.lines, self.limits) {
            found.push(own);
        } else {
            found.extend(cut(self.lines, &own, self.limits));
        }
        self.among(headings.start + 1..headings.end, &title, found);
    }

    /// From one heading to another, blank lines at the end left out.
    fn lines_of(&self, from: usize, to: usize, title: String) -> Piece {
        let first = self.headings[from].line;
        let end = self.headings.get(to).map_or(self.lines.len(), |it| it.line);
        let text = |it: &usize| !self.lines[*it].trim().is_empty();
        let end = (first..end).rev().find(text).map_or(end, |it| it + 1);
        Piece { first, end, title }
    }
}

/// Headings by `#` and by underlining, none inside of fenced code.
fn headings(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_end();
        let opener = ["```", "~~~"]
            .into_iter()
            .find(|it| line.trim_start().starts_with(it));
        match (fence, opener) {
            (None, Some(_)) => fence = opener,
            (Some(open), Some(close)) if open == close => fence = None,
            _ => {}
        }
        if fence.is_some() || opener.is_some() {
            continue;
        }
        let level = line.bytes().take_while(|it| *it == b'#').count();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            found.push(Heading {
                line: at,
                level,
                title: as_title(line.trim_matches('#')),
            });
        } else if let Some(level) = underline(line)
            && at > 0
            && is_plain(lines[at - 1])
            && lines[at - 1].trim().chars().count() <= line.len() + 3
        {
            found.push(Heading {
                line: at - 1,
                level,
                title: as_title(lines[at - 1]),
            });
        }
    }
    found
}

/// The level of a line that underlines the one before it.
fn underline(line: &str) -> Option<usize> {
    let mark = line.bytes().next()?;
    let level = match mark {
        b'=' => 1,
        b'-' => 2,
        b'~' => 3,
        b'^' => 4,
        _ => return None,
    };
    (line.len() >= 3 && line.bytes().all(|it| it == mark)).then_some(level)
}

/// A line that can be a heading if the next one underlines it.
fn is_plain(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with(|c: char| c.is_alphanumeric() || c == '`' || c == '*') && !line.contains('|')
}
