//! Reads elements by tables, so that the list of known names and the code that reads them cannot drift apart: every
//! name leads to its reader or to why it is not supported, and any other name is an error.

use super::{Element, Finding, XmlError};

/// Reads one child into the settings of its section.
pub(crate) type Read<T> = fn(&mut Reader, &mut T, &Element) -> Result<(), XmlError>;

/// What is done with a known child.
pub(crate) enum Known<T> {
    /// It is read; if it stands twice, the last one counts.
    Once(Read<T>),
    /// It is read wherever it stands.
    Each(Read<T>),
    /// Its form is checked and the reader told why it has no effect.
    Unsupported(Shape, &'static str),
}

/// A kind of element: its attributes and children.
pub(crate) struct Section<T: 'static> {
    pub(crate) attributes: &'static [&'static str],
    pub(crate) children: &'static [(&'static str, Known<T>)],
}

/// The form of an element without effect. Mistakes in it are mistakes all the same.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// True or false.
    Boolean,
    /// A whole number within bounds.
    Number(i64, i64),
    /// A whole number of 64 bits.
    Unsigned64,
    /// Bytes, with or without a unit.
    Bytes,
    /// Seconds and nanoseconds.
    Duration,
    /// Octets in hexadecimal, with dots between them.
    Octets,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Elements.
    Group(&'static Group),
    /// A word and attributes.
    WordWith(&'static [&'static str], &'static Group),
    /// Locators.
    Locators,
    /// Discovery servers.
    Servers,
    /// A writer (true) or reader without a name of its own.
    Endpoint(bool),
}

/// The attributes and children of an element without effect.
pub(crate) struct Group {
    pub(crate) attributes: &'static [(&'static str, Shape)],
    pub(crate) children: &'static [(&'static str, Shape)],
}

/// Reads elements and collects what somebody should know.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) findings: Vec<Finding>,
}

impl<T> Section<T> {
    /// Whether this is the name of a child.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.children.iter().any(|(known, _)| *known == name)
    }
}

impl Reader {
    /// Reads the children of `element` into `target`.
    pub(crate) fn section<T>(
        &mut self,
        target: &mut T,
        element: &Element,
        section: &Section<T>,
    ) -> Result<(), XmlError> {
        check_attributes(element, section.attributes.iter().copied())?;
        check_no_text(element)?;
        let mut seen = vec![false; section.children.len()];
        for child in &element.children {
            let known = section.children.iter().zip(&mut seen).find(|((name, _), _)| *name == child.name);
            let Some(((_, known), was_seen)) = known else {
                return Err(unknown(element, child, section.children.iter().map(|(name, _)| *name)));
            };
            match known {
                Known::Once(read) => {
                    if std::mem::replace(was_seen, true) {
                        let what = format!(
                            "<{}> stands more than once in <{}>: the last one counts",
                            child.name, element.name
                        );
                        self.findings.push(Finding::warning(child.place.clone(), what));
                    }
                    read(self, target, child)?;
                }
                Known::Each(read) => read(self, target, child)?,
                Known::Unsupported(shape, why) => {
                    shape.check(child)?;
                    self.unsupported(child, why);
                }
            }
        }
        Ok(())
    }

    /// Tells that an element has no effect.
    pub(crate) fn unsupported(&mut self, element: &Element, why: &str) {
        let what = format!("<{}> is not supported and has no effect: {why}", element.name);
        self.findings.push(Finding::warning(element.place.clone(), what));
    }

    /// Tells that a value has no effect.
    pub(crate) fn unsupported_value(&mut self, element: &Element, value: &str, why: &str) {
        let what = format!("{value} in <{}> is not supported and has no effect: {why}", element.name);
        self.findings.push(Finding::warning(element.place.clone(), what));
    }
}

impl Shape {
    /// Refuses an element that is not of this form.
    pub(crate) fn check(&self, element: &Element) -> Result<(), XmlError> {
        match self {
            Self::Group(group) => return group.check(element),
            Self::WordWith(words, group) => {
                group.check_attributes(element)?;
                if !element.text.is_empty() {
                    super::value::word(element, words)?;
                }
                return check_no_children(element);
            }
            Self::Locators => return super::locator::check(element),
            Self::Servers => return super::profiles::check_servers(element),
            Self::Endpoint(is_writer) => return super::profiles::check_endpoint(element, *is_writer),
            Self::Duration => return super::value::duration(element).map(drop),
            _ => {}
        }
        check_attributes(element, std::iter::empty())?;
        check_no_children(element)?;
        match self {
            Self::Boolean => element.boolean().map(drop),
            Self::Number(least, most) => element.number_within(*least, *most).map(drop),
            Self::Unsigned64 => element.number::<u64>().map(drop),
            Self::Bytes => super::value::bytes(&element.text)
                .ok_or_else(|| {
                    element.error(
                        format!("<{}> is {:?}, which is not a size", element.name, element.text),
                        BYTES,
                    )
                })
                .map(drop),
            Self::Octets => super::value::octets(element).map(drop),
            Self::Word(words) => super::value::word(element, words).map(drop),
            _ => Ok(()),
        }
    }

    fn check_attribute(&self, element: &Element, name: &str, value: &str) -> Result<(), XmlError> {
        match self {
            Self::Boolean => element.attribute_boolean(name).map(drop),
            Self::Number(least, most) => element.attribute_within(name, *least, *most).map(drop),
            Self::Bytes if super::value::bytes(value).is_none() => {
                let what =
                    format!("attribute {name:?} of <{}> is {value:?}, which is not a size", element.name);
                Err(element.error(what, BYTES))
            }
            _ => Ok(()),
        }
    }
}

impl Group {
    fn check(&self, element: &Element) -> Result<(), XmlError> {
        self.check_attributes(element)?;
        check_no_text(element)?;
        for child in &element.children {
            let found = self.children.iter().find(|(name, _)| *name == child.name);
            let Some((_, shape)) = found else {
                return Err(unknown(element, child, self.children.iter().map(|(name, _)| *name)));
            };
            shape.check(child)?;
        }
        Ok(())
    }

    fn check_attributes(&self, element: &Element) -> Result<(), XmlError> {
        check_attributes(element, self.attributes.iter().map(|(name, _)| *name))?;
        for (name, shape) in self.attributes {
            if let Some(value) = element.attribute(name) {
                shape.check_attribute(element, name, value)?;
            }
        }
        Ok(())
    }
}

/// Refuses attributes that are not among the known ones.
pub(crate) fn check_attributes(
    element: &Element,
    known: impl Iterator<Item = &'static str>,
) -> Result<(), XmlError> {
    let known: Vec<_> = known.collect();
    let Some(attribute) =
        element.attributes.iter().find(|attribute| !known.contains(&attribute.name.as_str()))
    else {
        return Ok(());
    };
    let what = format!("attribute {:?} is not known on <{}>", attribute.name, element.name);
    Err(element.error(what, hint(&attribute.name, known.into_iter(), |name| format!("{name:?}"))))
}

/// Refuses text where elements belong.
pub(crate) fn check_no_text(element: &Element) -> Result<(), XmlError> {
    if element.text.is_empty() {
        return Ok(());
    }
    let what = format!("<{}> has the text {:?} where elements belong", element.name, element.text);
    Err(element.error(what, "put the value into the element it is for"))
}

/// Refuses elements where text belongs.
pub(crate) fn check_no_children(element: &Element) -> Result<(), XmlError> {
    match element.children.first() {
        None => Ok(()),
        Some(child) => {
            let what = format!("<{}> stands in <{}>, which holds a value", child.name, element.name);
            Err(child.error(what, "remove it"))
        }
    }
}

/// The error for a child that is not known.
pub(crate) fn unknown(
    element: &Element,
    child: &Element,
    known: impl Iterator<Item = &'static str>,
) -> XmlError {
    let what = format!("<{}> is not known in <{}>", child.name, element.name);
    let homes = super::profiles::homes(&child.name);
    if homes.is_empty() {
        return child.error(what, hint(&child.name, known, |name| format!("<{name}>")));
    }
    let homes: Vec<_> = homes.iter().map(|home| format!("<{home}>")).collect();
    child.error(what, format!("it belongs in {}", homes.join(" or ")))
}

/// The known name that is written most alike, or all of them.
pub(crate) fn hint<'a>(
    written: &str,
    known: impl Iterator<Item = &'a str>,
    show: fn(&str) -> String,
) -> String {
    let mut known: Vec<&str> = known.collect();
    if known.is_empty() {
        return "remove it".into();
    }
    // A word of a name is as good as the name.
    let is_word =
        |name: &str| written.len() >= 4 && name.to_ascii_lowercase().contains(&written.to_ascii_lowercase());
    let away = |name: &str| if is_word(name) { 1 } else { distance(written, name) };
    let nearest = known.iter().map(|name| (away(name), *name)).min();
    match nearest {
        Some((distance, name)) if distance <= 1 + name.len() / 3 => format!("did you mean {}?", show(name)),
        _ => {
            known.sort_unstable();
            let names: Vec<_> = known.into_iter().map(show).collect();
            format!("known are {}", names.join(", "))
        }
    }
}

/// How many letters must be changed, added or removed to turn one word into the other, whatever their case. Long names
/// are compared by their first 64 bytes.
fn distance(left: &str, right: &str) -> usize {
    let lower =
        |word: &str| -> Vec<u8> { word.bytes().take(64).map(|octet| octet.to_ascii_lowercase()).collect() };
    let (left, right) = (lower(left), lower(right));
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut last = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&right) {
            let above = *cell;
            last = (diagonal + usize::from(a != b)).min(above + 1).min(last + 1);
            (diagonal, *cell) = (above, last);
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

const BYTES: &str = "write bytes, as in 65500, or with a unit, as in 64KB";

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance counts letters, not case.
    #[test]
    fn distances() {
        for (left, right, expected) in
            [("", "abc", 3), ("Kitten", "sitting", 3), ("NAME", "name", 0), ("ab", "ba", 2)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }

    /// A near name is suggested; a far one gets the list.
    #[test]
    fn hints() {
        let known = || ["reliability", "durability"].into_iter();
        assert_eq!(hint("realiability", known(), str::to_owned), "did you mean reliability?");
        assert_eq!(hint("x", known(), str::to_owned), "known are durability, reliability");
    }
}
