//! Where a writer sends what concerns all its readers: as few addresses as reach every one of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::proxy::ReaderAddress;
use crate::Locator;

/// Each address that has a reader, once. A group takes the place of the unicast addresses behind it when there are at
/// least `multicast_min` of them; a route within the machine takes the place of both.
pub(super) fn destinations<'a>(
    addresses: impl Iterator<Item = &'a ReaderAddress> + Clone,
    multicast_min: Option<usize>,
) -> Vec<Locator> {
    let mut groups: BTreeMap<Locator, BTreeSet<Locator>> = BTreeMap::new();
    for address in addresses.clone().filter(|address| address.route.is_none()) {
        if let Some(group) = address.group {
            groups.entry(group).or_default().extend(&address.unicast);
        }
    }
    groups.retain(|_, behind| multicast_min.is_some_and(|least| behind.len() >= least));
    let mut known = BTreeSet::new();
    let mut chosen = Vec::new();
    for address in addresses {
        let group = address.group.filter(|group| groups.contains_key(group));
        let to = match address.route.or(group) {
            Some(one) => core::slice::from_ref(&one).to_vec(),
            None => address.unicast.clone(),
        };
        chosen.extend(to.into_iter().filter(|locator| known.insert(*locator)));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Guid;
    use std::vec;

    const GROUP: Locator = Locator::udp_v4([239, 255, 64, 1], 7401);

    fn reader(host: u8, group: Option<Locator>, route: Option<Locator>) -> ReaderAddress {
        let unicast = vec![Locator::udp_v4([10, 0, 0, host], 7411)];
        ReaderAddress { unicast, group, route }
    }

    /// A group is used when enough machines listen to it, and only for those that do; a route goes before it.
    #[test]
    fn few_addresses_reach_every_reader() {
        let unicast = |host| Locator::udp_v4([10, 0, 0, host], 7411);
        let shared = Locator::shared_memory(Guid::default());
        let two = [reader(1, Some(GROUP), None), reader(2, Some(GROUP), None), reader(2, Some(GROUP), None)];
        assert_eq!(destinations(two.iter(), Some(3)), [unicast(1), unicast(2)]);
        assert_eq!(destinations(two.iter(), Some(2)), [GROUP]);
        assert_eq!(destinations(two.iter(), None), [unicast(1), unicast(2)]);
        let mixed = [
            reader(1, Some(GROUP), None),
            reader(2, Some(GROUP), None),
            reader(3, Some(GROUP), None),
            reader(4, None, None),
            reader(5, Some(GROUP), Some(shared)),
            reader(6, None, Some(shared)),
        ];
        assert_eq!(destinations(mixed.iter(), Some(3)), [GROUP, unicast(4), shared]);
        let unicasts = [unicast(1), unicast(2), unicast(3), unicast(4), shared];
        assert_eq!(destinations(mixed.iter(), Some(4)), unicasts);
    }
}
