//! The announcements of participants and endpoints as they travel (RTPS 8.5.3, 8.5.4 and 9.6.3).
//!
//! Written as little-endian parameter lists, read in both byte orders. Everything kept has a bound; a string, list
//! or number that its parameter cannot hold makes the whole announcement an error.

mod endpoint;
mod participant;
mod policy;

pub use endpoint::{EndpointData, EndpointKind};
pub use participant::ParticipantData;

use crate::Endianness;
use crate::Locator;
use crate::message::{Cursor, Parsed};
use crate::parameter::{ParameterList, pid};
use alloc::string::String;
use alloc::vec::Vec;

/// Octets of a topic, type, partition or participant name.
pub const NAME_MAX: usize = 256;
/// Partitions of an endpoint.
pub const PARTITIONS_MAX: usize = 64;
/// Locators of each kind that are kept; further ones are ignored.
pub const LOCATORS_MAX: usize = 16;
/// Data representations of an endpoint that are kept; further ones are ignored.
pub const REPRESENTATIONS_MAX: usize = 8;
/// Octets of user data. Longer user data is not kept.
pub const USER_DATA_MAX: usize = 4096;

/// An announcement that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryDataError {
    /// The payload is shorter than its encapsulation header or has another form than a parameter list.
    #[error("announcement is not an encapsulated parameter list")]
    Encapsulation,
    /// The parameter list's lengths are wrong.
    #[error("announcement: {0}")]
    List(&'static str),
    /// A parameter's value is wrong.
    #[error("announcement, parameter {pid:#06x}: {reason}")]
    Parameter {
        /// The parameter's identifier.
        pid: u16,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A parameter that must be there is not.
    #[error("announcement without parameter {0:#06x}")]
    Missing(u16),
    /// The sender says that this parameter must be understood, and we do not know it.
    #[error("announcement with parameter {0:#06x}, which must be understood and is unknown")]
    NotUnderstood(u16),
    /// The participant is in a tagged domain, ours has no tag.
    #[error("participant of a tagged domain")]
    DomainTag,
}

/// The list of an encapsulated payload.
fn parse_list(payload: &[u8]) -> Result<ParameterList<'_>, DiscoveryDataError> {
    let ([0, form, _, _], body) =
        payload.split_first_chunk::<4>().ok_or(DiscoveryDataError::Encapsulation)?
    else {
        return Err(DiscoveryDataError::Encapsulation);
    };
    let order = match form {
        2 => Endianness::Big,
        3 => Endianness::Little,
        _ => return Err(DiscoveryDataError::Encapsulation),
    };
    ParameterList::parse(body, order).map(|(list, _)| list).map_err(|error| DiscoveryDataError::List(error.0))
}

/// The key of an announcement: as a parameter, as a key hash, or (plain CDR) as the 16 octets themselves.
fn parse_key(payload: &[u8], guid: u16) -> Result<crate::Guid, DiscoveryDataError> {
    if let [0, 0 | 1, _, _, key @ ..] = payload {
        let key = key.first_chunk().ok_or(DiscoveryDataError::Missing(guid))?;
        return Ok(crate::Guid::from_bytes(*key));
    }
    let list = parse_list(payload)?;
    let key = list.get(guid).or_else(|| list.get(pid::KEY_HASH)).ok_or(DiscoveryDataError::Missing(guid))?;
    read(guid, key, list.order(), Cursor::guid)
}

/// Reads one parameter.
fn read<'a, T>(
    pid: u16,
    value: &'a [u8],
    order: Endianness,
    read: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>,
) -> Result<T, DiscoveryDataError> {
    read(&mut Cursor::new(value, order)).map_err(|reason| DiscoveryDataError::Parameter { pid, reason })
}

/// Our name of the parameter, without the flag that it must be understood.
fn base_pid(id: u16) -> u16 {
    if id == pid::DOMAIN_TAG { id } else { id & !pid::MUST_UNDERSTAND }
}

/// Skips a parameter that we do not know, unless we must.
fn skip_unknown(id: u16) -> Result<(), DiscoveryDataError> {
    if id & pid::MUST_UNDERSTAND == 0 { Ok(()) } else { Err(DiscoveryDataError::NotUnderstood(id)) }
}

/// A string of at most [`NAME_MAX`] octets.
fn name(cursor: &mut Cursor<'_>) -> Parsed<String> {
    let name = cursor.string()?;
    if name.len() > NAME_MAX { Err("name of more than 256 octets") } else { Ok(String::from(name)) }
}

/// A sequence of octets; empty when it is longer than [`USER_DATA_MAX`].
fn user_data(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let length = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
    let octets = cursor.bytes(length)?;
    Ok(if octets.len() > USER_DATA_MAX { Vec::new() } else { octets.to_vec() })
}

/// Adds a locator if there is room for it. Those of the invalid kind stand for none.
fn add_locator(locators: &mut Vec<Locator>, cursor: &mut Cursor<'_>) -> Parsed<()> {
    let locator = cursor.locator()?;
    let is_valid = locator.kind != crate::LocatorKind::Other(-1);
    if is_valid && locators.len() < LOCATORS_MAX {
        locators.push(locator);
    }
    Ok(())
}

/// The encapsulation header of a little-endian parameter list.
pub(crate) const PL_CDR_LE: [u8; 4] = [0, 3, 0, 0];
