//! Whether a frame that a host holds is still what the file says (V2).

use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

use crate::digest::range::LineRange;
use crate::digest::sha256;
use crate::wire::identity::FrameId;
use crate::wire::verify::{FrameVerdict, VerdictStatus};
use crate::workspace::Workspace;
use crate::workspace::progress::Skipped;

/// Judges one frame by reading its source again. An id is a claim from outside: it leads to a
/// file only if a search of this workspace could have found that file.
pub(super) fn judge(workspace: &Workspace, frame: &FrameId) -> FrameVerdict {
    FrameVerdict {
        frame: frame.clone(),
        status: status(workspace, frame),
        replacement_digest: None,
    }
}

fn status(workspace: &Workspace, frame: &FrameId) -> VerdictStatus {
    let Some(held) = frame.content_digest.as_deref() else {
        return VerdictStatus::Unknown;
    };
    let Some((path, range)) = source(&frame.frame_id) else {
        return VerdictStatus::Unknown;
    };
    let path = workspace.root.join(path);
    if !is_visible(workspace, &path) {
        return VerdictStatus::Gone;
    }
    match workspace.read(&path, None) {
        Ok(Some(text)) => match range.slice(text.content.as_bytes()) {
            Some(bytes) if sha256(bytes).as_str() == held => VerdictStatus::Valid,
            Some(_) => VerdictStatus::Stale,
            None => VerdictStatus::Gone,
        },
        Ok(None) | Err(Skipped::Unreadable) => VerdictStatus::Unknown,
        // It is no longer a text that could be quoted.
        Err(Skipped::TooLarge | Skipped::NotText) => VerdictStatus::Gone,
    }
}

/// The path and the lines that a frame id of ours names; the path has plain names only.
fn source(frame_id: &str) -> Option<(&Path, LineRange)> {
    let (path, range) = frame_id.rsplit_once('#')?;
    let path = Path::new(path);
    let is_plain = path
        .components()
        .all(|it| matches!(it, Component::Normal(_)));
    let range = LineRange::parse(range).ok()?;
    (is_plain && !path.as_os_str().is_empty()).then_some((path, range))
}

/// Whether a search would come across this file: it exists, is no link, and nothing hides or
/// ignores it. Only its own directories are looked at.
fn is_visible(workspace: &Workspace, path: &Path) -> bool {
    let wanted: PathBuf = path.to_owned();
    let mut walk: WalkBuilder = workspace.walk();
    walk.filter_entry(move |entry| wanted.starts_with(entry.path()));
    let mut entries = walk.build().filter_map(Result::ok);
    entries.any(|it| it.path() == path && it.file_type().is_some_and(|it| it.is_file()))
}
