//! A file as a tree of elements: bounded, with variables expanded, and with a root that the dialect knows.
//!
//! There are no document types and no external entities.

use super::environment::expand;
use super::scan::{self, NODES_MAX};
use super::{Attribute, Element, Finding, Place, XmlError};
use std::sync::Arc;

/// What a file starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `<dds>`: sections of every kind.
    Dds,
    /// `<profiles>`: profiles only.
    Profiles,
    /// `<types>`: types only.
    Types,
    /// `<log>`: settings of the log.
    Log,
    /// `<library_settings>`: settings of the whole library.
    LibrarySettings,
}

impl Root {
    const NAMES: [(&'static str, Self); 5] = [
        ("dds", Self::Dds),
        ("profiles", Self::Profiles),
        ("types", Self::Types),
        ("log", Self::Log),
        ("library_settings", Self::LibrarySettings),
    ];
}

/// A file that was read. Its variables have been expanded, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Which kind of file it is.
    pub kind: Root,
    /// Its root.
    pub root: Element,
    /// What was found beside errors: an old or missing namespace, variables without a value, stray text.
    pub findings: Vec<Finding>,
}

impl Document {
    /// Reads `text`; `file` is its name in messages and `environment` tells the values of variables.
    ///
    /// # Errors
    /// When the text is not well-formed XML, breaks a bound, or has a root that the dialect does not know.
    pub fn parse(
        file: &str,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, XmlError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_root = |name: &str| Root::NAMES.iter().any(|(known, _)| *known == name);
        let (text, findings) = scan::prepare(file, text, is_root)?;
        let options = roxmltree::ParsingOptions { nodes_limit: NODES_MAX, ..Default::default() };
        let tree = roxmltree::Document::parse_with_options(&text, options).map_err(|error| {
            let place = Place { file: file.into(), line: error.pos().row };
            XmlError::new(place, format!("not well-formed XML: {error}"), remedy(&error))
        })?;
        let mut reading = Reading { lines: Lines::new(file, &text), environment, findings };
        let node = tree.root_element();
        let place = reading.lines.place(&node);
        let name = node.tag_name().name();
        let Some((_, kind)) = Root::NAMES.into_iter().find(|(known, _)| *known == name) else {
            let known = Root::NAMES.map(|(name, _)| format!("<{name}>")).join(", ");
            let what = format!("<{name}> cannot be the root of a file");
            return Err(XmlError::new(place, what, format!("start with one of {known}")));
        };
        if node.tag_name().namespace() != Some(NAMESPACE) {
            let found = node.tag_name().namespace().map_or("none".to_owned(), |name| format!("{name:?}"));
            let what =
                format!("the namespace is not {NAMESPACE:?} but {found}; the content is used all the same");
            reading.findings.push(Finding::warning(place, what));
        }
        let root = reading.element(&node);
        Ok(Self { kind, root, findings: reading.findings })
    }
}

/// The namespace of the dialect.
const NAMESPACE: &str = "http://www.eprosima.com";

fn remedy(error: &roxmltree::Error) -> &'static str {
    match error {
        roxmltree::Error::DtdDetected => "remove the document type: entities are not read",
        roxmltree::Error::NodesLimitReached => "split the file",
        _ => "correct it there",
    }
}

/// What is known while a file is read.
struct Reading<'a> {
    lines: Lines,
    environment: &'a dyn Fn(&str) -> Option<String>,
    findings: Vec<Finding>,
}

impl Reading<'_> {
    /// Recursion is bounded by [`scan::DEPTH_MAX`].
    fn element(&mut self, node: &roxmltree::Node<'_, '_>) -> Element {
        let place = self.lines.place(node);
        let attributes = node.attributes().filter(|attribute| attribute.namespace().is_none());
        let attributes = attributes
            .map(|attribute| Attribute { name: attribute.name().into(), value: attribute.value().into() })
            .collect();
        let name = node.tag_name().name();
        let written: String =
            node.children().filter(|child| child.is_text()).filter_map(|child| child.text()).collect();
        let children: Vec<_> =
            node.children().filter(|child| child.is_element()).map(|child| self.element(&child)).collect();
        let mut text = String::new();
        if !children.is_empty() && !written.trim().is_empty() {
            let what = format!("text beside the elements in <{name}> is not used");
            self.findings.push(Finding::warning(place.clone(), what));
        } else {
            let findings = &mut self.findings;
            text = expand(written.trim(), self.environment, |variable| {
                let what = format!("environment variable {variable} is not set; nothing stands in its place");
                findings.push(Finding::error(place.clone(), what));
            });
        }
        Element { name: name.into(), place, attributes, text, children }
    }
}

/// Finds lines: the parser would count from the start each time.
struct Lines {
    file: Arc<str>,
    ends: Vec<usize>,
}

impl Lines {
    fn new(file: &str, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n').map(|(at, _)| at).collect();
        Self { file: file.into(), ends }
    }

    fn place(&self, node: &roxmltree::Node<'_, '_>) -> Place {
        let line = self.ends.partition_point(|end| *end < node.range().start) + 1;
        Place { file: Arc::clone(&self.file), line: u32::try_from(line).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, XmlError> {
        Document::parse("f.xml", text, &|name| (name == "NODE").then(|| "n1".to_owned()))
    }

    /// A tree keeps names, lines, attributes as written and text expanded; foreign attributes are left out.
    #[test]
    fn reads_a_tree() {
        let text = "<dds xmlns='http://www.eprosima.com' xmlns:x='y'>\n <profiles x:a='1'>\n  \
                    <participant profile_name='${NODE}'> <!-- - --><name> a<![CDATA[${NODE}]]>&lt; </name></participant>\n\
                    </profiles></dds>";
        let document = parse(text).unwrap();
        assert_eq!((document.kind, document.findings), (Root::Dds, Vec::new()));
        let profiles = document.root.child("profiles").unwrap();
        assert_eq!(profiles.attributes, []);
        let participant = profiles.child("participant").unwrap();
        assert_eq!(participant.attribute("profile_name"), Some("${NODE}"));
        assert_eq!(participant.place.to_string(), "f.xml:3");
        assert_eq!(participant.child("name").unwrap().text, "an1<");
        assert!(participant.required("type").unwrap_err().what.contains("no attribute \"type\""));
    }

    /// What is not well-formed is refused with its line; so are document types, which could hold entities.
    #[test]
    fn refuses_with_the_line() {
        assert_eq!(parse("<dds>\n<a>\n</b>\n</dds>").unwrap_err().place.line, 3);
        let error =
            parse("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<dds>&x;</dds>").unwrap_err();
        assert!(error.remedy.contains("entities"), "{error}");
        assert!(parse("").is_err());
    }

    /// Stray text and variables without a value are found, not passed over.
    #[test]
    fn finds_what_is_odd() {
        let document = parse("<dds xmlns='http://www.eprosima.com'>\nstray<log>${NONE}</log></dds>").unwrap();
        let found: Vec<_> = document.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("f.xml:2: error: environment variable NONE is not set"), "{found:?}");
        assert!(found[1].contains("warning: text beside"), "{found:?}");
    }
}
