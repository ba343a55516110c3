//! One text file and the questions that several rules ask about it. Pure: the text is an argument.

use std::path::PathBuf;

/// A text file of the project.
pub(crate) struct Source {
    /// Relative to the workspace root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "rs")
    }

    /// Whether the file belongs to a program or library and not to its tests, benches or examples. A unit-test file
    /// beside the code (`tests.rs`, `tests/…`) is a test.
    pub(crate) fn is_product(&self) -> bool {
        let is_test = |name: &str| matches!(name, "tests" | "tests.rs" | "benches" | "examples" | "xtask");
        self.is_rust() && !self.path.iter().any(|part| part.to_str().is_some_and(is_test))
    }

    /// The text up to the first module that only tests have.
    pub(crate) fn without_tests(&self) -> &str {
        let is_module = |start: &usize| {
            let rest = self.text.get(start + TEST_ONLY.len()..).unwrap_or_default();
            let first = rest.lines().next().unwrap_or_default();
            first.ends_with('{') && first.split_whitespace().any(|word| word == "mod")
        };
        let end = self.text.match_indices(TEST_ONLY).map(|(start, _)| start).find(is_module);
        end.and_then(|end| self.text.get(..end)).unwrap_or(&self.text)
    }

    /// The inner attributes before the module text, joined to one line each.
    pub(crate) fn head_attributes(&self) -> Vec<String> {
        let mut attributes = Vec::new();
        let mut open: Option<String> = None;
        for line in self.text.lines().map(str::trim) {
            let mut attribute = match open.take() {
                Some(begun) => begun + " " + line,
                None if line.starts_with("#![") => line.to_string(),
                None if line.is_empty() => continue,
                None => break,
            };
            if attribute.ends_with(']') {
                attribute = attribute.replace("( ", "(").replace(", )", ")").replace(" )", ")");
                attributes.push(attribute);
            } else {
                open = Some(attribute);
            }
        }
        attributes
    }

    /// The reason with which the file opts out of the fence around I/O.
    pub(crate) fn shell_reason(&self) -> Option<String> {
        let attributes = self.head_attributes();
        let attribute = attributes.iter().find(|attribute| attribute.contains(SHELL_LINT))?;
        let reason = attribute.split_once("reason = \"")?.1.split_once('"')?.0;
        Some(reason.trim_start_matches("I/O shell:").trim().to_string())
    }
}

/// Precedes an item that only tests have.
const TEST_ONLY: &str = "\n#[cfg(test)]\n";

/// The lint that fences clocks, files, sockets, processes, threads and the environment.
pub(crate) const SHELL_LINT: &str = concat!("clippy::", "disallowed_methods");

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::new(path.into(), text.into())
    }

    /// An attribute that rustfmt spread over several lines reads like one on a single line.
    #[test]
    fn attributes_are_joined() {
        let one = format!("#![expect({SHELL_LINT}, reason = \"I/O shell: a clock\")]\n//! Text.\n");
        let many =
            format!("#![expect(\n    {SHELL_LINT},\n    reason = \"I/O shell: a clock\"\n)]\n//! Text.\n");
        assert_eq!(source("a.rs", &one).head_attributes(), source("a.rs", &many).head_attributes());
        assert_eq!(source("a.rs", &many).shell_reason().as_deref(), Some("a clock"));
    }

    /// Tests, benches, examples and this program are not the product; a crate's sources are.
    #[test]
    fn product_files() {
        assert!(source("crates/units/src/time.rs", "").is_product());
        for path in
            ["crates/x/tests/a.rs", "crates/x/examples/a.rs", "xtask/src/main.rs", "crates/x/src/a/tests.rs"]
        {
            assert!(!source(path, "").is_product(), "{path}");
        }
    }

    /// The test modules at the end of a file are not its code; a single test-only item is no end.
    #[test]
    fn tests_are_cut_off() {
        for module in ["mod tests {", "pub(crate) mod conformance {"] {
            let text = format!(
                "#[cfg(test)]\nuse x::y;\n\n#[cfg(test)]\nuse x::z;\nfn a() {{}}\n\n#[cfg(test)]\n{module}\n}}\n"
            );
            assert!(source("a.rs", &text).without_tests().ends_with("fn a() {}\n"), "{module}");
        }
    }
}
