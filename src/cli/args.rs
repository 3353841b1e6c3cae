//! The command line, read and checked.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

use crate::cli::HELP;
use crate::digest::file_uri;
use crate::wire::frame::FrameKind;
use crate::wire::text::shown;
use crate::wire::time::Timestamp;

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Help(&'static str),
    Version,
    Query(QueryOptions),
    ServeStdio(ServeOptions),
}

/// Everything `contextgraph serve-stdio` can be told.
#[derive(Debug)]
pub(super) struct ServeOptions {
    pub(super) root: PathBuf,
    pub(super) verbosity: u8,
}

/// A provider that runs as a child.
#[derive(Debug)]
pub(super) struct ChildOptions {
    pub(super) id: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
}

/// Everything `contextgraph query` can be told.
#[derive(Debug)]
pub(super) struct QueryOptions {
    pub(super) goal: String,
    /// None: nothing is searched, since other providers are asked.
    pub(super) root: Option<PathBuf>,
    pub(super) children: Vec<ChildOptions>,
    pub(super) budget: u32,
    pub(super) max_frames: u32,
    pub(super) kinds: Vec<FrameKind>,
    pub(super) anchors: Vec<String>,
    pub(super) as_of: Option<String>,
    pub(super) timeout: Duration,
    pub(super) format: Format,
    pub(super) is_lenient: bool,
    pub(super) verbosity: u8,
}

/// How the answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Prompt,
    Frames,
    Json,
}

/// What is wrong with the command line, and what would be right.
#[derive(Debug)]
pub(super) struct Usage(String);

impl Usage {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nTry `contextgraph help`.", self.0)
    }
}

impl From<lexopt::Error> for Usage {
    fn from(error: lexopt::Error) -> Self {
        Self(error.to_string())
    }
}

const QUERY_HELP: &str = "\
contextgraph query: answer a question from files

Usage: contextgraph query [OPTIONS] GOAL...

The words of the goal are searched for in the files below the root, the way
ripgrep would walk them. The best functions and sections come back as quoted,
cited evidence, on stdout.

Options:
  --root DIR        where to search                      [default: .]
  --provider ID=COMMAND
                    ask this program too; quoted as for a shell, but
                    none is involved. Then nothing is searched unless
                    --root is given                      (repeatable)
  --budget N        tokens the prompt may cost (a token
                    is 4 bytes of what is printed)       [default: 4000]
  --max-frames N    pieces of evidence at most           [default: 8]
  --kind KIND       only this kind: snippet, doc, …      (repeatable)
  --anchor URI      prefer what is near this file; a
                    path is made into a URI              (repeatable)
  --as-of TIME      only what held then, such as
                    2026-01-31T23:59:59Z
  --timeout TIME    give up after, such as 5s or 500ms   [default: 30s]
  --format FORMAT   prompt, frames (a table) or json     [default: prompt]
  --lenient         keep evidence that breaks a rule where it can be kept
  -v, --verbose     log what happens; twice: every message
  -h, --help        this text

Exit status: 0 something was served, 1 nothing was, 2 the command line is wrong.
";

const SERVE_HELP: &str = "\
contextgraph serve-stdio: be a provider on stdin and stdout

Usage: contextgraph serve-stdio [OPTIONS]

Speaks the protocol, one message a line, to the host that started it, and
answers from the files below the root. It ends when the host says so or goes
away.

Options:
  --root DIR        where to search                      [default: .]
  -v, --verbose     log to stderr; twice: every message
  -h, --help        this text

Try it:
  contextgraph query --provider files='contextgraph serve-stdio --root .' GOAL
";

pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Usage> {
    let mut parser = lexopt::Parser::from_args(args);
    match parser.next()? {
        None => Err(Usage::new("no command given")),
        Some(Short('h') | Long("help")) => Ok(Command::Help(HELP)),
        Some(Short('V') | Long("version")) => Ok(Command::Version),
        Some(Value(command)) => match command.to_str() {
            Some("query") => query(&mut parser),
            Some("serve-stdio") => serve_stdio(&mut parser),
            Some("help") => match parser.next()? {
                Some(Value(topic)) if topic == "query" => Ok(Command::Help(QUERY_HELP)),
                Some(Value(topic)) if topic == "serve-stdio" => Ok(Command::Help(SERVE_HELP)),
                _ => Ok(Command::Help(HELP)),
            },
            Some("version") => Ok(Command::Version),
            _ => {
                let command = command.to_string_lossy();
                Err(Usage(format!("there is no command `{}`", shown(&command))))
            }
        },
        Some(option) => Err(option.unexpected().into()),
    }
}

fn serve_stdio(parser: &mut lexopt::Parser) -> Result<Command, Usage> {
    let mut options = ServeOptions {
        root: PathBuf::from("."),
        verbosity: 0,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help(SERVE_HELP)),
            Long("root") => options.root = parser.value()?.into(),
            Short('v') | Long("verbose") => options.verbosity += 1,
            option => return Err(option.unexpected().into()),
        }
    }
    Ok(Command::ServeStdio(options))
}

fn query(parser: &mut lexopt::Parser) -> Result<Command, Usage> {
    let mut goal: Vec<String> = Vec::new();
    let mut options = QueryOptions {
        goal: String::new(),
        root: None,
        children: Vec::new(),
        budget: 4000,
        max_frames: 8,
        kinds: Vec::new(),
        anchors: Vec::new(),
        as_of: None,
        timeout: Duration::from_secs(30),
        format: Format::Prompt,
        is_lenient: false,
        verbosity: 0,
    };
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help(QUERY_HELP)),
            Long("root") => options.root = Some(parser.value()?.into()),
            Long("provider") => options.children.push(child(parser.value()?)?),
            Long("budget") => options.budget = number("--budget", parser.value()?)?,
            Long("max-frames") => options.max_frames = number("--max-frames", parser.value()?)?,
            Long("kind") => options.kinds.push(text("--kind", parser.value()?)?.into()),
            Long("anchor") => options.anchors.push(anchor(parser.value()?)?),
            Long("as-of") => options.as_of = Some(instant(parser.value()?)?),
            Long("timeout") => options.timeout = duration(parser.value()?)?,
            Long("format") => options.format = format(parser.value()?)?,
            Long("lenient") => options.is_lenient = true,
            Short('v') | Long("verbose") => options.verbosity += 1,
            Value(word) => goal.push(text("the goal", word)?),
            option => return Err(option.unexpected().into()),
        }
    }
    options.goal = goal.join(" ");
    if options.children.is_empty() {
        options.root.get_or_insert_with(|| PathBuf::from("."));
    }
    if options.goal.trim().is_empty() {
        return Err(Usage::new(
            "what is the question? Give a goal, such as: contextgraph query \"where is the retry policy\"",
        ));
    }
    Ok(Command::Query(options))
}

fn text(what: &str, value: OsString) -> Result<String, Usage> {
    value.into_string().map_err(|value| {
        let value = value.to_string_lossy();
        Usage(format!("{what}: `{}` is not valid text", shown(&value)))
    })
}

/// `ID=COMMAND`, the command in words as a shell would split it.
fn child(value: OsString) -> Result<ChildOptions, Usage> {
    let value = text("--provider", value)?;
    let wrong = |reason: &str| {
        let value = shown(&value);
        Usage(format!(
            "--provider: `{value}`: {reason}, such as wiki='python3 wiki.py'"
        ))
    };
    let (id, command) = value
        .split_once('=')
        .ok_or_else(|| wrong("it is not ID=COMMAND"))?;
    if id.trim().is_empty() {
        return Err(wrong("the id is missing"));
    }
    let words = shell_words::split(command).map_err(|_| wrong("a quote is not closed"))?;
    let mut words = words.into_iter();
    Ok(ChildOptions {
        id: id.to_owned(),
        program: words
            .next()
            .ok_or_else(|| wrong("the command is missing"))?,
        args: words.collect(),
    })
}

fn number(option: &str, value: OsString) -> Result<u32, Usage> {
    let value = text(option, value)?;
    value.parse().map_err(|_| {
        let value = shown(&value);
        Usage(format!(
            "{option}: `{value}` is not a whole number from 0 to {}",
            u32::MAX
        ))
    })
}

fn duration(value: OsString) -> Result<Duration, Usage> {
    let value = text("--timeout", value)?;
    match humantime::parse_duration(&value) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(Usage(format!(
            "--timeout: `{}` is not a time above zero, such as 5s, 500ms or 2m",
            shown(&value)
        ))),
    }
}

fn instant(value: OsString) -> Result<String, Usage> {
    let value = text("--as-of", value)?;
    match Timestamp::parse(&value) {
        Ok(_) => Ok(value),
        Err(error) => Err(Usage(format!("--as-of: {error}"))),
    }
}

fn format(value: OsString) -> Result<Format, Usage> {
    match text("--format", value)?.as_str() {
        "prompt" => Ok(Format::Prompt),
        "frames" => Ok(Format::Frames),
        "json" => Ok(Format::Json),
        other => Err(Usage(format!(
            "--format: `{}` is not one of prompt, frames, json",
            shown(other)
        ))),
    }
}

/// A URI as it is, a path as the URI of the file.
fn anchor(value: OsString) -> Result<String, Usage> {
    if let Some(uri) = value.to_str().filter(|it| has_scheme(it)) {
        return Ok(uri.to_owned());
    }
    let path = PathBuf::from(value);
    match std::path::absolute(&path) {
        Ok(absolute) => Ok(file_uri::to_uri(&absolute)),
        Err(error) => Err(Usage(format!(
            "--anchor: `{}`: {error}",
            shown(&path.to_string_lossy())
        ))),
    }
}

fn has_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| {
        it.len() > 1
            && it
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Command, Format, parse};

    #[track_caller]
    fn refused(args: &[&str], reason: &str) {
        let error = parse(args.iter().map(Into::into)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn every_option_of_a_query() {
        let args = [
            "query",
            "where",
            "--budget",
            "50",
            "--max-frames=3",
            "--kind",
            "doc",
            "--kind=acme:x",
            "--anchor",
            "urn:x",
            "--anchor",
            "a b.md",
            "--as-of",
            "2026-01-31T00:00:00Z",
            "--timeout",
            "1m 5s",
            "--format",
            "json",
            "--lenient",
            "-vv",
            "is it",
            "--root",
            "/tmp",
            "--provider",
            "wiki=python3 'my wiki.py' --a=b",
        ];
        let Ok(Command::Query(options)) = parse(args.iter().map(Into::into)) else {
            panic!("a query");
        };
        assert_eq!(options.goal, "where is it");
        assert_eq!((options.budget, options.max_frames), (50, 3));
        assert_eq!(options.kinds.len(), 2);
        assert_eq!(options.anchors[0], "urn:x");
        assert!(
            options.anchors[1].starts_with("file:///") && options.anchors[1].ends_with("/a%20b.md")
        );
        assert_eq!(options.timeout, Duration::from_secs(65));
        assert_eq!((options.format, options.verbosity), (Format::Json, 2));
        assert!(options.is_lenient);
        assert_eq!(options.children[0].id, "wiki");
        assert_eq!(options.children[0].args, ["my wiki.py", "--a=b"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        refused(&[], "no command given");
        refused(
            &["frobnicate\u{1b}"],
            "there is no command `frobnicate\\x1b`",
        );
        refused(&["query"], "what is the question?");
        refused(&["query", " "], "what is the question?");
        refused(
            &["query", "g", "--budget", "-1"],
            "--budget: `-1` is not a whole number",
        );
        refused(&["query", "g", "--budget"], "missing argument");
        refused(&["query", "g", "--timeout", "0s"], "not a time above zero");
        refused(&["query", "g", "--timeout", "soon"], "such as 5s");
        refused(
            &["query", "g", "--as-of", "2026-01-31T00:00:00"],
            "the Z is missing",
        );
        refused(&["query", "g", "--format", "xml"], "prompt, frames, json");
        refused(&["query", "g", "--frobnicate"], "--frobnicate");
        for (provider, reason) in [
            ("python3", "it is not ID=COMMAND"),
            ("=python3", "the id is missing"),
            ("wiki=", "the command is missing"),
            ("wiki='python3", "a quote is not closed"),
        ] {
            refused(&["query", "g", "--provider", provider], reason);
        }
        refused(&["serve-stdio", "extra"], "extra");
    }
}
