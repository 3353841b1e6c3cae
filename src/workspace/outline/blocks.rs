//! Pieces by depth: what code in brackets and code by indentation have in common.

use super::{Depth, INSIDE, Limits, Piece, as_title, cut};

/// Nesting beyond this is cut, not followed.
const DEEPEST: usize = 8;

pub(super) fn pieces(lines: &[&str], depths: &[Depth], limits: Limits) -> Vec<Piece> {
    let outline = Outline {
        lines,
        depths,
        limits,
    };
    let mut found = Vec::new();
    outline.region(0..lines.len(), 0, "", &mut found);
    found
}

/// Runs of lines between blank ones; short ones that follow each other stay together.
pub(super) fn paragraphs(lines: &[&str], limits: Limits) -> Vec<Piece> {
    const SHORT: usize = 12;
    let flat = vec![Depth { start: 0, end: 0 }; lines.len()];
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces(lines, &flat, limits) {
        let together = joined.last().map(|last| Piece {
            first: last.first,
            end: piece.end,
            title: last.title.clone(),
        });
        match together {
            Some(both) if both.end - both.first <= SHORT && both.fits(lines, limits) => {
                joined.pop();
                joined.push(both);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

struct Outline<'a> {
    lines: &'a [&'a str],
    depths: &'a [Depth],
    limits: Limits,
}

impl Outline<'_> {
    /// Finds the pieces of these lines, which are `depth` deep and inside of `parent`.
    fn region(
        &self,
        lines: std::ops::Range<usize>,
        depth: usize,
        parent: &str,
        found: &mut Vec<Piece>,
    ) {
        let mut first = lines.start;
        let mut was_deeper = false;
        for at in lines.clone() {
            if first == at && self.is_blank(at) {
                first = at + 1;
                continue;
            }
            let Depth { start, end } = self.depths[at];
            if end > depth && start <= depth && !was_deeper {
                let lead = self.lead_of(first, at);
                if lead > first {
                    self.piece(first, lead, depth, parent, found);
                    first = lead;
                }
            }
            was_deeper |= start > depth || end > depth;
            let is_last = at + 1 == lines.end;
            let is_open = end > depth;
            let ends_block = was_deeper && !is_open;
            let next_is_blank = !is_last && self.is_blank(at + 1);
            if is_last || !is_open && (ends_block || next_is_blank) {
                self.piece(first, at + 1, depth, parent, found);
                (first, was_deeper) = (at + 1, false);
            }
        }
    }

    /// One piece, or the pieces inside of it if it is too large.
    fn piece(&self, first: usize, end: usize, depth: usize, parent: &str, found: &mut Vec<Piece>) {
        let end = (first..end)
            .rev()
            .find(|&it| !self.is_blank(it))
            .map_or(first, |it| it + 1);
        if first == end {
            return;
        }
        let own = as_title(self.lines[self.head(first, end)]);
        let piece = Piece {
            first,
            end,
            title: if parent.is_empty() {
                own
            } else {
                format!("{parent}{INSIDE}{own}")
            },
        };
        if piece.fits(self.lines, self.limits) {
            self.push(piece, found);
            return;
        }
        let inside = (first..end).find(|&it| self.depths[it].start > depth && !self.is_blank(it));
        match inside {
            Some(inside) if depth < DEEPEST => {
                let mut children = Vec::new();
                self.region(inside..end, depth + 1, &piece.title, &mut children);
                self.give_head(first..inside, &piece.title, &mut children);
                found.append(&mut children);
            }
            _ => found.extend(cut(self.lines, &piece, self.limits)),
        }
    }

    /// Adds a piece. Short ones that follow each other without a blank line or a comment between
    /// them are statements of one thought, and stay together.
    fn push(&self, piece: Piece, found: &mut Vec<Piece>) {
        const SHORT: usize = 12;
        if let Some(last) = found.last_mut()
            && last.end == piece.first
            && piece.end - last.first <= SHORT
            && self.same_parent(last, &piece)
            && !is_lead(self.lines[piece.first])
        {
            let both = Piece {
                end: piece.end,
                ..last.clone()
            };
            if both.fits(self.lines, self.limits) {
                *last = both;
                return;
            }
        }
        found.push(piece);
    }

    fn same_parent(&self, a: &Piece, b: &Piece) -> bool {
        self.depths[a.first].start == self.depths[b.first].start
    }

    /// Where the comments and attributes right above a line begin.
    fn lead_of(&self, first: usize, at: usize) -> usize {
        let lead = |it: &usize| is_lead(self.lines[*it]);
        at - (first..at).rev().take_while(lead).count()
    }

    /// The lines that open a block go with the first thing inside, if they fit there.
    fn give_head(&self, head: std::ops::Range<usize>, title: &str, children: &mut Vec<Piece>) {
        if let Some(child) = children.first_mut() {
            let whole = Piece {
                first: head.start,
                ..child.clone()
            };
            if whole.fits(self.lines, self.limits) {
                *child = whole;
                return;
            }
        }
        let piece = Piece {
            first: head.start,
            end: head.end,
            title: title.to_owned(),
        };
        let head = cut(self.lines, &piece, self.limits);
        children.splice(..0, head);
    }

    /// The line that names a piece: the first that is neither comment nor attribute.
    fn head(&self, first: usize, end: usize) -> usize {
        (first..end)
            .find(|&it| !self.is_blank(it) && !is_lead(self.lines[it]))
            .unwrap_or(first)
    }

    fn is_blank(&self, at: usize) -> bool {
        self.lines[at].trim().is_empty()
    }
}

/// Comments, attributes and decorators lead up to what they belong to.
fn is_lead(line: &str) -> bool {
    const LEADS: [&str; 9] = ["//", "/*", "*", "#", "@", "--", "\"\"\"", "'''", ";"];
    let line = line.trim_start();
    let directive = ["#include", "#define", "#if"];
    LEADS.iter().any(|it| line.starts_with(it)) && !directive.iter().any(|it| line.starts_with(it))
}
