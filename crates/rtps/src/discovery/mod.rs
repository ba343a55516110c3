//! What discovery announces and learns: participants (SPDP, RTPS 8.5.3) and endpoints (SEDP, RTPS 8.5.4).

pub mod data;
pub(crate) mod endpoints;
pub(crate) mod relay;
pub(crate) mod remote;
pub(crate) mod restart;
mod sedp;
mod spdp;

use alloc::vec::Vec;

use crate::Guid;
use crate::parameter::{ParameterListWriter, pid};

/// The serialized key of an announcement that is taken back: encapsulation header, one GUID, sentinel.
fn key_payload(parameter: u16, guid: Guid) -> Vec<u8> {
    let mut out = Vec::from(data::PL_CDR_LE);
    let mut list = ParameterListWriter::new(&mut out);
    list.guid(parameter, guid);
    list.finish();
    debug_assert!(parameter == pid::PARTICIPANT_GUID || parameter == pid::ENDPOINT_GUID);
    out
}
