//! Which interfaces of a machine a list leaves.

use std::net::IpAddr;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceAddress {
    /// The interface's name.
    pub name: String,
    /// The address.
    pub address: IpAddr,
}

/// None of the interfaces that a list names is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "none of the interfaces {} is here, only {}: nothing can be sent or received by this transport; name another, or \
     none to use all",
    list.join(", "),
    present.join(", ")
)]
pub struct NoInterface {
    /// The list.
    pub list: Vec<String>,
    /// The interfaces that are here.
    pub present: Vec<String>,
}

/// The interfaces that `list` names, by name or address, each address once and in the order of the machine. An empty
/// list names all.
///
/// # Errors
/// When the list names some, but none is here: all others stay unused.
pub fn select_interfaces<'a>(
    list: &[String],
    present: &'a [InterfaceAddress],
) -> Result<Vec<&'a InterfaceAddress>, NoInterface> {
    let is_named = |interface: &InterfaceAddress| {
        list.iter().any(|entry| {
            *entry == interface.name
                || entry.parse::<IpAddr>().is_ok_and(|address| address == interface.address)
        })
    };
    let mut selected: Vec<&InterfaceAddress> = Vec::new();
    for interface in present {
        if (list.is_empty() || is_named(interface)) && !selected.contains(&interface) {
            selected.push(interface);
        }
    }
    if selected.is_empty() && !list.is_empty() {
        let present = present.iter().map(|interface| format!("{} ({})", interface.name, interface.address));
        return Err(NoInterface { list: list.to_vec(), present: present.collect() });
    }
    Ok(selected)
}
