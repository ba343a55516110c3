//! Reads values from CDR octets (DDS-XTypes 7.4). Pure; trusts no length and no number that it reads.

use super::{CdrError, Endianness, NESTING_MAX, Representation};

/// Reads CDR from a slice; alignment counts from the slice's first octet.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) position: usize,
    pub(super) endianness: Endianness,
    pub(super) representation: Representation,
    pub(super) depth: u32,
    /// Octets of fixed size that stand for members that the sample leaves out.
    pub(super) filled: usize,
}

impl<'a> Decoder<'a> {
    /// A decoder at the first octet of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], endianness: Endianness, representation: Representation) -> Self {
        Self { bytes, position: 0, endianness, representation, depth: 0, filled: 0 }
    }

    /// The byte order.
    #[inline]
    pub fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// The rules in force.
    #[inline]
    pub fn representation(&self) -> Representation {
        self.representation
    }

    /// Octets read, with padding.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Octets not yet read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Skips to a multiple of `size`, a power of two, or of the largest alignment. Padding may hold anything.
    ///
    /// # Errors
    /// When the octets end before.
    #[inline]
    pub fn align(&mut self, size: usize) -> Result<(), CdrError> {
        let position = self.aligned(size);
        if position > self.bytes.len() {
            return Err(self.truncated(position));
        }
        self.position = position;
        Ok(())
    }

    /// Reads `length` octets without alignment.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn read_bytes(&mut self, length: usize) -> Result<&'a [u8], CdrError> {
        let end = self.position.saturating_add(length);
        match self.bytes.get(self.position..end) {
            Some(bytes) => {
                self.position = end;
                Ok(bytes)
            }
            None => Err(self.truncated(end)),
        }
    }

    /// Reads an octet.
    ///
    /// # Errors
    /// When none is left.
    #[inline]
    pub fn read_u8(&mut self) -> Result<u8, CdrError> {
        self.read_chunk::<1>().map(|[octet]| octet)
    }

    /// Reads an aligned 16-bit number.
    ///
    /// # Errors
    /// When the octets end before.
    #[inline]
    pub fn read_u16(&mut self) -> Result<u16, CdrError> {
        self.read_chunk().map(|octets| self.endianness.u16(octets))
    }

    /// Reads an aligned 32-bit number.
    ///
    /// # Errors
    /// When the octets end before.
    #[inline]
    pub fn read_u32(&mut self) -> Result<u32, CdrError> {
        self.read_chunk().map(|octets| self.endianness.u32(octets))
    }

    /// Reads an aligned 64-bit number.
    ///
    /// # Errors
    /// When the octets end before.
    #[inline]
    pub fn read_u64(&mut self) -> Result<u64, CdrError> {
        self.read_chunk().map(|octets| self.endianness.u64(octets))
    }

    /// Reads the length of a sequence whose elements take at least `element_size_min` octets each.
    ///
    /// # Errors
    /// When that many elements cannot be in the octets left, or the octets end before.
    #[inline]
    pub fn read_length(&mut self, element_size_min: usize) -> Result<usize, CdrError> {
        let claimed = self.read_u32()?;
        let left = self.remaining();
        match usize::try_from(claimed) {
            Ok(length) if length.saturating_mul(element_size_min.max(1)) <= left => Ok(length),
            _ => Err(CdrError::LengthClaim { claimed, left }),
        }
    }

    /// Reads a string in place. A length of zero, without even the closing zero, is read as the empty string.
    ///
    /// # Errors
    /// When it is cut off, not UTF-8, not closed by a zero, or has a zero inside.
    #[inline]
    pub fn read_string(&mut self) -> Result<&'a str, CdrError> {
        let length = self.read_length(1)?;
        let bytes = self.read_bytes(length)?;
        let text = match bytes.split_last() {
            None => return Ok(""),
            Some((0, text)) if !text.contains(&0) => text,
            Some(_) => return Err(CdrError::StringZero),
        };
        core::str::from_utf8(text)
            .map_err(|error| CdrError::StringEncoding { valid_up_to: error.valid_up_to() })
    }

    /// Counts octets that stand for a member that the sample leaves out.
    ///
    /// # Errors
    /// When a sample leaves out more than [`FILLED_MAX`].
    pub(crate) fn fill(&mut self, octets: usize) -> Result<(), CdrError> {
        self.filled = self.filled.saturating_add(octets);
        if self.filled > FILLED_MAX { Err(CdrError::TooMuchLeftOut) } else { Ok(()) }
    }

    /// A look ahead at the number that [`Decoder::read_u32`] would read; the position stays.
    #[inline]
    pub(super) fn peek_u32(&self) -> Result<u32, CdrError> {
        self.clone().read_u32()
    }

    /// Reads an aligned run of `count` numbers of `SIZE` octets as they travel.
    #[inline]
    pub(super) fn read_chunks<const SIZE: usize>(
        &mut self,
        count: usize,
    ) -> Result<&'a [[u8; SIZE]], CdrError> {
        if count == 0 {
            return Ok(&[]);
        }
        self.align(SIZE)?;
        self.read_bytes(count.saturating_mul(SIZE)).map(|bytes| bytes.as_chunks().0)
    }

    /// Reads what [`Encoder::collection`](super::Encoder::collection) wrote: one level deeper, and in XCDR2 within the
    /// octets that it says it has.
    ///
    /// # Errors
    /// As `read`, when its size is more than the octets left, or below [`NESTING_MAX`] levels.
    #[inline]
    pub fn collection<T>(
        &mut self,
        primitive: bool,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        if primitive {
            return read(self);
        }
        if self.depth >= NESTING_MAX {
            return Err(CdrError::TooDeep);
        }
        self.depth += 1;
        let value = match self.representation {
            Representation::Xcdr1 => read(self)?,
            Representation::Xcdr2 => self.delimited(read)?,
        };
        self.depth -= 1;
        Ok(value)
    }

    pub(super) fn delimited<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        let size = self.read_length(1)?;
        self.within(self.position.saturating_add(size), read)
    }

    /// Reads up to the position `end` and goes on there, whatever was left before.
    pub(super) fn within<T>(
        &mut self,
        end: usize,
        read: impl FnOnce(&mut Self) -> Result<T, CdrError>,
    ) -> Result<T, CdrError> {
        let all = self.bytes;
        let Some(within) = all.get(..end) else { return Err(self.truncated(end)) };
        self.bytes = within;
        let value = read(self);
        self.bytes = all;
        self.position = end;
        value
    }

    #[inline]
    fn read_chunk<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], CdrError> {
        let start = self.aligned(SIZE);
        match self.bytes.get(start..).and_then(|rest| rest.first_chunk::<SIZE>()) {
            Some(chunk) => {
                self.position = start + SIZE;
                Ok(*chunk)
            }
            None => Err(self.truncated(start.saturating_add(SIZE))),
        }
    }

    #[inline]
    pub(super) fn aligned(&self, size: usize) -> usize {
        align_up(self.position, size.min(self.representation.align_max()))
    }

    #[cold]
    fn truncated(&self, needed: usize) -> CdrError {
        CdrError::Truncated { needed, available: self.bytes.len() }
    }
}

/// The most octets of fixed size that may stand for members that a sample leaves out: a few octets may leave out many
/// large arrays of appendable and mutable types.
pub const FILLED_MAX: usize = 64 << 20;

/// The next multiple of `size`, a power of two.
#[inline]
pub(crate) fn align_up(position: usize, size: usize) -> usize {
    position.saturating_add(position.wrapping_neg() & size.wrapping_sub(1))
}
