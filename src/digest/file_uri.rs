//! Between a path and its `file:` URI; nothing here touches the file system.
//!
//! Providers write URIs in several legal ways, and the protocol compares them as plain text
//! (anchors, G4), so there is one canonical spelling: [`canonical`] makes it, and [`to_uri`]
//! writes nothing else.

use std::path::{Component, Path, PathBuf};

use crate::wire::grammar::GrammarError;

/// The canonical URI of an absolute path: upper-case escapes, none that is not needed.
///
/// A relative path gives the URI of the same path below the root directory; make it absolute
/// first.
///
/// ```
/// use std::path::Path;
/// use contextgraph_sync::digest::file_uri::to_uri;
///
/// assert_eq!(to_uri(Path::new("/repo/my notes/a.md")), "file:///repo/my%20notes/a.md");
/// ```
#[must_use]
pub fn to_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    let mut is_root = true;
    for part in path.components() {
        let name = match part {
            Component::RootDir | Component::CurDir => continue,
            Component::Prefix(prefix) => prefix.as_os_str(),
            Component::ParentDir | Component::Normal(_) => part.as_os_str(),
        };
        uri.push('/');
        escape(&mut uri, name.as_encoded_bytes());
        is_root = false;
    }
    if is_root {
        uri.push('/');
    }
    uri
}

/// The path that a URI names, each escape decoded once.
///
/// A query or a fragment is no part of the path. An empty or `.` segment is left out. `file:/a`
/// and spaces and other characters that should have been escaped are understood.
///
/// # Errors
///
/// Another scheme, another host, a broken escape, `..`, and escapes for `/` and NUL: each with
/// a hint. On systems other than Unix also bytes that are not UTF-8.
pub fn to_path(uri: &str) -> Result<PathBuf, GrammarError> {
    let refused = |hint| GrammarError::new(uri, "a file URI such as file:///dir/name", Some(hint));
    let rest = match uri.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => rest,
        Some((scheme, _)) if is_scheme(scheme) => return Err(refused("not a local file")),
        _ => return Err(refused("not a URI")),
    };
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let at = rest.find('/').ok_or_else(|| refused("it has no path"))?;
            let (host, path) = rest.split_at(at);
            if host.len() == 2 && host.ends_with(':') {
                return Err(refused("a slash is missing before the drive letter"));
            }
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(refused("it names another host"));
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(refused("its path is not absolute"));
    }
    if path.starts_with("//") {
        return Err(refused("it names another host"));
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut decoded = vec![b'/'];
    for segment in path.split('/') {
        let segment = decode(segment).map_err(refused)?;
        match segment.as_slice() {
            b"" | b"." => {}
            b".." => return Err(refused("`..` leads out of a directory")),
            name => {
                if decoded.len() > 1 {
                    decoded.push(b'/');
                }
                decoded.extend_from_slice(name);
            }
        }
    }
    from_bytes(decoded).ok_or_else(|| refused("its bytes are not UTF-8"))
}

/// The one spelling of a URI that two tools agree on.
///
/// # Errors
///
/// The same as [`to_path`].
pub fn canonical(uri: &str) -> Result<String, GrammarError> {
    to_path(uri).map(|path| to_uri(&path))
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "elsewhere a path is not any bytes"
)]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(Into::into)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn decode(segment: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = segment.bytes();
    let mut decoded = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        match (bytes.next().and_then(digit), bytes.next().and_then(digit)) {
            (Some(high), Some(low)) => match high << 4 | low {
                0 => return Err("%00 is in no path"),
                b'/' => return Err("%2F hides a `/` in a name"),
                byte => decoded.push(byte),
            },
            _ => return Err("`%` and two hex digits, or %25 for the sign itself"),
        }
    }
    Ok(decoded)
}

fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

fn escape(uri: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::{canonical, to_path, to_uri};

    #[track_caller]
    fn names(uri: &str, path: &str) {
        assert_eq!(to_path(uri).unwrap(), Path::new(path), "{uri}");
    }

    #[track_caller]
    fn refused(uri: &str, hint: &str) {
        assert_eq!(to_path(uri).unwrap_err().hint(), Some(hint), "{uri}");
    }

    #[test]
    fn every_legal_spelling_is_understood() {
        for (uri, path) in [
            ("file:///repo/src/net.rs", "/repo/src/net.rs"),
            ("file:///repo/my%20notes/a.md", "/repo/my notes/a.md"),
            ("file:///repo/100%25.txt", "/repo/100%.txt"),
            ("file:///repo/a%2520b.txt", "/repo/a%20b.txt"),
            ("file:///repo/a+b.txt", "/repo/a+b.txt"),
            ("file:///repo/%E6%96%87.md", "/repo/文.md"),
            ("file:///repo/%e6%96%87.md", "/repo/文.md"),
            ("file:///repo/文.md", "/repo/文.md"),
            ("file://localhost/repo/a.md", "/repo/a.md"),
            ("file://LOCALHOST/repo/a.md", "/repo/a.md"),
            ("FILE:///repo/a.md", "/repo/a.md"),
            ("file:/repo/a.md", "/repo/a.md"),
            ("file:///repo/a.md#L10", "/repo/a.md"),
            ("file:///repo/a.md?x=1", "/repo/a.md"),
            ("file:///repo/a%23b.md", "/repo/a#b.md"),
            ("file:///repo/a%3Fb.md", "/repo/a?b.md"),
            ("file:///repo/%5Bx%5D.md", "/repo/[x].md"),
            ("file:///repo/a b.md", "/repo/a b.md"),
            ("file:///repo/./src//net.rs", "/repo/src/net.rs"),
            ("file:///repo", "/repo"),
            ("file:///", "/"),
        ] {
            names(uri, path);
        }
    }

    #[test]
    fn what_is_no_path_here_is_refused_with_the_reason() {
        let broken = "`%` and two hex digits, or %25 for the sign itself";
        let outside = "`..` leads out of a directory";
        for (uri, hint) in [
            ("file:///repo/100%.txt", broken),
            ("file:///repo/a%2", broken),
            ("file:///repo/a%+1", broken),
            ("file:///repo/a%00.md", "%00 is in no path"),
            ("file:///repo/a%2Fb.md", "%2F hides a `/` in a name"),
            ("file:///repo/../etc/passwd", outside),
            ("file:///repo/%2e%2e/etc/passwd", outside),
            ("file://fileserver/share/a.md", "it names another host"),
            ("file:////fileserver/share/a.md", "it names another host"),
            (
                "file://C:/Users/a.md",
                "a slash is missing before the drive letter",
            ),
            ("file://", "it has no path"),
            ("file:a.md", "its path is not absolute"),
            ("src/net.rs", "not a URI"),
            ("/repo/src/net.rs", "not a URI"),
            ("https://example.com/a.md", "not a local file"),
            ("untitled:Untitled-1", "not a local file"),
        ] {
            refused(uri, hint);
        }
    }

    #[test]
    fn one_spelling_for_two_tools() {
        let expected = "file:///r/caf%C3%A9%20a+b.md";
        for uri in [
            "file:/r/caf%c3%a9%20a%2bb.md",
            "FILE://localhost/r//./café a+b.md?q#f",
        ] {
            assert_eq!(canonical(uri).unwrap(), expected);
        }
        assert_eq!(to_uri(Path::new("/")), "file:///");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_not_text_survive() {
        use std::os::unix::ffi::OsStrExt;

        let path = to_path("file:///r/caf%E9.md").unwrap();
        assert_eq!(path.as_os_str().as_bytes(), b"/r/caf\xe9.md");
        assert_eq!(to_uri(&path), "file:///r/caf%E9.md");
    }

    proptest! {
        #[test]
        fn any_name_comes_back(names in prop::collection::vec("[^/\0]{1,8}", 1..4)) {
            prop_assume!(!names.iter().any(|it| it == "." || it == ".."));
            let path = format!("/{}", names.join("/"));
            let uri = to_uri(Path::new(&path));
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(to_path(&uri).unwrap(), Path::new(&path));
            prop_assert_eq!(canonical(&uri).unwrap(), uri);
        }

        #[test]
        fn no_text_panics(uri in "(file:)?/{0,3}[%a-f0-9./:?#]{0,16}") {
            to_path(&uri).ok();
        }
    }
}
