//! The addresses of this machine. May touch: the kernel's interface list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// One address of an interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) name: String,
    pub(crate) ip: IpAddr,
    /// The interface's number, known for IPv6 only.
    pub(crate) index: u32,
    pub(crate) is_loopback: bool,
    /// The interface says that it can do multicast.
    pub(crate) is_multicast: bool,
}

impl Address {
    pub(crate) fn v4(&self) -> Option<Ipv4Addr> {
        match self.ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        }
    }

    pub(crate) fn v6(&self) -> Option<Ipv6Addr> {
        match self.ip {
            IpAddr::V4(_) => None,
            IpAddr::V6(ip) => Some(ip),
        }
    }

    fn is_link_local(&self) -> bool {
        self.v6().is_some_and(|ip| ip.is_unicast_link_local())
    }
}

/// Addresses of one family announced at most; more would only repeat the same machine.
const ADDRESSES_MAX: usize = 8;

/// The addresses of all interfaces that are up, IPv4 before IPv6, loopback last in each. Empty when the kernel does not
/// say.
pub(crate) fn addresses() -> Vec<Address> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    let up = interfaces.filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP));
    let found = up.filter_map(|interface| {
        let address = interface.address.as_ref()?;
        let (ip, index) = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => (IpAddr::V4(v4.ip()), 0),
            (None, Some(v6)) => (IpAddr::V6(v6.ip()), index_of(&interface.interface_name)),
            (None, None) => return None,
        };
        Some(Address {
            name: interface.interface_name.clone(),
            ip,
            index,
            is_loopback: interface.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            is_multicast: interface.flags.contains(InterfaceFlags::IFF_MULTICAST),
        })
    });
    arrange(found.collect())
}

fn index_of(name: &str) -> u32 {
    nix::net::if_::if_nametoindex(name).unwrap_or(0)
}

/// Sorts them, and leaves out what nobody needs: link-local IPv6 addresses mean something on one wire only, and a
/// locator does not say which, so they are used where there are no others.
fn arrange(mut found: Vec<Address>) -> Vec<Address> {
    let has_global = found.iter().any(|one| one.ip.is_ipv6() && !one.is_link_local() && !one.is_loopback);
    found.retain(|one| !(has_global && one.is_link_local()));
    found.sort_by_key(|one| (one.ip.is_ipv6(), one.is_loopback));
    let mut count = [0; 2];
    found.retain(|one| {
        let [v4, v6] = &mut count;
        let of_family = if one.ip.is_ipv4() { v4 } else { v6 };
        *of_family += 1;
        *of_family <= ADDRESSES_MAX
    });
    found
}

/// The addresses that a list of interface names and addresses allows, each once; all of them when the list is empty.
pub(crate) fn allowed(found: &[Address], interfaces: &[String]) -> Vec<Address> {
    let is_meant = |address: &Address, interface: &String| {
        *interface == address.name || interface.parse() == Ok(address.ip)
    };
    let is_allowed =
        |address: &&Address| interfaces.is_empty() || interfaces.iter().any(|one| is_meant(address, one));
    found.iter().filter(is_allowed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str, ip: &str) -> Address {
        let ip: IpAddr = ip.parse().unwrap();
        Address { name: name.into(), ip, index: 0, is_loopback: ip.is_loopback(), is_multicast: true }
    }

    /// Names and addresses allow what they name, once each, and a list that names nothing here allows nothing.
    #[test]
    fn a_list_allows_only_what_it_names() {
        let found = [address("ib0", "10.0.0.1"), address("eth0", "192.0.2.7"), address("lo", "127.0.0.1")];
        let names = |interfaces: &[&str]| {
            let interfaces: Vec<String> = interfaces.iter().map(|one| (*one).to_string()).collect();
            allowed(&found, &interfaces).into_iter().map(|address| address.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["ib0", "eth0", "lo"]);
        assert_eq!(names(&["lo", "ib0", "10.0.0.1"]), ["ib0", "lo"]);
        assert!(names(&["eth9", "198.51.100.7"]).is_empty());
    }

    /// IPv4 comes first, loopback last, and link-local addresses only where there is no better one.
    #[test]
    fn addresses_are_sorted_by_use() {
        let ips = |found: &[&str]| {
            let found = found.iter().map(|ip| address("any", ip)).collect();
            arrange(found).into_iter().map(|one| one.ip.to_string()).collect::<Vec<_>>()
        };
        let all = ["::1", "fe80::1", "2001:db8::1", "127.0.0.1", "10.0.0.1"];
        assert_eq!(ips(&all), ["10.0.0.1", "127.0.0.1", "2001:db8::1", "::1"]);
        assert_eq!(ips(&["::1", "fe80::1"]), ["fe80::1", "::1"]);
        assert_eq!(ips(&vec!["2001:db8::1"; 20]).len(), 8);
    }
}
