//! The first pass: every file once, in parallel, to find those worth a closer look.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkState};

use crate::wire::time::Timestamp;
use crate::workspace::matcher::{Matcher, Tally};
use crate::workspace::outline::Language;
use crate::workspace::progress::Skipped;
use crate::workspace::rank::{Statistics, weight_of_place, weight_of_text};
use crate::workspace::{Focus, Place, Workspace};

/// Files that are kept while the walk goes on; with twice as many the worse half goes.
const MAX_KEPT: usize = 16_384;

/// A file that speaks of the question.
#[derive(Debug)]
pub(super) struct Found {
    /// Where, below the root.
    pub(super) path: PathBuf,
    pub(super) bytes: usize,
    pub(super) tally: Tally,
    /// What its place and its beginning say about its worth.
    pub(super) weight: f32,
    /// Whether the question has it in focus.
    pub(super) place: Place,
}

/// What the first pass found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    found: Vec<Found>,
    n_texts: u64,
    bytes: u64,
    holding: Vec<u64>,
}

/// What is looked for.
pub(super) struct Question<'a> {
    pub(super) matcher: &'a Matcher,
    /// The text, in lower case.
    pub(super) text: &'a str,
    pub(super) focus: &'a Focus,
    pub(super) as_of: Option<&'a Timestamp>,
}

impl Survey {
    pub(super) fn of(workspace: &Workspace, question: &Question<'_>) -> Self {
        let survey = Mutex::new(Self {
            holding: vec![0; question.matcher.len()],
            ..Self::default()
        });
        workspace.walk().build_parallel().run(|| {
            Box::new(|entry| {
                let progress = &workspace.progress;
                if progress.is_over() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) if is_file(&entry) => {
                        progress.saw_file();
                        match look(workspace, &entry, question) {
                            Ok(Some(looked)) => {
                                progress.searched_file();
                                survey
                                    .lock()
                                    .unwrap_or_else(PoisonError::into_inner)
                                    .add(looked);
                            }
                            Ok(None) => {}
                            Err(why) => progress.skipped(why),
                        }
                    }
                    Ok(_) => {}
                    Err(error) => {
                        log::debug!("workspace: {error}");
                        progress.skipped(Skipped::Unreadable);
                    }
                }
                WalkState::Continue
            })
        });
        survey.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn statistics(&self) -> Statistics {
        #[expect(clippy::cast_precision_loss, reason = "an average needs no exact sum")]
        let average = self.bytes as f32 / self.n_texts.max(1) as f32;
        Statistics::new(self.n_texts, &self.holding, average, 0.4)
    }

    /// The most promising of the files that are wanted, best first; equal ones by path, so that an answer does not
    /// depend on which thread was faster.
    pub(super) fn best(mut self, count: usize, is_wanted: impl Fn(&Found) -> bool) -> Vec<Found> {
        self.rank();
        self.found.retain(is_wanted);
        self.found.truncate(count);
        self.found
    }

    fn rank(&mut self) {
        let statistics = self.statistics();
        let worth = |it: &Found| (it.place, it.weight * statistics.score(&it.tally, it.bytes));
        self.found.sort_by(|a, b| {
            let ((near_a, score_a), (near_b, score_b)) = (worth(a), worth(b));
            let by_focus = (near_b == Place::Anchor).cmp(&(near_a == Place::Anchor));
            let by_score = || score_b.total_cmp(&score_a);
            by_focus
                .then_with(by_score)
                .then_with(|| a.path.cmp(&b.path))
        });
    }

    fn add(&mut self, Looked { bytes, found }: Looked) {
        self.n_texts += 1;
        self.bytes += bytes;
        let Some(found) = found else {
            return;
        };
        for (n, count) in self.holding.iter_mut().zip(&found.tally.0) {
            *n += u64::from(*count > 0.0);
        }
        self.found.push(found);
        if self.found.len() >= 2 * MAX_KEPT {
            self.rank();
            self.found.truncate(MAX_KEPT);
        }
    }
}

struct Looked {
    bytes: u64,
    found: Option<Found>,
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|it| it.is_file())
}

/// Searches one file; nothing to tell if it did not exist yet at the instant that is asked for.
fn look(
    workspace: &Workspace,
    entry: &DirEntry,
    question: &Question<'_>,
) -> Result<Option<Looked>, Skipped> {
    let path = entry
        .path()
        .strip_prefix(&workspace.root)
        .unwrap_or(entry.path());
    if path.to_str().is_none() {
        return Err(Skipped::NotText);
    }
    let Some(text) = workspace.read(entry.path(), question.as_of)? else {
        return Ok(None);
    };
    let text = text.content;
    let bytes = text.len();
    let place = question.focus.place(path);
    let mut tally = question.matcher.tally(&text, Language::of(path));
    tally.add(&question.matcher.tally_path(path));
    let is_found = place == Place::Anchor || !tally.is_empty();
    let found = is_found.then(|| Found {
        path: path.to_owned(),
        bytes,
        tally,
        weight: weight_of_place(path, question.text) * weight_of_text(&text),
        place,
    });
    Ok(Some(Looked {
        bytes: bytes as u64,
        found,
    }))
}
