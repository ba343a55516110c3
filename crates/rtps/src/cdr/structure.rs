//! Structs on the wire: sizes, member headers, optional members, and what a reader may skip (DDS-XTypes 7.4.3.5).
//! Pure.
//!
//! | | final | appendable | mutable |
//! |---|---|---|---|
//! | XCDR1 | members in order | members in order | parameter list: each member has its identifier and size |
//! | XCDR2 | members in order | size, members in order | size, then each member with its identifier and size |
//!
//! An optional member of a struct that is not mutable has a parameter's header in XCDR1, and a boolean before it in
//! XCDR2; in a mutable struct it is there or not. A key hash is computed from structs without any of this.

use super::{CdrError, Decoder, Encoder, Representation};

/// How a struct may change while both old and new programs run (DDS-XTypes 7.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extensibility {
    /// Not at all.
    #[default]
    Final,
    /// By members added at its end.
    Appendable,
    /// By members added, removed and moved, which are told apart by their identifiers.
    Mutable,
}

/// What travels with a member of a mutable struct, and with an optional member in XCDR1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberHeader {
    /// The member's identifier, unique in its struct; at most [`MEMBER_ID_MAX`].
    pub id: u32,
    /// Whether a reader that does not know the member must refuse the sample.
    pub must_understand: bool,
}

/// The largest identifier of a member.
pub const MEMBER_ID_MAX: u32 = 0x0fff_ffff;

impl MemberHeader {
    /// What to do with a member that the reader's type does not have: nothing, if that is allowed.
    ///
    /// # Errors
    /// When the member must be understood.
    #[inline]
    pub fn skip(self) -> Result<(), CdrError> {
        if self.must_understand { Err(CdrError::NotUnderstood { id: self.id }) } else { Ok(()) }
    }
}

impl Encoder<'_> {
    /// Appends a struct, whose members `write` appends by [`Encoder::member`] and [`Encoder::optional_member`].
    ///
    /// # Errors
    /// As `write`, or when the struct's size does not fit 32 bits.
    #[inline]
    pub fn structure(
        &mut self,
        extensibility: Extensibility,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        match (self.form_of(extensibility), self.representation) {
            (Extensibility::Final, _) | (Extensibility::Appendable, Representation::Xcdr1) => write(self),
            (_, Representation::Xcdr2) => self.delimited(write),
            (Extensibility::Mutable, Representation::Xcdr1) => {
                write(self)?;
                self.align(4);
                self.write_u16(PID_LIST_END | FLAG_MUST_UNDERSTAND);
                self.write_u16(0);
                Ok(())
            }
        }
    }

    /// Appends a member of a struct of this extensibility.
    ///
    /// # Errors
    /// As `write`, or when the member's size does not fit 32 bits.
    #[inline]
    pub fn member(
        &mut self,
        extensibility: Extensibility,
        header: MemberHeader,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        match (self.form_of(extensibility), self.representation) {
            (Extensibility::Mutable, Representation::Xcdr1) => self.parameter(header, true, write),
            (Extensibility::Mutable, Representation::Xcdr2) => self.headed(header, write),
            _ => write(self),
        }
    }

    /// Appends a member that may be absent.
    ///
    /// # Errors
    /// As [`Encoder::member`].
    #[inline]
    pub fn optional_member<T>(
        &mut self,
        extensibility: Extensibility,
        header: MemberHeader,
        value: Option<T>,
        write: impl FnOnce(T, &mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        match (self.form_of(extensibility), self.representation, value) {
            (Extensibility::Mutable, _, None) => Ok(()),
            (Extensibility::Mutable, _, Some(value)) => {
                self.member(extensibility, header, |encoder| write(value, encoder))
            }
            (_, Representation::Xcdr1, None) => self.parameter(header, false, |_| Ok(())),
            (_, Representation::Xcdr1, Some(value)) => {
                self.parameter(header, false, |encoder| write(value, encoder))
            }
            (_, Representation::Xcdr2, None) => {
                self.write_u8(0);
                Ok(())
            }
            (_, Representation::Xcdr2, Some(value)) => {
                self.write_u8(1);
                write(value, self)
            }
        }
    }

    /// A key hash is made from structs as if they were final (DDS-XTypes 7.6.8).
    #[inline]
    fn form_of(&self, extensibility: Extensibility) -> Extensibility {
        if self.is_key_hash { Extensibility::Final } else { extensibility }
    }

    /// XCDR1: a parameter, in its short form when identifier and size fit. Alignment starts anew in its value. With
    /// `pad` the size counts the octets up to the next parameter, as RTPS and older peers want it.
    fn parameter(
        &mut self,
        header: MemberHeader,
        pad: bool,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.align(4);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; SHORT_HEADER]);
        let start = self.out.len();
        let origin = core::mem::replace(&mut self.origin, start);
        let result = write(self);
        if pad {
            self.align(4);
        }
        self.origin = origin;
        result?;
        let length = self.out.len() - start;
        let short =
            u16::try_from(header.id).ok().filter(|id| *id < PID_RESERVED).zip(u16::try_from(length).ok());
        if let Some((id, length)) = short {
            let flag = if header.must_understand { FLAG_MUST_UNDERSTAND } else { 0 };
            self.patch_u16(at, id | flag);
            self.patch_u16(at + 2, length);
            return Ok(());
        }
        let size = u32::try_from(length).map_err(|_| CdrError::LengthRange { length })?;
        self.out.splice(start..start, [0; EXTENDED_HEADER]);
        self.patch_u16(at, PID_EXTENDED | FLAG_MUST_UNDERSTAND);
        self.patch_u16(at + 2, 8);
        let flag = if header.must_understand { EXTENDED_FLAG_MUST_UNDERSTAND } else { 0 };
        self.patch_u32(start, header.id & MEMBER_ID_MAX | flag);
        self.patch_u32(start + 4, size);
        Ok(())
    }

    /// XCDR2: identifier and length code, with the size after it unless it is 1, 2, 4 or 8 octets.
    fn headed(
        &mut self,
        header: MemberHeader,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.align(4);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 8]);
        let start = self.out.len();
        write(self)?;
        let length = self.out.len() - start;
        let code = match length {
            1 => 0,
            2 => 1,
            4 => 2,
            8 => 3,
            _ => {
                let size = u32::try_from(length).map_err(|_| CdrError::LengthRange { length })?;
                self.patch_u32(at + 4, size);
                4
            }
        };
        if code < 4 {
            // The size is in the code. Nothing in the value aligns to more than 4, so it may move by 4.
            self.out.copy_within(start.., start - 4);
            self.out.truncate(start - 4 + length);
        }
        let flag = if header.must_understand { EMHEADER_FLAG_MUST_UNDERSTAND } else { 0 };
        self.patch_u32(at, flag | code << 28 | header.id & MEMBER_ID_MAX);
        Ok(())
    }
}

impl<'a> Decoder<'a> {
    /// Reads a struct, whose members `read` reads: those of a mutable one by [`Decoder::members`]; of others in order,
    /// optional ones by [`Decoder::optional_member`], and of an appendable one as long as [`Decoder::is_at_end`] is
    /// false. What a newer type has added at the end is skipped.
    ///
    /// # Errors
    /// As `read`, or when the struct's size is more than the octets left.
    #[inline]
    pub fn structure<T>(
        &mut self,
        extensibility: Extensibility,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        match (extensibility, self.representation) {
            (Extensibility::Final, _) | (_, Representation::Xcdr1) => read(self),
            (_, Representation::Xcdr2) => self.delimited(read),
        }
    }

    /// Whether an appendable struct has no more members, because its sender's type is older. XCDR1 does not say where
    /// a struct ends; there it is the case only at the end of a sample, outside collections.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.remaining() == 0 && (self.representation == Representation::Xcdr2 || self.depth == 0)
    }

    /// Reads the members of a mutable struct in the order of the sender. `read` gets a decoder of the member's octets
    /// only, and may leave any of them; for a member that it does not know it returns [`MemberHeader::skip`].
    ///
    /// # Errors
    /// As `read`, or when a header is cut off or claims more octets than are left.
    pub fn members(
        &mut self,
        mut read: impl FnMut(MemberHeader, &mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        match self.representation {
            Representation::Xcdr1 => {
                while let Some((header, mut value)) = self.parameter()? {
                    read(header, &mut value)?;
                    self.filled = value.filled;
                }
            }
            Representation::Xcdr2 => {
                while self.aligned(4) < self.bytes.len() {
                    let (header, end) = self.emheader()?;
                    self.within(end, |decoder| read(header, decoder))?;
                }
            }
        }
        Ok(())
    }

    /// Reads a member that may be absent, of a struct that is not mutable.
    ///
    /// # Errors
    /// As `read`, or when another member is in its place.
    #[inline]
    pub fn optional_member<T>(
        &mut self,
        id: u32,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<Option<T>, CdrError> {
        match self.representation {
            Representation::Xcdr1 => match self.parameter()? {
                Some((header, mut value)) if header.id == id => {
                    if value.remaining() == 0 {
                        Ok(None)
                    } else {
                        let read = read(&mut value).map(Some);
                        self.filled = value.filled;
                        read
                    }
                }
                other => Err(CdrError::MemberId { expected: id, found: other.map(|(header, _)| header.id) }),
            },
            Representation::Xcdr2 => match self.read_u8()? {
                0 => Ok(None),
                1 => read(self).map(Some),
                value => Err(CdrError::Bool { value }),
            },
        }
    }

    /// XCDR1: the next parameter with a decoder of its own, whose alignment starts anew; `None` at the list's end.
    fn parameter(&mut self) -> Result<Option<(MemberHeader, Self)>, CdrError> {
        loop {
            self.align(4)?;
            let (word, length) = (self.read_u16()?, self.read_u16()?);
            let (mut header, mut size) = (short_header(word), u32::from(length));
            match word & PID_MASK {
                PID_LIST_END => return Ok(None),
                PID_EXTENDED => {
                    let word = self.read_u32()?;
                    // What is above the largest identifier marks one of another space than ours.
                    header = MemberHeader {
                        id: word & !EXTENDED_FLAG_MUST_UNDERSTAND,
                        must_understand: word & EXTENDED_FLAG_MUST_UNDERSTAND != 0,
                    };
                    size = self.read_u32()?;
                }
                _ => {}
            }
            let left = self.remaining();
            let octets = usize::try_from(size).unwrap_or(usize::MAX);
            if octets > left {
                return Err(CdrError::LengthClaim { claimed: size, left });
            }
            let value = Self { bytes: self.read_bytes(octets)?, position: 0, ..self.clone() };
            if word & PID_MASK != PID_IGNORE {
                return Ok(Some((header, value)));
            }
        }
    }

    /// XCDR2: a member's header, and the position of its end.
    fn emheader(&mut self) -> Result<(MemberHeader, usize), CdrError> {
        let word = self.read_u32()?;
        let header = MemberHeader {
            id: word & MEMBER_ID_MAX,
            must_understand: word & EMHEADER_FLAG_MUST_UNDERSTAND != 0,
        };
        let code = word >> 28 & 7;
        let (claimed, octets) = match code {
            0..4 => (1 << code, 1usize << code),
            4 => {
                let size = self.read_u32()?;
                (size, usize::try_from(size).unwrap_or(usize::MAX))
            }
            // The value's first number is its length in units of 1, 4 or 8 octets.
            _ => {
                let units = self.peek_u32()?;
                let unit = [1, 4, 8].get(usize::try_from(code - 5).unwrap_or(0)).copied().unwrap_or(1);
                (units, usize::try_from(units).unwrap_or(usize::MAX).saturating_mul(unit).saturating_add(4))
            }
        };
        let left = self.remaining();
        if octets > left {
            return Err(CdrError::LengthClaim { claimed, left });
        }
        Ok((header, self.position.saturating_add(octets)))
    }
}

/// The header in a parameter's identifier.
fn short_header(word: u16) -> MemberHeader {
    let space = if word & FLAG_IMPLEMENTATION == 0 { 0 } else { EXTENDED_FLAG_IMPLEMENTATION };
    MemberHeader { id: space | u32::from(word & PID_MASK), must_understand: word & FLAG_MUST_UNDERSTAND != 0 }
}

/// Identifiers from here on have meanings of their own.
const PID_RESERVED: u16 = 0x3f00;
/// Identifier and size follow as 32-bit numbers.
const PID_EXTENDED: u16 = 0x3f01;
const PID_LIST_END: u16 = 0x3f02;
const PID_IGNORE: u16 = 0x3f03;
const PID_MASK: u16 = 0x3fff;
const FLAG_IMPLEMENTATION: u16 = 0x8000;
const FLAG_MUST_UNDERSTAND: u16 = 0x4000;
const EXTENDED_FLAG_IMPLEMENTATION: u32 = 0x8000_0000;
const EXTENDED_FLAG_MUST_UNDERSTAND: u32 = 0x4000_0000;
const EMHEADER_FLAG_MUST_UNDERSTAND: u32 = 0x8000_0000;
const SHORT_HEADER: usize = 4;
const EXTENDED_HEADER: usize = 8;
