//! The IPv4 addresses of this machine. May touch: the kernel's interface list.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// One IPv4 address of an interface that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) ip: [u8; 4],
    pub(crate) is_loopback: bool,
    /// The interface says that it can do multicast.
    pub(crate) is_multicast: bool,
}

/// Addresses announced at most; more would only repeat the same machine.
const ADDRESSES_MAX: usize = 8;

/// The addresses of all interfaces that are up, loopback last. Empty when the kernel does not say.
pub(crate) fn addresses() -> Vec<Address> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    let mut found: Vec<Address> = interfaces
        .filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP))
        .filter_map(|interface| {
            let address = interface.address.as_ref()?.as_sockaddr_in()?;
            Some(Address {
                ip: address.ip().octets(),
                is_loopback: interface.flags.contains(InterfaceFlags::IFF_LOOPBACK),
                is_multicast: interface.flags.contains(InterfaceFlags::IFF_MULTICAST),
            })
        })
        .collect();
    found.sort_by_key(|address| address.is_loopback);
    found.truncate(ADDRESSES_MAX);
    found
}
