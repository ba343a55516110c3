//! The byte order of numbers on the wire, for messages and payloads alike. Pure.

/// The order of the octets of a number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endianness {
    /// Most significant octet first.
    Big,
    /// Least significant octet first.
    Little,
}

impl Endianness {
    /// The 16-bit number in these octets.
    #[inline]
    pub(crate) const fn u16(self, octets: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(octets),
            Self::Little => u16::from_le_bytes(octets),
        }
    }

    /// The 32-bit number in these octets.
    #[inline]
    pub(crate) const fn u32(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(octets),
            Self::Little => u32::from_le_bytes(octets),
        }
    }

    /// The 64-bit number in these octets.
    #[inline]
    pub(crate) const fn u64(self, octets: [u8; 8]) -> u64 {
        match self {
            Self::Big => u64::from_be_bytes(octets),
            Self::Little => u64::from_le_bytes(octets),
        }
    }
}
