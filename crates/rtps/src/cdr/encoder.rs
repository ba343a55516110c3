//! Appends values to a buffer in CDR (DDS-XTypes 7.4). Pure.

use super::{CdrError, Endianness, Representation};
use alloc::vec::Vec;

/// Appends CDR to a buffer; alignment counts from the buffer's length at creation.
#[derive(Debug)]
pub struct Encoder<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) origin: usize,
    endianness: Endianness,
    pub(super) representation: Representation,
    pub(super) is_key_hash: bool,
}

impl<'a> Encoder<'a> {
    /// An encoder whose first octet goes to the end of `out`. What `out` holds is kept.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, endianness: Endianness, representation: Representation) -> Self {
        let origin = out.len();
        Self { out, origin, endianness, representation, is_key_hash: false }
    }

    /// An encoder of a key that is to be hashed: the most significant octet first, structs as if they were final.
    #[inline]
    pub(super) fn of_key_hash(out: &'a mut Vec<u8>, representation: Representation) -> Self {
        Self { is_key_hash: true, ..Self::new(out, Endianness::Big, representation) }
    }

    /// Whether a key hash is made from what is appended: key members then go in the order of their identifiers.
    #[inline]
    pub fn is_key_hash(&self) -> bool {
        self.is_key_hash
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

    /// Appends zeros until the position is a multiple of `size`, a power of two, or of the largest alignment.
    #[inline]
    pub fn align(&mut self, size: usize) {
        let mask = size.min(self.representation.align_max()).wrapping_sub(1);
        let padding = (self.out.len() - self.origin).wrapping_neg() & mask;
        if padding != 0 {
            self.out.resize(self.out.len() + padding, 0);
        }
    }

    /// Appends octets without alignment.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends an octet.
    #[inline]
    pub fn write_u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Appends an aligned 16-bit number.
    #[inline]
    pub fn write_u16(&mut self, value: u16) {
        self.write_number(value.to_le_bytes(), value.to_be_bytes());
    }

    /// Appends an aligned 32-bit number.
    #[inline]
    pub fn write_u32(&mut self, value: u32) {
        self.write_number(value.to_le_bytes(), value.to_be_bytes());
    }

    /// Appends an aligned 64-bit number.
    #[inline]
    pub fn write_u64(&mut self, value: u64) {
        self.write_number(value.to_le_bytes(), value.to_be_bytes());
    }

    /// Appends the length of a string or sequence.
    ///
    /// # Errors
    /// When it does not fit 32 bits.
    #[inline]
    pub fn write_length(&mut self, length: usize) -> Result<(), CdrError> {
        self.write_u32(u32::try_from(length).map_err(|_| CdrError::LengthRange { length })?);
        Ok(())
    }

    /// Appends a string: its length with the closing zero, its octets, the zero.
    ///
    /// # Errors
    /// When it has a zero inside, which no peer written in C could see past, or does not fit 32 bits.
    #[inline]
    pub fn write_string(&mut self, text: &str) -> Result<(), CdrError> {
        if text.as_bytes().contains(&0) {
            return Err(CdrError::StringZero);
        }
        self.write_length(text.len().saturating_add(1))?;
        self.out.reserve(text.len() + 1);
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        Ok(())
    }

    #[inline]
    fn write_number<const SIZE: usize>(&mut self, little: [u8; SIZE], big: [u8; SIZE]) {
        self.align(SIZE);
        match self.endianness {
            Endianness::Little => self.out.extend_from_slice(&little),
            Endianness::Big => self.out.extend_from_slice(&big),
        }
    }

    /// Appends an aligned run of numbers, each through `to_bytes`.
    #[inline]
    pub(super) fn write_numbers<T: Copy, const SIZE: usize>(
        &mut self,
        items: &[T],
        to_bytes: impl Fn(T) -> [u8; SIZE],
    ) {
        if items.is_empty() {
            return;
        }
        self.align(SIZE);
        let start = self.out.len();
        self.out.resize(start + items.len() * SIZE, 0);
        let (_, space) = self.out.split_at_mut(start);
        for (slot, item) in space.as_chunks_mut::<SIZE>().0.iter_mut().zip(items) {
            *slot = to_bytes(*item);
        }
    }

    /// Appends a sequence or array (and in XCDR2 a map), which `write` writes with its length if it has one. XCDR2
    /// puts the size in octets before one whose elements are not primitive. Arrays of arrays are one collection.
    ///
    /// # Errors
    /// As `write`, or when the size does not fit 32 bits.
    #[inline]
    pub fn collection(
        &mut self,
        primitive: bool,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        if primitive || self.representation == Representation::Xcdr1 {
            return write(self);
        }
        self.delimited(write)
    }

    /// Appends the size in octets of what `write` appends, then that.
    pub(super) fn delimited(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), CdrError>,
    ) -> Result<(), CdrError> {
        self.align(4);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        let start = self.out.len();
        write(self)?;
        let length = self.out.len() - start;
        self.patch_u32(at, u32::try_from(length).map_err(|_| CdrError::LengthRange { length })?);
        Ok(())
    }

    /// Overwrites two octets.
    pub(super) fn patch_u16(&mut self, at: usize, value: u16) {
        let bytes = match self.endianness {
            Endianness::Little => value.to_le_bytes(),
            Endianness::Big => value.to_be_bytes(),
        };
        if let Some(space) = self.out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *space = bytes;
        }
    }

    /// Overwrites four octets.
    pub(super) fn patch_u32(&mut self, at: usize, value: u32) {
        let bytes = match self.endianness {
            Endianness::Little => value.to_le_bytes(),
            Endianness::Big => value.to_be_bytes(),
        };
        if let Some(space) = self.out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
            *space = bytes;
        }
    }
}
