//! The answer as a table for people and as JSON for scripts.

use std::collections::HashSet;
use std::io::{self, Write};

use serde::Serialize;

use crate::compose::{Audit, Composed};
use crate::error::Error;
use crate::host::audit::Finding;
use crate::host::fan_out::{FanOut, Leg};
use crate::wire::frame::{Provenance, ProviderFrame};
use crate::wire::identity::FrameId;
use crate::wire::text::shown;

/// Everything there is to tell about one question.
pub(super) struct Report<'a> {
    pub(super) goal: &'a str,
    pub(super) fan_out: &'a FanOut,
    pub(super) frames: &'a [ProviderFrame],
    pub(super) composed: &'a Composed,
}

impl<'a> Report<'a> {
    /// The frames that are in the prompt, best first.
    pub(super) fn served(&self) -> impl Iterator<Item = &'a ProviderFrame> {
        let included = self.included();
        let ranked = self.ranked().into_iter();
        ranked.filter(move |it| included.contains(&it.identity()))
    }

    fn included(&self) -> HashSet<FrameId> {
        let citations = self.composed.citations.iter();
        citations.map(|it| it.frame.clone()).collect()
    }

    fn ranked(&self) -> Vec<&'a ProviderFrame> {
        let mut ranked: Vec<_> = self.frames.iter().collect();
        ranked.sort_by(|a, b| {
            let by_score = b.frame.score.total_cmp(&a.frame.score);
            by_score.then_with(|| a.identity().cmp(&b.identity()))
        });
        ranked
    }
}

/// Score, cost, citation and first line of each frame in the prompt.
pub(super) fn table(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    const FIRST_LINE: usize = 72;
    let rows: Vec<_> = report
        .served()
        .map(|it| {
            let label = it
                .frame
                .citation_label
                .as_deref()
                .unwrap_or(&it.frame.title);
            let content = it.frame.content.as_deref().unwrap_or_default();
            let line = content.lines().find(|line| !line.trim().is_empty());
            (
                it,
                shown(label).to_string(),
                line.unwrap_or_default().trim(),
            )
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let longest = rows.iter().map(|(_, label, _)| label.chars().count()).max();
    let width = longest.unwrap_or(0).max("CITATION".len());
    writeln!(out, "SCORE   COST  {:width$}  FIRST LINE", "CITATION")?;
    for (it, label, line) in rows {
        let (score, cost) = (it.frame.score, it.frame.token_cost);
        let cut: String = line.chars().take(FIRST_LINE).collect();
        let more = if cut.len() < line.len() { "…" } else { "" };
        writeln!(
            out,
            "{score:5.3} {cost:6}  {label:width$}  {}{more}",
            shown(&cut)
        )?;
    }
    Ok(())
}

/// One JSON document; its members only ever grow.
pub(super) fn json(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let included = report.included();
    let frames = report.ranked().into_iter().map(|it| JsonFrame {
        provider: it.provider_id.as_str(),
        id: &it.frame.id,
        kind: it.frame.kind.as_str(),
        title: &it.frame.title,
        uri: it.frame.uri.as_deref(),
        range: it
            .frame
            .provenance
            .iter()
            .find_map(|link| link.range.as_deref()),
        score: it.frame.score,
        token_cost: it.frame.token_cost,
        citation: it.frame.citation_label.as_deref(),
        content: it.frame.content.as_deref(),
        content_digest: it.frame.content_digest.as_deref(),
        valid_from: it.frame.valid_from.as_deref(),
        provenance: &it.frame.provenance,
        in_prompt: included.contains(&it.identity()),
    });
    let document = Document {
        schema: "contextgraph-sync/query/1",
        version: env!("CARGO_PKG_VERSION"),
        goal: report.goal,
        frames: frames.collect(),
        outcomes: report.fan_out.legs.iter().map(outcome).collect(),
        audit: &report.composed.audit,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    goal: &'a str,
    frames: Vec<JsonFrame<'a>>,
    outcomes: Vec<JsonOutcome<'a>>,
    audit: &'a Audit,
}

#[derive(Serialize)]
struct JsonFrame<'a> {
    provider: &'a str,
    id: &'a str,
    kind: &'a str,
    title: &'a str,
    uri: Option<&'a str>,
    range: Option<&'a str>,
    score: f32,
    token_cost: u32,
    citation: Option<&'a str>,
    content: Option<&'a str>,
    content_digest: Option<&'a str>,
    valid_from: Option<&'a str>,
    provenance: &'a [Provenance],
    in_prompt: bool,
}

#[derive(Serialize)]
struct JsonOutcome<'a> {
    provider: &'a str,
    status: &'static str,
    frames: usize,
    truncated: bool,
    dropped_estimate: Option<u32>,
    error: Option<JsonError>,
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonError {
    kind: &'static str,
    message: String,
    retryable: bool,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'static str,
    frame: Option<&'a str>,
    member: &'a str,
    message: &'a str,
    effect: &'static str,
}

fn outcome(leg: &Leg) -> JsonOutcome<'_> {
    let provider = leg.provider.as_str();
    match &leg.outcome {
        Ok(answer) => JsonOutcome {
            provider,
            status: "answered",
            frames: answer.frames.len(),
            truncated: answer.truncated,
            dropped_estimate: answer.dropped_estimate,
            error: None,
            findings: answer.findings.iter().map(finding).collect(),
        },
        Err(error) => JsonOutcome {
            provider,
            status: "failed",
            frames: 0,
            truncated: false,
            dropped_estimate: None,
            error: Some(json_error(error)),
            findings: Vec::new(),
        },
    }
}

fn finding(finding: &Finding) -> JsonFinding<'_> {
    JsonFinding {
        rule: finding.violation.rule.as_str(),
        frame: finding.frame_id.as_deref(),
        member: &finding.violation.member,
        message: &finding.violation.message,
        effect: finding.effect.as_str(),
    }
}

fn json_error(error: &Error) -> JsonError {
    JsonError {
        kind: error.kind(),
        message: error.to_string(),
        retryable: error.is_retryable(),
    }
}
