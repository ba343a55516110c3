//! Participants (RTPS 8.5.3.2).

use super::{
    DiscoveryDataError, PL_CDR_LE, add_locator, base_pid, name, parse_key, parse_list, read, skip_unknown,
    user_data,
};
use crate::Endianness;
use crate::message::Cursor;
use crate::parameter::{ParameterListWriter, pid};
use crate::{EntityId, Guid, Lease, Locator, MachineAddress, VENDOR_STILLWATT, VendorId};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// What a participant says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantData {
    /// The participant; its entity is [`EntityId::PARTICIPANT`].
    pub guid: Guid,
    /// Major and minor protocol version.
    pub version: [u8; 2],
    /// Its implementation.
    pub vendor: VendorId,
    /// Its domain, when it says so.
    pub domain: Option<u32>,
    /// Which built-in endpoints it has (RTPS 9.3.2.12, one bit each).
    pub builtin_endpoints: u32,
    /// After how much silence it counts as gone.
    pub lease: Lease,
    /// Where it hears discovery.
    pub metatraffic_unicast: Vec<Locator>,
    /// Where it and others hear discovery.
    pub metatraffic_multicast: Vec<Locator>,
    /// Where its endpoints hear data unless they say otherwise.
    pub default_unicast: Vec<Locator>,
    /// Where its endpoints and others hear data unless they say otherwise.
    pub default_multicast: Vec<Locator>,
    /// Its name.
    pub name: Option<String>,
    /// Free octets of its application.
    pub user_data: Vec<u8>,
    /// Where on its machine it is; only of Stillwatt participants.
    pub machine_address: Option<MachineAddress>,
}

impl ParticipantData {
    /// Appends the announcement: encapsulation header, parameters, sentinel. Names and user data above the bounds of
    /// this module still travel, but their receivers may not keep them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&PL_CDR_LE);
        let mut list = ParameterListWriter::new(out);
        list.bytes(pid::PROTOCOL_VERSION, &self.version);
        list.bytes(pid::VENDOR, &self.vendor.0);
        list.guid(pid::PARTICIPANT_GUID, self.guid);
        if let Some(domain) = self.domain {
            list.u32(pid::DOMAIN_ID, domain);
        }
        list.u32(pid::BUILTIN_ENDPOINTS, self.builtin_endpoints);
        list.time(pid::PARTICIPANT_LEASE, self.lease.to_wire());
        for (id, locators) in [
            (pid::METATRAFFIC_UNICAST_LOCATOR, &self.metatraffic_unicast),
            (pid::METATRAFFIC_MULTICAST_LOCATOR, &self.metatraffic_multicast),
            (pid::DEFAULT_UNICAST_LOCATOR, &self.default_unicast),
            (pid::DEFAULT_MULTICAST_LOCATOR, &self.default_multicast),
        ] {
            locators.iter().for_each(|locator| list.locator(id, locator));
        }
        if let Some(name) = &self.name {
            list.string(pid::ENTITY_NAME, name);
        }
        if !self.user_data.is_empty() {
            list.octets(pid::USER_DATA, &self.user_data);
        }
        if let Some(address) = self.machine_address {
            list.value(pid::MACHINE_ADDRESS, |value| {
                value.bytes(&address.machine);
                value.bytes(&address.process);
            });
        }
        list.finish();
    }

    /// Reads an announcement. What is absent has the standard's default: a lease of 100 s, no locators.
    ///
    /// # Errors
    /// When it is not a parameter list, has no participant GUID, a parameter with a wrong value, or one that must be
    /// understood and is not.
    pub fn decode(payload: &[u8]) -> Result<Self, DiscoveryDataError> {
        let list = parse_list(payload)?;
        let mut data = Self {
            guid: Guid::default(),
            version: [2, 0],
            vendor: VendorId::default(),
            domain: None,
            builtin_endpoints: 0,
            lease: Lease::Finite(LEASE_DEFAULT),
            metatraffic_unicast: Vec::new(),
            metatraffic_multicast: Vec::new(),
            default_unicast: Vec::new(),
            default_multicast: Vec::new(),
            name: None,
            user_data: Vec::new(),
            machine_address: None,
        };
        for (id, value) in list.iter() {
            data.set(id, value, list.order())?;
        }
        // Other vendors' parameters of this number mean something else.
        data.machine_address = data.machine_address.filter(|_| data.vendor == VENDOR_STILLWATT);
        match data.guid.entity {
            EntityId::PARTICIPANT => Ok(data),
            EntityId::UNKNOWN => Err(DiscoveryDataError::Missing(pid::PARTICIPANT_GUID)),
            _ => {
                let reason = "not the GUID of a participant";
                Err(DiscoveryDataError::Parameter { pid: pid::PARTICIPANT_GUID, reason })
            }
        }
    }

    /// Reads the key that is sent when a participant leaves.
    ///
    /// # Errors
    /// When there is none in the payload.
    pub fn decode_key(payload: &[u8]) -> Result<Guid, DiscoveryDataError> {
        parse_key(payload, pid::PARTICIPANT_GUID)
    }

    fn set(&mut self, id: u16, value: &[u8], order: Endianness) -> Result<(), DiscoveryDataError> {
        let locators = match base_pid(id) {
            pid::METATRAFFIC_UNICAST_LOCATOR => &mut self.metatraffic_unicast,
            pid::METATRAFFIC_MULTICAST_LOCATOR => &mut self.metatraffic_multicast,
            pid::DEFAULT_UNICAST_LOCATOR => &mut self.default_unicast,
            pid::DEFAULT_MULTICAST_LOCATOR => &mut self.default_multicast,
            _ => return self.set_single(id, value, order),
        };
        read(id, value, order, |cursor| add_locator(locators, cursor))
    }

    fn set_single(&mut self, id: u16, value: &[u8], order: Endianness) -> Result<(), DiscoveryDataError> {
        match base_pid(id) {
            pid::PARTICIPANT_GUID => self.guid = read(id, value, order, Cursor::guid)?,
            pid::PROTOCOL_VERSION => self.version = read(id, value, order, Cursor::array)?,
            pid::VENDOR => self.vendor = VendorId(read(id, value, order, Cursor::array)?),
            pid::DOMAIN_ID => self.domain = Some(read(id, value, order, Cursor::u32)?),
            pid::DOMAIN_TAG => {
                if !read(id, value, order, Cursor::string)?.is_empty() {
                    return Err(DiscoveryDataError::DomainTag);
                }
            }
            pid::BUILTIN_ENDPOINTS => self.builtin_endpoints = read(id, value, order, Cursor::u32)?,
            pid::PARTICIPANT_LEASE => self.lease = Lease::from_wire(read(id, value, order, Cursor::time)?),
            pid::ENTITY_NAME => self.name = Some(read(id, value, order, name)?),
            pid::USER_DATA => self.user_data = read(id, value, order, user_data)?,
            pid::MACHINE_ADDRESS => {
                let octets = <[u8; 32]>::try_from(value).ok();
                self.machine_address = octets.map(|octets| {
                    let half =
                        |from: usize| core::array::from_fn(|i| octets.get(from + i).copied().unwrap_or(0));
                    MachineAddress { machine: half(0), process: half(16) }
                });
            }
            // The key once more, for receivers that look at nothing else.
            pid::KEY_HASH => {}
            _ => skip_unknown(id)?,
        }
        Ok(())
    }
}

/// RTPS 9.6.3.2: the lease of a participant that does not state one.
const LEASE_DEFAULT: Duration = Duration::from_secs(100);
