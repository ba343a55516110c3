//! The rules that look at one file at a time. Pure: each takes a file and returns what is broken.

use super::Finding;
use super::source::{SHELL_LINT, Source};

/// Code lines of a file: neither blank, nor a comment, nor part of the unit tests at its end.
const CODE_LINES_MAX: usize = 500;

/// Names of files and folders that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "types"];

/// Paths that may carry an empty name.
const EMPTY_NAMES_ALLOWED: &[(&str, &str)] = &[
    ("crates/rtps/src/types", "the DDS type system is called so by its standard"),
    ("peers/fastdds/types.xml", "Fast DDS's documents call the file with the type declarations so"),
];

/// Marks of unfinished work, in two halves so that this file does not contain them.
const UNFINISHED: &[(&str, &str)] =
    &[("todo", "!("), ("unimplemented", "!("), ("FIX", "ME"), ("XX", "X"), ("TO", "DO"), ("#[ign", "ore")];

/// Folders of the machines on which the project is developed.
const MACHINE_PATHS: &[(&str, &str)] =
    &[("/work", "/main"), ("/work", "/shared"), ("/tmp", "/wt"), ("/ro", "ot/")];

/// Applies every rule.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = empty_names(source);
    if is_foreign(source) {
        return findings;
    }
    findings.extend(unfinished_and_machine_paths(source));
    if source.is_rust() {
        findings.extend(module_text(source));
        findings.extend(length(source));
        findings.extend(shell_on_first_line(source));
    }
    findings
}

/// Third-party files that are shipped as they are, licences and the lock file.
fn is_foreign(source: &Source) -> bool {
    let name = source.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    source.path.iter().any(|part| part == "vendor") || name.starts_with("LICENSE") || name == "Cargo.lock"
}

fn finding(source: &Source, line: usize, problem: impl Into<String>) -> Finding {
    Finding { path: source.path.clone(), line, problem: problem.into() }
}

fn empty_names(source: &Source) -> Vec<Finding> {
    if EMPTY_NAMES_ALLOWED.iter().any(|(allowed, _)| source.path.starts_with(allowed)) {
        return Vec::new();
    }
    let parts = source.path.iter().filter_map(|part| part.to_str());
    let stems = parts.map(|part| part.split('.').next().unwrap_or(part));
    stems
        .filter(|stem| EMPTY_NAMES.contains(stem))
        .map(|stem| finding(source, 0, format!("the name {stem:?} says nothing: name the idea")))
        .collect()
}

fn unfinished_and_machine_paths(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for (head, tail) in UNFINISHED {
            let mark = format!("{head}{tail}");
            if line.contains(&mark) {
                findings.push(finding(
                    source,
                    index + 1,
                    format!("unfinished work ({mark}) is not committed"),
                ));
            }
        }
        for (head, tail) in MACHINE_PATHS {
            let folder = format!("{head}{tail}");
            if line.contains(&folder) {
                findings.push(finding(source, index + 1, format!("{folder} exists only on one machine")));
            }
        }
    }
    findings
}

fn module_text(source: &Source) -> Vec<Finding> {
    let mut in_attribute = false;
    for (index, line) in source.text.lines().map(str::trim).enumerate() {
        if line.is_empty() {
            continue;
        }
        if in_attribute || line.starts_with("#![") {
            in_attribute = !line.ends_with(']');
            continue;
        }
        if line.starts_with("//!") {
            return Vec::new();
        }
        return vec![finding(source, index + 1, "the module text (//!) is missing before this line")];
    }
    vec![finding(source, 0, "the module text (//!) is missing")]
}

fn length(source: &Source) -> Vec<Finding> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let lines = source.without_tests().lines().filter(is_code).count();
    if lines <= CODE_LINES_MAX {
        return Vec::new();
    }
    vec![finding(source, 0, format!("{lines} lines of code, more than {CODE_LINES_MAX}: split it by idea"))]
}

/// A product file either opts out of the fence as a whole, visibly on its first line, or not at all. Tests may do so
/// item by item.
fn shell_on_first_line(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !source.is_product() {
        return findings;
    }
    let opts_out = source.head_attributes().first().is_some_and(|attribute| attribute.contains(SHELL_LINT));
    let mentions = source.without_tests().lines().enumerate().filter(|(_, line)| line.contains(SHELL_LINT));
    for (index, _) in mentions.skip(usize::from(opts_out)) {
        findings.push(finding(
            source,
            index + 1,
            "the opt-out from the I/O fence stands only once, as the file's first attribute",
        ));
    }
    if opts_out && source.shell_reason().is_none() {
        findings.push(finding(source, 1, "the opt-out from the I/O fence gives no reason"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path.into(), text.into())).into_iter().map(|finding| finding.to_string()).collect()
    }

    fn one_problem(path: &str, text: &str, part: &str) {
        let found = problems(path, text);
        assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
    }

    /// A file that keeps the rules has no finding.
    #[test]
    fn clean_file() {
        assert_eq!(problems("crates/a/src/lib.rs", "//! What it is.\n\nfn a() {}\n"), Vec::<String>::new());
    }

    /// Module text is wanted before the first item, after attributes.
    #[test]
    fn module_text_is_wanted() {
        one_problem("a.rs", "fn a() {}\n", "module text");
        one_problem("a.rs", "", "module text");
        assert_eq!(problems("a.rs", "#![no_std]\n\n//! Text.\n"), Vec::<String>::new());
    }

    /// The limit counts code, not comments, blank lines or unit tests.
    #[test]
    fn length_counts_code() {
        let code = "let a = 1;\n".repeat(CODE_LINES_MAX);
        let rest = "// comment\n\n".repeat(50)
            + "\n#[cfg(test)]\nmod tests {\n"
            + &"let b = 2;\n".repeat(400)
            + "}\n";
        assert_eq!(problems("a.rs", &format!("//! T.\n{code}{rest}")), Vec::<String>::new());
        one_problem("a.rs", &format!("//! T.\n{code}let c = 3;\n{rest}"), "501 lines");
    }

    /// Marks of unfinished work and folders of one machine are found with their line, in every kind of file.
    #[test]
    fn unfinished_and_machine_paths_are_found() {
        for (head, tail) in UNFINISHED.iter().chain(MACHINE_PATHS) {
            let found = problems("notes.md", &format!("fine\nnot {head}{tail}\n"));
            assert!(found.len() == 1 && found[0].starts_with("notes.md:2:"), "{found:?}");
        }
    }

    /// Names that say nothing are refused for files and folders, except where allowed.
    #[test]
    fn empty_names_are_refused() {
        one_problem("crates/a/src/utils.rs", "//! T.\n", "utils");
        one_problem("crates/a/tests/common/mod.rs", "//! T.\n", "common");
        assert_eq!(problems("crates/rtps/src/types/mod.rs", "//! T.\n"), Vec::<String>::new());
    }

    /// The opt-out from the I/O fence stands first in the file, once and with a reason.
    #[test]
    fn shell_opts_out_on_the_first_line() {
        let good = format!("#![expect({SHELL_LINT}, reason = \"I/O shell: files\")]\n//! T.\n");
        assert_eq!(problems("a.rs", &good), Vec::<String>::new());
        one_problem(
            "a.rs",
            &format!("//! T.\n#[expect({SHELL_LINT}, reason = \"x\")]\nfn a() {{}}\n"),
            "only once",
        );
        one_problem("a.rs", &format!("#![expect({SHELL_LINT})]\n//! T.\n"), "no reason");
    }
}
