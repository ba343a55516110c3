//! Bounds on a file before it is parsed, in one pass: the XML parser compares every pair of an element's attributes
//! and namespaces, and a tree is walked by recursion, so both must be few.

use super::{Place, XmlError};

/// Bytes of a file.
pub(crate) const BYTES_MAX: usize = 4 << 20;
/// Elements within elements.
pub(crate) const DEPTH_MAX: usize = 64;
/// Attributes of an element.
pub(crate) const ATTRIBUTES_MAX: usize = 32;
/// Namespace declarations of a file.
pub(crate) const NAMESPACES_MAX: usize = 64;
/// Elements, attributes and texts of a file.
pub(crate) const NODES_MAX: u32 = 400_000;

/// Refuses a file that is too large, too deep or too wide. What is not well-formed is left to the parser.
pub(crate) fn check(file: &str, text: &str) -> Result<(), XmlError> {
    let refuse = |at: usize, what: String| {
        let line = text.bytes().take(at).filter(|octet| *octet == b'\n').count() + 1;
        let place = Place { file: file.into(), line: u32::try_from(line).unwrap_or(u32::MAX) };
        Err(XmlError::new(place, what, "split the file"))
    };
    if text.len() > BYTES_MAX {
        return refuse(0, format!("the file has more than {BYTES_MAX} bytes"));
    }
    if text.matches("xmlns").count() > NAMESPACES_MAX {
        return refuse(0, format!("the file declares more than {NAMESPACES_MAX} namespaces"));
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(tag) = next_tag(text, at) {
        at = tag.end;
        if tag.attributes > ATTRIBUTES_MAX {
            return refuse(tag.start, format!("an element has more than {ATTRIBUTES_MAX} attributes"));
        }
        match tag.kind {
            TagKind::Open => depth += 1,
            TagKind::Close => depth = depth.saturating_sub(1),
            TagKind::Other => {}
        }
        if depth > DEPTH_MAX {
            return refuse(tag.start, format!("elements are nested more than {DEPTH_MAX} deep"));
        }
    }
    Ok(())
}

enum TagKind {
    Open,
    Close,
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
    let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
    for (open, close) in skipped {
        if let Some(inside) = rest.strip_prefix(open) {
            let length = inside.find(close).map_or(rest.len(), |at| open.len() + at + close.len());
            return Some(Tag { kind: TagKind::Other, start, end: start + length, attributes: 0 });
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
        _ if last == b'/' => TagKind::Other,
        _ => TagKind::Open,
    };
    Some(Tag { kind, start, end: start + length, attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Depth is counted over comments, quoted brackets and empty elements, and refused with its line.
    #[test]
    fn depth_is_bounded() {
        let nest = |depth: usize| "<a x='>'>\n<!-- <b> --><c/>".repeat(depth) + &"</a>".repeat(depth);
        assert_eq!(check("f", &nest(DEPTH_MAX)), Ok(()));
        let error = check("f", &nest(DEPTH_MAX + 1)).unwrap_err();
        assert_eq!(error.place.line as usize, DEPTH_MAX + 1);
        assert_eq!(check("f", &"<a></a>".repeat(1000)), Ok(()));
    }

    /// Attributes, bytes and namespaces are bounded.
    #[test]
    fn width_is_bounded() {
        let wide = format!("<a {}/>", "b='1' ".repeat(ATTRIBUTES_MAX + 1));
        assert!(check("f", &wide).unwrap_err().what.contains("attributes"));
        assert!(check("f", &" ".repeat(BYTES_MAX + 1)).unwrap_err().what.contains("bytes"));
        assert!(check("f", &"<a xmlns='b'/>".repeat(65)).unwrap_err().what.contains("namespaces"));
    }
}
