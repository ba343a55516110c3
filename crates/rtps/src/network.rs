//! Networks, for lists of who may talk to us.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// The addresses that begin with the same bits, such as `10.1.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no network: give an address, or an address and a number of bits such as 10.1.0.0/16 or fd00::/8"
)]
pub struct NetworkError(String);

impl Network {
    /// Whether an address belongs to it. An IPv4 address within IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                same_bits(network.to_bits().into(), address.to_bits().into(), 32, self.bits)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                same_bits(network.to_bits(), address.to_bits(), 128, self.bits)
            }
            _ => false,
        }
    }
}

fn same_bits(one: u128, other: u128, width: u32, bits: u8) -> bool {
    (one ^ other).checked_shr(width - u32::from(bits)).unwrap_or(0) == 0
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let error = || NetworkError(text.to_string());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| error())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        if bits > width { Err(error()) } else { Ok(Self { address, bits }) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks hold the addresses that share their bits, of their own family; text that is none is refused.
    #[test]
    fn networks_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("10.1.0.0/16", "10.1.255.7") && !holds("10.1.0.0/16", "10.2.0.1"));
        assert!(holds("192.0.2.7", "192.0.2.7") && !holds("192.0.2.7", "192.0.2.8"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.9.9.9"));
        assert!(
            holds("fd00::/8", "fd12::1") && !holds("fd00::/8", "fe80::1") && holds("::/0", "2001:db8::1")
        );
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "host", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
        assert_eq!("10.1.0.0/16".parse::<Network>().unwrap().to_string(), "10.1.0.0/16");
    }
}
