//! One pass over a file before it is parsed. It sets bounds, because the XML parser compares every pair of an
//! element's attributes and namespaces and a tree is walked by recursion. And it blanks what vendors' parsers pass over
//! but XML does not allow: comments with dashes inside, a declaration that is not at the very start, and elements of
//! another kind beside the root, such as a licence. Lines stay where they are.

use super::{Finding, Place, XmlError};

/// Bytes of a file.
pub(crate) const BYTES_MAX: usize = 4 << 20;
/// Elements within elements.
pub(crate) const DEPTH_MAX: usize = 64;
/// Attributes of an element.
pub(crate) const ATTRIBUTES_MAX: usize = 32;
/// Namespace declarations of a file.
pub(crate) const NAMESPACES_MAX: usize = 64;
/// Elements that are in no other.
const ROOTS_MAX: usize = 16;
/// Elements, attributes and texts of a file.
pub(crate) const NODES_MAX: u32 = 400_000;

/// The text that the parser gets, and what was left out of it. What is not well-formed is left to the parser.
pub(crate) fn prepare(
    file: &str,
    text: &str,
    is_root: impl Fn(&str) -> bool,
) -> Result<(String, Vec<Finding>), XmlError> {
    let refuse =
        |at: usize, what: String, remedy: &str| Err(XmlError::new(place(file, text, at), what, remedy));
    if text.len() > BYTES_MAX {
        return refuse(0, format!("the file has more than {BYTES_MAX} bytes"), SPLIT);
    }
    if text.matches("xmlns").count() > NAMESPACES_MAX {
        return refuse(0, format!("the file declares more than {NAMESPACES_MAX} namespaces"), SPLIT);
    }
    let mut blanks: Vec<(usize, usize)> = Vec::new();
    let mut roots: Vec<(&str, usize, usize)> = Vec::new();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(tag) = next_tag(text, at) {
        at = tag.end;
        if tag.attributes > ATTRIBUTES_MAX {
            return refuse(tag.start, format!("an element has more than {ATTRIBUTES_MAX} attributes"), SPLIT);
        }
        if depth == 0 && matches!(tag.kind, TagKind::Open | TagKind::Empty) {
            if roots.len() == ROOTS_MAX {
                return refuse(
                    tag.start,
                    format!("more than {ROOTS_MAX} elements stand beside each other"),
                    SPLIT,
                );
            }
            roots.push((name(text, &tag), tag.start, tag.end));
        }
        match tag.kind {
            TagKind::Open => depth += 1,
            TagKind::Close => depth = depth.saturating_sub(1),
            TagKind::Comment => blanks.push((tag.start, tag.end)),
            TagKind::Empty | TagKind::Other => {}
        }
        if let (0, TagKind::Close, Some(root)) = (depth, &tag.kind, roots.last_mut()) {
            root.2 = tag.end;
        }
        if depth > DEPTH_MAX {
            return refuse(tag.start, format!("elements are nested more than {DEPTH_MAX} deep"), SPLIT);
        }
    }
    let mut known = roots.iter().filter(|(name, ..)| is_root(name));
    let kept = known.next().or(roots.first()).map(|(_, start, _)| *start);
    if let Some((name, start, _)) = known.next() {
        return refuse(*start, format!("<{name}> is a second root"), "put both into one <dds>");
    }
    let mut findings = Vec::new();
    for (name, start, end) in roots.iter().filter(|(_, start, _)| Some(*start) != kept) {
        blanks.push((*start, *end));
        findings.push(Finding::warning(
            place(file, text, *start),
            format!("<{name}> beside the root is not used"),
        ));
    }
    Ok((blanked(text, &blanks), findings))
}

const SPLIT: &str = "split the file";

/// The line of a position.
fn place(file: &str, text: &str, at: usize) -> Place {
    let line = text.bytes().take(at).filter(|octet| *octet == b'\n').count() + 1;
    Place { file: file.into(), line: u32::try_from(line).unwrap_or(u32::MAX) }
}

/// The name in a start tag, without prefix.
fn name<'a>(text: &'a str, tag: &Tag) -> &'a str {
    let inside = text.get(tag.start + 1..tag.end).unwrap_or_default();
    let name = inside.split(|c: char| c.is_whitespace() || c == '/' || c == '>').next().unwrap_or_default();
    name.rsplit(':').next().unwrap_or_default()
}

/// `text` with blanks in the place of some parts, line ends kept.
fn blanked(text: &str, parts: &[(usize, usize)]) -> String {
    let mut parts = parts.to_vec();
    parts.sort_unstable();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in parts {
        // A comment within a part that is left out already.
        if start < at {
            continue;
        }
        result.push_str(text.get(at..start).unwrap_or_default());
        let part = text.get(start..end).unwrap_or_default();
        result.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

enum TagKind {
    Open,
    Close,
    Empty,
    /// A comment or the declaration.
    Comment,
    Other,
}

/// What stands between `<` and `>`.
struct Tag {
    kind: TagKind,
    start: usize,
    end: usize,
    attributes: usize,
}

fn next_tag(text: &str, from: usize) -> Option<Tag> {
    let start = from + text.get(from..)?.find('<')?;
    let rest = text.get(start..)?;
    let skipped = [
        ("<!--", "-->", TagKind::Comment),
        ("<?xml ", "?>", TagKind::Comment),
        ("<![CDATA[", "]]>", TagKind::Other),
        ("<?", "?>", TagKind::Other),
    ];
    for (open, close, kind) in skipped {
        if let Some(inside) = rest.strip_prefix(open) {
            // What never ends is left to the parser.
            let (kind, length) = match inside.find(close) {
                Some(at) => (kind, open.len() + at + close.len()),
                None => (TagKind::Other, rest.len()),
            };
            return Some(Tag { kind, start, end: start + length, attributes: 0 });
        }
    }
    let (mut quote, mut attributes, mut last) = (None, 0, b' ');
    let mut length = rest.len();
    for (at, octet) in rest.bytes().enumerate() {
        match (quote, octet) {
            (Some(open), _) if open == octet => quote = None,
            (None, b'"' | b'\'') => quote = Some(octet),
            (None, b'=') => attributes += 1,
            (None, b'>') => {
                length = at + 1;
                break;
            }
            _ => {}
        }
        last = octet;
    }
    let kind = match rest.as_bytes().get(1) {
        Some(b'/') => TagKind::Close,
        Some(b'!') => TagKind::Other,
        _ if last == b'/' => TagKind::Empty,
        _ => TagKind::Open,
    };
    Some(Tag { kind, start, end: start + length, attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(String, Vec<Finding>), XmlError> {
        prepare("f", text, |name| name == "a")
    }

    /// Depth is counted over comments, quoted brackets and empty elements, and refused with its line.
    #[test]
    fn depth_is_bounded() {
        let nest = |depth: usize| "<a x='>'>\n<!-- <b> --><c/>".repeat(depth) + &"</a>".repeat(depth);
        assert!(check(&nest(DEPTH_MAX)).is_ok());
        let error = check(&nest(DEPTH_MAX + 1)).unwrap_err();
        assert_eq!(error.place.line as usize, DEPTH_MAX + 1);
        assert!(check(&format!("<a>{}</a>", "<a></a>".repeat(1000))).is_ok());
    }

    /// Attributes, bytes and namespaces are bounded.
    #[test]
    fn width_is_bounded() {
        let wide = format!("<a {}/>", "b='1' ".repeat(ATTRIBUTES_MAX + 1));
        assert!(check(&wide).unwrap_err().what.contains("attributes"));
        assert!(check(&" ".repeat(BYTES_MAX + 1)).unwrap_err().what.contains("bytes"));
        assert!(check(&"<a xmlns='b'/>".repeat(65)).unwrap_err().what.contains("namespaces"));
    }

    /// Comments, a late declaration and foreign elements beside the root become blanks; line ends stay.
    #[test]
    fn blanks_what_xml_forbids() {
        let text = "\n<?xml version='1.0'?>\n<b>x<!-- - -->\n</b>\n<!-- -- \u{e9} -->\n<a><c/></a>\n<d/>";
        let (prepared, findings) = check(text).unwrap();
        assert_eq!(prepared.split_whitespace().collect::<String>(), "<a><c/></a>");
        assert_eq!(prepared.matches('\n').count(), text.matches('\n').count());
        let found: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("f:3: warning: <b> beside the root"), "{found:?}");
        assert!(check("<a/><a/>").unwrap_err().what.contains("second root"));
    }
}
