//! Depth by indentation, as in Python, Ruby and YAML.

use super::Depth;

pub(super) fn depths(lines: &[&str]) -> Vec<Depth> {
    // Indents of the blocks that are open.
    let mut open: Vec<usize> = Vec::new();
    let mut quote = None;
    let starts: Vec<Option<usize>> = lines
        .iter()
        .map(|line| {
            let was_quoted = quote.is_some();
            quote = quote_after(line, quote);
            if line.trim().is_empty() {
                return None;
            }
            if was_quoted {
                return Some(open.len() + 1);
            }
            let indent = line.len() - line.trim_start().len();
            while open.last().is_some_and(|it| *it >= indent) {
                open.pop();
            }
            let depth = open.len();
            open.push(indent);
            Some(depth + usize::from(closes(line)))
        })
        .collect();
    let mut next = 0;
    let mut depths: Vec<_> = starts
        .iter()
        .rev()
        .map(|start| {
            let end = next;
            next = start.unwrap_or(next);
            Depth { start: next, end }
        })
        .collect();
    depths.reverse();
    depths
}

/// Lines that stand as far left as what they close or go on with.
fn closes(line: &str) -> bool {
    let line = line.trim_start();
    let word_end = line
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(line.len());
    line.starts_with([')', ']', '}'])
        || matches!(
            &line[..word_end],
            "end" | "else" | "elif" | "except" | "finally" | "rescue" | "ensure" | "elsif"
        )
}

/// Which triple quote is open after this line.
fn quote_after(line: &str, mut open: Option<&'static str>) -> Option<&'static str> {
    let mut rest = line;
    loop {
        let next = match open {
            Some(quote) => rest.find(quote).map(|at| (at, quote)),
            None => ["\"\"\"", "'''"]
                .into_iter()
                .filter_map(|quote| Some((rest.find(quote)?, quote)))
                .min(),
        };
        let Some((at, quote)) = next else {
            return open;
        };
        open = if open.is_some() { None } else { Some(quote) };
        rest = &rest[at + quote.len()..];
    }
}
