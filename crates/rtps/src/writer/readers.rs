//! The remote readers of one writer, and how far the slowest of them has come.

use alloc::collections::BTreeMap;

use super::proxy::{ReaderAddress, ReaderProxy};
use crate::{Guid, SequenceNumber};

/// Matched readers by identity. Every operation costs at most the logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct Readers {
    proxies: BTreeMap<Guid, ReaderProxy>,
    /// How many reliable readers have acknowledged exactly up to a number.
    positions: BTreeMap<SequenceNumber, usize>,
}

impl Readers {
    pub(super) fn insert(&mut self, proxy: ReaderProxy) {
        if proxy.reliable {
            *self.positions.entry(proxy.acknowledged()).or_default() += 1;
        }
        self.proxies.insert(proxy.guid, proxy);
    }

    /// Removes a reader; true when it was there.
    pub(super) fn remove(&mut self, guid: Guid) -> bool {
        let Some(proxy) = self.proxies.remove(&guid) else { return false };
        if proxy.reliable {
            self.leave(proxy.acknowledged());
        }
        true
    }

    fn leave(&mut self, position: SequenceNumber) {
        let Some(count) = self.positions.get_mut(&position) else { return };
        *count -= 1;
        if *count == 0 {
            self.positions.remove(&position);
        }
    }

    pub(super) fn contains(&self, guid: Guid) -> bool {
        self.proxies.contains_key(&guid)
    }

    pub(super) fn get(&self, guid: Guid) -> Option<&ReaderProxy> {
        self.proxies.get(&guid)
    }

    pub(super) fn get_mut(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        self.proxies.get_mut(&guid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ReaderProxy> + Clone {
        self.proxies.values()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &ReaderAddress> + Clone {
        self.proxies.values().map(|proxy| &proxy.address)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ReaderProxy> {
        self.proxies.values_mut()
    }

    pub(super) fn has_reliable(&self) -> bool {
        !self.positions.is_empty()
    }

    /// What every reliable reader has acknowledged; `None` without one.
    pub(super) fn lowest(&self) -> Option<SequenceNumber> {
        self.positions.keys().next().copied()
    }

    /// Notes how far a reader has come; true when that is further than before.
    pub(super) fn note_acknowledged(&mut self, guid: Guid, acknowledged: SequenceNumber) -> bool {
        let Some(proxy) = self.proxies.get_mut(&guid) else { return false };
        let before = proxy.acknowledged();
        if !proxy.note_acknowledged(acknowledged) {
            return false;
        }
        if proxy.reliable {
            *self.positions.entry(acknowledged).or_default() += 1;
            self.leave(before);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntityId, GuidPrefix};

    /// The slowest reliable reader is known whatever joins, moves and leaves.
    #[test]
    fn the_slowest_reader_is_known() {
        let guid = |host| Guid::new(GuidPrefix([host; 12]), EntityId::user_reader(1, false));
        let proxy = |host, reliable, start| {
            ReaderProxy::new(guid(host), ReaderAddress::default(), reliable, SequenceNumber(start))
        };
        let mut readers = Readers::default();
        assert_eq!(readers.lowest(), None);
        readers.insert(proxy(1, true, 1));
        readers.insert(proxy(2, true, 5));
        readers.insert(proxy(3, false, 1));
        assert_eq!(readers.lowest(), Some(SequenceNumber(0)));
        assert!(readers.note_acknowledged(guid(1), SequenceNumber(9)));
        assert!(!readers.note_acknowledged(guid(1), SequenceNumber(8)));
        assert_eq!(readers.lowest(), Some(SequenceNumber(4)));
        assert!(readers.remove(guid(2)) && !readers.remove(guid(2)));
        assert_eq!(readers.lowest(), Some(SequenceNumber(9)));
        assert!(readers.remove(guid(1)) && !readers.has_reliable());
    }
}
