//! A real provider over a directory: no index, no configuration.
//!
//! It walks the way ripgrep does, ranks files and then the things inside them with BM25 over
//! words that know about code, and serves the best as frames: whole functions and whole
//! sections, their exact bytes, where they stand, and since when. Nothing is remembered between
//! questions, so an answer is never older than the files.
//!
//! What it skips: hidden and ignored files, symbolic links, files that are not UTF-8 text or
//! larger than [`MAX_FILE_BYTES`], and what cannot be read; [`Progress`] counts them.

mod answer;
mod confirm;
mod matcher;
mod outline;
mod progress;
mod rank;
mod survey;
mod terms;

pub use progress::Progress;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ignore::WalkBuilder;

use crate::digest::file_uri::to_path;
use crate::provider::{Budget, ContextProvider, ProviderError};
use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::frame::FrameKind;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::time::Timestamp;
use crate::wire::verify::{VerifyRequest, VerifyResponse};
use crate::workspace::matcher::Matcher;
use crate::workspace::progress::Skipped;
use crate::workspace::survey::Question;

/// Larger files are skipped: they are data, and a search has to end.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// A provider of `snippet` and `doc` frames from the files below a directory.
///
/// ```no_run
/// use contextgraph_sync::Host;
/// use contextgraph_sync::wire::ContextQuery;
/// use contextgraph_sync::workspace::Workspace;
///
/// let host = Host::new();
/// host.register("files", Workspace::new(".")?)?;
/// let answer = host.query_provider("files", &ContextQuery::new("retry policy", 8, 4000))?;
/// for frame in &answer.frames {
///     println!("{}", frame.title);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    /// Absolute, as it was given: what URIs and anchors are spelled with.
    root: PathBuf,
    progress: Arc<Progress>,
}

impl Workspace {
    /// The provider over a directory.
    ///
    /// # Errors
    ///
    /// If it is not a directory that can be read.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        let root = normal(&std::path::absolute(root)?);
        std::fs::read_dir(&root)?;
        Ok(Self {
            root,
            progress: Arc::default(),
        })
    }

    /// How far its searches have come; it can be watched while one runs.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// The walk of ripgrep, except that ignore files count outside of a repository too.
    fn walk(&self) -> WalkBuilder {
        let mut walk = WalkBuilder::new(&self.root);
        walk.require_git(false);
        walk
    }

    /// A file as text; none if it was changed after `as_of`.
    fn read(&self, path: &Path, as_of: Option<&Timestamp>) -> Result<Option<Text>, Skipped> {
        let unreadable = |error: io::Error| {
            log::debug!("workspace: {}: {error}", path.display());
            Skipped::Unreadable
        };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let modified = metadata.modified().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Skipped::NotText);
        }
        if as_of.is_some_and(|it| Timestamp::from_system_time(modified) > *it) {
            return Ok(None);
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(Skipped::TooLarge);
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        // It may grow while it is read.
        file.take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut content)
            .map_err(unreadable)?;
        if content.len() as u64 > MAX_FILE_BYTES {
            return Err(Skipped::TooLarge);
        }
        match String::from_utf8(content) {
            Ok(content) if !content.contains('\0') => Ok(Some(Text { content, modified })),
            _ => Err(Skipped::NotText),
        }
    }
}

impl ContextProvider for Workspace {
    fn info(&self) -> ProviderInfo {
        ProviderInfo::local("contextgraph-workspace", env!("CARGO_PKG_VERSION"))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // The runtimes that serve it echo ids.
            correlation: true,
            verify: true,
            ..Capabilities::kinds([FrameKind::Snippet, FrameKind::Doc])
        }
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        let terms = terms::of_question(query.text());
        let focus = Focus::new(&self.root, &query.anchors);
        if terms.is_empty() && focus.anchors.is_empty() {
            return Ok(ContextQueryResult::default());
        }
        let matcher = Matcher::new(&terms)
            .map_err(|error| ProviderError::internal(format!("cannot search: {error}")))?;
        let as_of = match query.as_of.as_deref().map(Timestamp::parse) {
            None => None,
            Some(Ok(instant)) => Some(instant),
            Some(Err(error)) => return Err(ProviderError::bad_request(format!("as_of: {error}"))),
        };
        let question = Question {
            matcher: &matcher,
            text: &query.text().to_lowercase(),
            focus: &focus,
            as_of: as_of.as_ref(),
        };
        let candidates = answer::candidates(self, query, &question);
        if self.progress.is_over() {
            return Err(ProviderError::unavailable("the workspace is shut down"));
        }
        Ok(Budget::pack(candidates, query))
    }

    fn verify(&self, request: &VerifyRequest) -> Result<VerifyResponse, ProviderError> {
        let verdicts = request.frames.iter().map(|it| confirm::judge(self, it));
        Ok(VerifyResponse {
            verdicts: verdicts.collect(),
        })
    }

    fn shutdown(&self) {
        self.progress.give_up();
    }
}

/// A file that can be quoted.
#[derive(Debug)]
struct Text {
    content: String,
    modified: SystemTime,
}

/// Where a file stands to the anchors of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The question has no anchors here.
    Anywhere,
    /// There are anchors, and this file is neither one nor near one.
    Elsewhere,
    /// In the directory of an anchor, or below it.
    NearAnchor,
    /// In focus itself.
    Anchor,
}

/// The anchors of a question that are inside of a workspace.
#[derive(Debug)]
struct Focus {
    anchors: Vec<PathBuf>,
}

impl Focus {
    /// Anchors that are no files, or outside, say nothing here.
    fn new(root: &Path, anchors: &[String]) -> Self {
        let paths = anchors.iter().filter_map(|it| to_path(it).ok());
        let inside = paths.filter_map(|it| Some(it.strip_prefix(root).ok()?.to_owned()));
        Self {
            anchors: inside.collect(),
        }
    }

    fn place(&self, path: &Path) -> Place {
        if self.anchors.is_empty() {
            return Place::Anywhere;
        }
        if self.anchors.iter().any(|it| it == path) {
            return Place::Anchor;
        }
        let near = |anchor: &PathBuf| {
            let in_it = path.starts_with(anchor);
            in_it || anchor.parent().is_some_and(|it| path.parent() == Some(it))
        };
        if self.anchors.iter().any(near) {
            Place::NearAnchor
        } else {
            Place::Elsewhere
        }
    }
}

/// The path without `.` and `..`; what `..` leads to is asked of nobody, as in a shell.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
