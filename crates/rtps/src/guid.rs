//! Globally unique identifiers of participants and endpoints (RTPS 9.3.1).

use core::fmt;

/// Identifies the implementation that sent a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VendorId(pub [u8; 2]);

/// Our vendor id: not assigned by the OMG, chosen from the unassigned range.
pub const VENDOR_STILLWATT: VendorId = VendorId([0x01, 0x7e]);

/// The first 12 octets of a GUID: one participant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuidPrefix(pub [u8; 12]);

impl GuidPrefix {
    /// The unknown prefix: in INFO_DST it addresses every participant.
    pub const UNKNOWN: Self = Self([0; 12]);

    /// A prefix from 80 random bits: our vendor id, then the bits.
    ///
    /// Process number and address are deliberately not part of it: both repeat between containers and after a
    /// restart, and a peer that sees an old prefix again believes that discovery was already done.
    pub fn from_random(random: [u8; 10]) -> Self {
        let mut prefix = [0; 12];
        let (vendor, rest) = prefix.split_at_mut(2);
        vendor.copy_from_slice(&VENDOR_STILLWATT.0);
        rest.copy_from_slice(&random);
        Self(prefix)
    }
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// The last 4 octets of a GUID: one endpoint of a participant. The fourth octet is the entity kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub [u8; 4]);

impl EntityId {
    /// Addresses every matched reader.
    pub const UNKNOWN: Self = Self([0, 0, 0, 0]);
    /// The participant itself.
    pub const PARTICIPANT: Self = Self([0, 0, 1, 0xc1]);
    /// SPDP announcements, writer side.
    pub const SPDP_WRITER: Self = Self([0, 1, 0, 0xc2]);
    /// SPDP announcements, reader side.
    pub const SPDP_READER: Self = Self([0, 1, 0, 0xc7]);
    /// SEDP publications, writer side.
    pub const SEDP_PUBLICATIONS_WRITER: Self = Self([0, 0, 3, 0xc2]);
    /// SEDP publications, reader side.
    pub const SEDP_PUBLICATIONS_READER: Self = Self([0, 0, 3, 0xc7]);
    /// SEDP subscriptions, writer side.
    pub const SEDP_SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 4, 0xc2]);
    /// SEDP subscriptions, reader side.
    pub const SEDP_SUBSCRIPTIONS_READER: Self = Self([0, 0, 4, 0xc7]);

    /// Participants that speak for their writers, writer side.
    pub const PARTICIPANT_MESSAGE_WRITER: Self = Self([0, 2, 0, 0xc2]);
    /// Participants that speak for their writers, reader side.
    pub const PARTICIPANT_MESSAGE_READER: Self = Self([0, 2, 0, 0xc7]);

    /// A user-defined writer with a 24-bit key; `with_key` says whether its topic has instances.
    pub const fn user_writer(key: u32, with_key: bool) -> Self {
        let [_, a, b, c] = key.to_be_bytes();
        Self([a, b, c, if with_key { 0x02 } else { 0x03 }])
    }

    /// A user-defined reader with a 24-bit key; `with_key` says whether its topic has instances.
    pub const fn user_reader(key: u32, with_key: bool) -> Self {
        let [_, a, b, c] = key.to_be_bytes();
        Self([a, b, c, if with_key { 0x07 } else { 0x04 }])
    }

    /// Whether the kind octet says built-in.
    pub const fn is_builtin(self) -> bool {
        self.0[3] & 0xc0 == 0xc0
    }

    /// Whether the kind octet says writer.
    pub const fn is_writer(self) -> bool {
        matches!(self.0[3] & 0x3f, 0x02 | 0x03)
    }

    /// Whether the kind octet says reader.
    pub const fn is_reader(self) -> bool {
        matches!(self.0[3] & 0x3f, 0x04 | 0x07)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}

/// A participant or endpoint, unique in the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The endpoint within it.
    pub entity: EntityId,
}

impl Guid {
    /// Joins a prefix and an entity id.
    pub const fn new(prefix: GuidPrefix, entity: EntityId) -> Self {
        Self { prefix, entity }
    }

    /// The 16 octets as they travel.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (prefix, entity) = bytes.split_at_mut(12);
        prefix.copy_from_slice(&self.prefix.0);
        entity.copy_from_slice(&self.entity.0);
        bytes
    }

    /// From the 16 octets as they travel.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let mut guid = Self::default();
        let (prefix, entity) = bytes.split_at(12);
        guid.prefix.0.copy_from_slice(prefix);
        guid.entity.0.copy_from_slice(entity);
        guid
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.prefix, self.entity)
    }
}
