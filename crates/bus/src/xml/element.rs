//! An element of a file: name, attributes, expanded text, children, and where it stands.

use super::{Place, XmlError};

/// An attribute. Its value is as written: variables are expanded in element text only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name without prefix.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// An element of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name without prefix.
    pub name: String,
    /// Where it starts.
    pub place: Place,
    /// Its attributes in the order of the file, without namespace declarations and what belongs to other namespaces.
    pub attributes: Vec<Attribute>,
    /// Its text without the blanks at both ends and with variables expanded; empty if there is none.
    pub text: String,
    /// The elements in it in the order of the file.
    pub children: Vec<Self>,
}

impl Element {
    /// The first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name == name)
            .map(|attribute| attribute.value.as_str())
    }

    /// The value of an attribute that must be there and not empty.
    ///
    /// # Errors
    /// When it is not.
    pub fn required(&self, name: &str) -> Result<&str, XmlError> {
        match self.attribute(name) {
            None => Err(self.error(format!("<{}> has no attribute {name:?}", self.name), "add it")),
            Some("") => {
                Err(self.error(format!("attribute {name:?} of <{}> is empty", self.name), "give it a value"))
            }
            Some(value) => Ok(value),
        }
    }

    /// The element's text as a whole number, decimal or hexadecimal (`0x…`), within the bounds of `T`.
    ///
    /// # Errors
    /// When it is none, naming element and value.
    pub fn number<T: Integer>(&self) -> Result<T, XmlError> {
        parse(&self.text)
            .map_err(|why| self.number_error(&format!("<{}>", self.name), &self.text, why, T::RANGE))
    }

    /// The element's text as a whole number from `least` to `most`.
    ///
    /// # Errors
    /// When it is none, naming element and value.
    pub fn number_within(&self, least: i64, most: i64) -> Result<i64, XmlError> {
        let fault = |why| {
            self.number_error(&format!("<{}>", self.name), &self.text, why, (least.into(), most.into()))
        };
        let number = parse::<i64>(&self.text).map_err(fault)?;
        if (least..=most).contains(&number) { Ok(number) } else { Err(fault(NumberFault::Range)) }
    }

    /// An attribute as a whole number from `least` to `most`; `None` if there is no such attribute.
    ///
    /// # Errors
    /// When it is none, naming attribute and value.
    pub fn attribute_within(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, XmlError> {
        let Some(value) = self.attribute(name) else { return Ok(None) };
        let fault = |why| {
            let what = format!("attribute {name:?} of <{}>", self.name);
            self.number_error(&what, value, why, (least.into(), most.into()))
        };
        let number = parse::<i64>(value).map_err(fault)?;
        if (least..=most).contains(&number) { Ok(Some(number)) } else { Err(fault(NumberFault::Range)) }
    }

    /// An attribute as a whole number within the bounds of `T`; `None` if there is no such attribute.
    ///
    /// # Errors
    /// When it is none, naming attribute and value.
    pub fn attribute_number<T: Integer>(&self, name: &str) -> Result<Option<T>, XmlError> {
        let Some(value) = self.attribute(name) else { return Ok(None) };
        let what = || format!("attribute {name:?} of <{}>", self.name);
        parse(value).map(Some).map_err(|why| self.number_error(&what(), value, why, T::RANGE))
    }

    /// The element's text as `true` or `false` (also capital, `1` and `0`).
    ///
    /// # Errors
    /// When it is neither.
    pub fn boolean(&self) -> Result<bool, XmlError> {
        boolean(&self.text).ok_or_else(|| {
            self.error(
                format!("<{}> is {:?}, which is neither true nor false", self.name, self.text),
                CORRECT,
            )
        })
    }

    /// An attribute as `true` or `false` (also capital, `1` and `0`); `None` if there is no such attribute.
    ///
    /// # Errors
    /// When it is neither.
    pub fn attribute_boolean(&self, name: &str) -> Result<Option<bool>, XmlError> {
        let Some(value) = self.attribute(name) else { return Ok(None) };
        boolean(value).map(Some).ok_or_else(|| {
            let what = format!(
                "attribute {name:?} of <{}> is {value:?}, which is neither true nor false",
                self.name
            );
            self.error(what, CORRECT)
        })
    }

    /// An error at this element.
    pub fn error(&self, what: impl Into<String>, remedy: impl Into<String>) -> XmlError {
        XmlError::new(self.place.clone(), what, remedy)
    }

    fn number_error(
        &self,
        what: &str,
        value: &str,
        why: NumberFault,
        (least, most): (i128, i128),
    ) -> XmlError {
        let why = match why {
            NumberFault::NotWhole => "which is not a whole number",
            NumberFault::Range => "which is out of range",
        };
        self.error(format!("{what} is {value:?}, {why}"), format!("write a number from {least} to {most}"))
    }
}

const CORRECT: &str = "write true or false";

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "1" => Some(true),
        "false" | "False" | "FALSE" | "0" => Some(false),
        _ => None,
    }
}

/// A kind of whole number that files carry.
pub trait Integer: TryFrom<i128> + Copy {
    /// Least and greatest value.
    const RANGE: (i128, i128);
}

macro_rules! integers {
    ($($kind:ty),*) => {
        $(impl Integer for $kind {
            const RANGE: (i128, i128) = (<$kind>::MIN as i128, <$kind>::MAX as i128);
        })*
    };
}
integers!(u8, u16, u32, u64, i8, i16, i32, i64);

enum NumberFault {
    NotWhole,
    Range,
}

fn parse<T: Integer>(text: &str) -> Result<T, NumberFault> {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..).unwrap_or_default()),
        [b'+', ..] => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let (base, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return Err(NumberFault::NotWhole);
    }
    // All digits: what does not fit is only too large.
    let magnitude = i128::from_str_radix(digits, base).map_err(|_| NumberFault::Range)?;
    T::try_from(if is_negative { -magnitude } else { magnitude }).map_err(|_| NumberFault::Range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(text: &str) -> Element {
        Element {
            name: "port".into(),
            place: Place { file: "f.xml".into(), line: 7 },
            attributes: vec![Attribute { name: "size".into(), value: text.into() }],
            text: text.into(),
            children: Vec::new(),
        }
    }

    /// Whole numbers in range are read in both bases; everything else names what it is, its value and its range.
    #[test]
    fn numbers_fit_or_are_refused() {
        assert_eq!(element("0x1F").number::<u8>(), Ok(31));
        assert_eq!(element("-1").attribute_number::<i32>("size"), Ok(Some(-1)));
        assert_eq!(element("+7").number::<u16>(), Ok(7));
        assert_eq!(element("7").attribute_number::<u16>("other"), Ok(None));
        for text in ["", " ", "1i", "7x", "0x", "-", "1.5", "65536", "-1", &"9".repeat(60), "-0x10000", "٣"]
        {
            let error = element(text).number::<u16>().unwrap_err();
            assert!(error.what.contains(&format!("{text:?}")), "{error}");
            assert!(error.to_string().starts_with("f.xml:7: <port> is"), "{error}");
            assert!(error.remedy.contains("from 0 to 65535"), "{error}");
            let error = element(text).attribute_number::<u16>("size").unwrap_err();
            assert!(error.what.contains("attribute \"size\" of <port>"), "{error}");
        }
    }

    /// Booleans are words or digits, nothing else.
    #[test]
    fn booleans_are_strict() {
        assert_eq!(element("true").boolean(), Ok(true));
        assert_eq!(element("0").attribute_boolean("size"), Ok(Some(false)));
        assert_eq!(element("TRUE").boolean(), Ok(true));
        assert!(element("yes").boolean().is_err());
        assert!(element("").attribute_boolean("size").is_err());
    }
}
