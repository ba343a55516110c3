//! The four octets before every serialized payload: representation and byte order (RTPS 10.2). Pure.

use super::{CdrError, Endianness, Extensibility};
use crate::qos::{REPRESENTATION_XCDR1, REPRESENTATION_XCDR2};

/// Which rules of DDS-XTypes 7.4 lay out a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// Plain CDR: values align to their own size, up to 8.
    Xcdr1,
    /// Extended CDR 2: values align up to 4; collections of non-primitive elements carry their size in octets.
    Xcdr2,
}

impl Representation {
    /// The one that [`Qos::representations`](crate::qos::Qos::representations) numbers so.
    pub const fn from_id(id: i16) -> Option<Self> {
        match id {
            REPRESENTATION_XCDR1 => Some(Self::Xcdr1),
            REPRESENTATION_XCDR2 => Some(Self::Xcdr2),
            _ => None,
        }
    }

    /// Its number in [`Qos::representations`](crate::qos::Qos::representations).
    pub const fn id(self) -> i16 {
        match self {
            Self::Xcdr1 => REPRESENTATION_XCDR1,
            Self::Xcdr2 => REPRESENTATION_XCDR2,
        }
    }

    /// The largest alignment in octets.
    #[inline]
    pub const fn align_max(self) -> usize {
        match self {
            Self::Xcdr1 => 8,
            Self::Xcdr2 => 4,
        }
    }
}

/// What a payload holds after its encapsulation header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadForm {
    /// A sample of a final type; in XCDR1 of an appendable one as well.
    Plain(Representation),
    /// A sample of an appendable type in XCDR2, which begins with its size.
    Delimited,
    /// A sample of a mutable type. In XCDR1 also the parameters of discovery (RTPS 9.4.2.11).
    ParameterList(Representation),
}

impl PayloadForm {
    /// The form of samples of a type of this extensibility.
    pub const fn of(extensibility: Extensibility, representation: Representation) -> Self {
        match (extensibility, representation) {
            (Extensibility::Mutable, _) => Self::ParameterList(representation),
            (Extensibility::Appendable, Representation::Xcdr2) => Self::Delimited,
            _ => Self::Plain(representation),
        }
    }

    /// The rules that lay it out.
    pub const fn representation(self) -> Representation {
        match self {
            Self::Plain(representation) | Self::ParameterList(representation) => representation,
            Self::Delimited => Representation::Xcdr2,
        }
    }
}

/// The encapsulation header: form and byte order of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encapsulation {
    /// What follows.
    pub form: PayloadForm,
    /// In which byte order.
    pub endianness: Endianness,
}

impl Encapsulation {
    /// Octets of the header.
    pub const SIZE: usize = 4;
    /// Plain CDR, least significant octet first: what we write.
    pub const CDR_LE: Self =
        Self { form: PayloadForm::Plain(Representation::Xcdr1), endianness: Endianness::Little };
    /// A parameter list, least significant octet first: what our discovery writes.
    pub const PL_CDR_LE: Self =
        Self { form: PayloadForm::ParameterList(Representation::Xcdr1), endianness: Endianness::Little };

    /// The representation identifier.
    pub const fn identifier(self) -> u16 {
        let order = match self.endianness {
            Endianness::Big => 0,
            Endianness::Little => 1,
        };
        order
            | match self.form {
                PayloadForm::Plain(Representation::Xcdr1) => 0x0000,
                PayloadForm::ParameterList(Representation::Xcdr1) => 0x0002,
                PayloadForm::Plain(Representation::Xcdr2) => 0x0006,
                PayloadForm::Delimited => 0x0008,
                PayloadForm::ParameterList(Representation::Xcdr2) => 0x000a,
            }
    }

    /// The header as it travels; its two option octets are zero.
    pub const fn to_bytes(self) -> [u8; 4] {
        let [high, low] = self.identifier().to_be_bytes();
        [high, low, 0, 0]
    }

    /// Splits a payload into its header and what follows, without the padding at the end that the header tells of
    /// (DDS-XTypes 7.6.3.1.2).
    ///
    /// # Errors
    /// When the header is cut off, or names an encapsulation that is none of XCDR1 or XCDR2.
    pub fn split(payload: &[u8]) -> Result<(Self, &[u8]), CdrError> {
        let Some(([high, low, _, options], body)) = payload.split_first_chunk::<4>() else {
            return Err(CdrError::NoEncapsulation { length: payload.len() });
        };
        let identifier = u16::from_be_bytes([*high, *low]);
        let form = match identifier & !1 {
            0x0000 => PayloadForm::Plain(Representation::Xcdr1),
            0x0002 => PayloadForm::ParameterList(Representation::Xcdr1),
            0x0006 => PayloadForm::Plain(Representation::Xcdr2),
            0x0008 => PayloadForm::Delimited,
            0x000a => PayloadForm::ParameterList(Representation::Xcdr2),
            _ => return Err(CdrError::Encapsulation { identifier }),
        };
        let endianness = if identifier & 1 == 0 { Endianness::Big } else { Endianness::Little };
        let padding = usize::from(options & 3);
        let body = body.get(..body.len().saturating_sub(padding)).unwrap_or(body);
        Ok((Self { form, endianness }, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every known identifier survives the trip, every other one is refused by number.
    #[test]
    fn identifiers_are_recognised_or_refused() {
        for identifier in 0..=u16::MAX {
            let [high, low] = identifier.to_be_bytes();
            match Encapsulation::split(&[high, low, 0, 0, 7]) {
                Ok((header, body)) => {
                    assert_eq!(header.to_bytes(), [high, low, 0, 0]);
                    assert_eq!(body, [7]);
                    assert!(matches!(identifier, 0..=3 | 6..=11));
                }
                Err(error) => {
                    assert_eq!(error, CdrError::Encapsulation { identifier });
                    assert!(!matches!(identifier, 0..=3 | 6..=11));
                }
            }
        }
        assert_eq!(Encapsulation::split(&[0, 1, 0]), Err(CdrError::NoEncapsulation { length: 3 }));
    }
}
