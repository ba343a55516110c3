//! The IPv4 addresses of this machine. May touch: the kernel's interface list.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// One IPv4 address of an interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) name: String,
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
                name: interface.interface_name.clone(),
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

/// The addresses that a list of interface names and addresses allows, each once; all of them when the list is empty.
pub(crate) fn allowed(found: &[Address], interfaces: &[String]) -> Vec<Address> {
    let is_meant = |address: &Address, interface: &String| {
        *interface == address.name || interface.parse() == Ok(IpAddr::from(address.ip))
    };
    let is_allowed =
        |address: &&Address| interfaces.is_empty() || interfaces.iter().any(|one| is_meant(address, one));
    found.iter().filter(is_allowed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and addresses allow what they name, once each, and a list that names nothing here allows nothing.
    #[test]
    fn a_list_allows_only_what_it_names() {
        let address =
            |name: &str, ip| Address { name: name.into(), ip, is_loopback: false, is_multicast: true };
        let found =
            [address("ib0", [10, 0, 0, 1]), address("eth0", [192, 0, 2, 7]), address("lo", [127, 0, 0, 1])];
        let names = |interfaces: &[&str]| {
            let interfaces: Vec<String> = interfaces.iter().map(|one| (*one).to_string()).collect();
            allowed(&found, &interfaces).into_iter().map(|address| address.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["ib0", "eth0", "lo"]);
        assert_eq!(names(&["lo", "ib0", "10.0.0.1"]), ["ib0", "lo"]);
        assert!(names(&["eth9", "198.51.100.7"]).is_empty());
    }
}
