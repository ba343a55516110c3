//! The generated lists of ARCHITECTURE.md: impure files, files with `unsafe`, thread roles. Pure: text in, text out.

use super::source::Source;

/// One generated list: its name in the markers and the function that makes its lines.
struct List {
    name: &'static str,
    rows: fn(&[Source]) -> Vec<String>,
}

const LISTS: &[List] = &[
    List { name: "impure-files", rows: impure_files },
    List { name: "unsafe-files", rows: unsafe_files },
    List { name: "threads", rows: threads },
];

/// The document with its generated lists made anew.
///
/// # Errors
/// When a list's markers are missing; the text names them.
pub(crate) fn render(document: &str, sources: &[Source]) -> Result<String, String> {
    let mut text = document.to_string();
    for list in LISTS {
        let (open, close) =
            (format!("<!-- tidy:{} -->\n", list.name), format!("<!-- /tidy:{} -->", list.name));
        let parts = text.split_once(&open).and_then(|(head, rest)| Some((head, rest.split_once(&close)?.1)));
        let Some((head, tail)) = parts else {
            return Err(format!("the markers {} and {close} are missing", open.trim_end()));
        };
        let mut rows = (list.rows)(sources);
        if rows.is_empty() {
            rows.push("None.".into());
        }
        text = format!("{head}{open}{}\n{close}{tail}", rows.join("\n"));
    }
    Ok(text)
}

/// Paths named in the document's code spans, below folders of the project, that do not exist.
pub(crate) fn dead_paths(document: &str, sources: &[Source]) -> Vec<String> {
    let spans = document.split('`').skip(1).step_by(2);
    let is_ours = |span: &&str| {
        let below = ["crates/", "xtask/", "tests/", "peers/"].iter().any(|folder| span.starts_with(folder));
        below && !span.contains(char::is_whitespace) && !span.starts_with("tests/cases")
    };
    let exists = |path: &str| sources.iter().any(|source| source.path.starts_with(path));
    spans.filter(is_ours).filter(|span| !exists(span)).map(String::from).collect()
}

/// The first line in which two documents differ, in both versions.
pub(crate) fn first_difference(current: &str, wanted: &str) -> String {
    let ends = [None].into_iter().cycle();
    let pairs = current.lines().map(Some).chain(ends.clone()).zip(wanted.lines().map(Some).chain(ends));
    let length = current.lines().count().max(wanted.lines().count());
    let differing = pairs.take(length).find(|(old, new)| old != new);
    differing.map_or(String::new(), |(old, new)| {
        format!("  written: {}\n  wanted:  {}", old.unwrap_or("(end)"), new.unwrap_or("(end)"))
    })
}

fn impure_files(sources: &[Source]) -> Vec<String> {
    let shells = sources.iter().filter(|source| source.is_product());
    let rows = shells.filter_map(|source| {
        let reason = source.shell_reason()?;
        Some(format!("| `{}` | {reason} |", source.path.display()))
    });
    with_header("| file | why it does I/O |", rows.collect())
}

fn unsafe_files(sources: &[Source]) -> Vec<String> {
    let allows = |line: &&str| {
        let line = line.trim_start();
        let is_attribute = line.starts_with("#[") || line.starts_with("#![");
        is_attribute && line.contains(concat!("unsafe", "_code")) && !line.contains("forbid")
    };
    let files =
        sources.iter().filter(|source| source.is_rust() && source.text.lines().any(|line| allows(&line)));
    files.map(|source| format!("* `{}`", source.path.display())).collect()
}

fn threads(sources: &[Source]) -> Vec<String> {
    let product = sources.iter().filter(|source| source.is_product());
    let mut rows: Vec<String> = product
        .flat_map(|source| {
            let uses = source.without_tests().split("Role::new(").skip(1);
            uses.filter_map(role)
                .map(|(name, reason)| format!("| `{name}` | {reason} | `{}` |", source.path.display()))
        })
        .collect();
    rows.sort();
    with_header("| thread | why it exists | started in |", rows)
}

/// The name and the reason: the first two string literals after `Role::new(`, for thread names only.
fn role(arguments: &str) -> Option<(&str, &str)> {
    let mut quoted = arguments.split('"').skip(1);
    let (name, between, reason) = (quoted.next()?, quoted.next()?, quoted.next()?);
    (name.starts_with("stw-") && between.trim() == ",").then_some((name, reason))
}

fn with_header(header: &str, rows: Vec<String>) -> Vec<String> {
    if rows.is_empty() {
        return rows;
    }
    let columns = header.matches('|').count() - 1;
    let rule = format!("|{}", " --- |".repeat(columns));
    [header.to_string(), rule].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "# A\n<!-- tidy:impure-files -->\n<!-- /tidy:impure-files -->\nb\n<!-- tidy:unsafe-files -->\nold\n\
<!-- /tidy:unsafe-files -->\n<!-- tidy:threads -->\n<!-- /tidy:threads -->\n";

    fn source(path: &str, text: &str) -> Source {
        Source::new(path.into(), text.into())
    }

    /// Each list holds what the code has; a second run changes nothing.
    #[test]
    fn lists_follow_the_code() {
        let lint = concat!("clippy::", "disallowed_methods");
        let sources = [
            source(
                "crates/a/src/clock.rs",
                &format!("#![expect({lint}, reason = \"I/O shell: reads clocks\")]\n//! T.\n"),
            ),
            source("crates/a/src/pure.rs", "//! T.\n"),
            source(
                "crates/a/src/run.rs",
                "//! T.\nconst R: Role =\n    Role::new(\"stw-rx\", \"receives\");\n",
            ),
            source(
                "crates/a/src/ring.rs",
                concat!("//! T.\n#[expect(unsafe", "_code, reason = \"ring\")]\nfn a() {}\n"),
            ),
        ];
        let once = render(EMPTY, &sources).unwrap();
        assert!(once.contains("| `crates/a/src/clock.rs` | reads clocks |"), "{once}");
        assert!(once.contains("* `crates/a/src/ring.rs`") && !once.contains("old"), "{once}");
        assert!(once.contains("| `stw-rx` | receives | `crates/a/src/run.rs` |"), "{once}");
        assert!(!once.contains("pure.rs"), "{once}");
        assert_eq!(render(&once, &sources).unwrap(), once);
    }

    /// A document without the markers is an error that names them, and no list is invented.
    #[test]
    fn missing_markers_are_named() {
        assert!(render("# A\n", &[]).unwrap_err().contains("tidy:impure-files"));
        assert!(render(EMPTY, &[]).unwrap().contains("None."));
    }

    /// A path that no longer exists is found; files and folders that do exist are not.
    #[test]
    fn dead_paths_are_found() {
        let sources = [source("crates/a/src/run.rs", "")];
        let document = "`crates/a/src`, `crates/a/src/run.rs`, `crates/a/src/gone.rs`, `node::thread`";
        assert_eq!(dead_paths(document, &sources), ["crates/a/src/gone.rs"]);
    }

    /// The difference shown is the first one, also when one document is longer.
    #[test]
    fn difference_is_the_first() {
        assert_eq!(first_difference("a\nb\nc", "a\nx\nc"), "  written: b\n  wanted:  x");
        assert_eq!(first_difference("a", "a\nb"), "  written: (end)\n  wanted:  b");
    }
}
