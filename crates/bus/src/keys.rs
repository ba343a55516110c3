//! The keys of the instances a subscriber has seen.
//!
//! Some publishers end an instance with only a hash of its key. What the hash stands for is known from the instance's
//! earlier samples.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rtps::cdr::{KeyHash, Representation};
use rtps::types::{DynamicValue, StructType};
use rtps::{KeySerializer, RawSample};

/// A serialized key is padded to this many octets: Fast DDS takes a shorter one, encapsulation header included, for a
/// key hash and does not find the instance.
const KEY_PAYLOAD_MIN: usize = 20;

/// Makes a serialized key as long as every peer needs it.
pub(crate) fn pad_key(payload: &mut Vec<u8>) {
    payload.resize(payload.len().max(KEY_PAYLOAD_MIN), 0);
}

/// What a publisher's machine makes serialized keys by.
pub(crate) fn key_serializer(structure: Arc<StructType>, representation: Representation) -> KeySerializer {
    KeySerializer(Arc::new(move |payload| {
        let (value, mut key) = (DynamicValue::from_payload(&structure, payload).ok()?, Vec::new());
        value.key_to_payload_in(representation, &mut key).ok()?;
        pad_key(&mut key);
        Some(key)
    }))
}

/// Serialized keys by their hash, bounded: see [`KEYS_MAX`] and [`BYTES_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    keys: BTreeMap<KeyHash, Key>,
    /// The instances by age: when each was first seen, as a count.
    ages: BTreeMap<u64, KeyHash>,
    count: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Key {
    age: u64,
    payload: Vec<u8>,
}

/// Instances remembered. The one first seen longest ago gives way; its end is told without its key when the publisher
/// sends only a hash.
const KEYS_MAX: usize = 65_536;
/// Bytes of serialized keys remembered, with the same effect: keys may be long strings.
const BYTES_MAX: usize = 16 << 20;

impl Keys {
    /// Remembers the key of a sample's instance, serialized by `key` when it is new.
    pub(crate) fn remember(&self, sample: &RawSample, key: impl FnOnce(&mut Vec<u8>) -> bool) {
        let Some(instance) = sample.instance else { return };
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !memory.keys.contains_key(&instance) {
            let mut payload = Vec::new();
            if key(&mut payload) {
                memory.insert(instance, payload);
            }
        }
    }

    /// The serialized key of an instance that ends: the sample's own, else the one remembered. Forgets it when the
    /// publisher is done with it; after a dispose, which may be followed by that, it does not.
    pub(crate) fn ending(&self, sample: &RawSample) -> Option<Vec<u8>> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = sample.instance.and_then(|hash| match sample.status.unregistered {
            true => memory.remove(&hash),
            false => memory.keys.get(&hash).map(|key| key.payload.clone()),
        });
        if sample.payload.is_empty() { remembered } else { Some(sample.payload.clone()) }
    }
}

impl Memory {
    fn insert(&mut self, instance: KeyHash, payload: Vec<u8>) {
        if payload.len() > BYTES_MAX {
            return;
        }
        while self.keys.len() >= KEYS_MAX || self.bytes + payload.len() > BYTES_MAX {
            let Some((_, oldest)) = self.ages.first_key_value() else { break };
            let oldest = *oldest;
            self.remove(&oldest);
        }
        self.count += 1;
        self.bytes += payload.len();
        self.ages.insert(self.count, instance);
        self.keys.insert(instance, Key { age: self.count, payload });
    }

    fn remove(&mut self, instance: &KeyHash) -> Option<Vec<u8>> {
        let key = self.keys.remove(instance)?;
        self.ages.remove(&key.age);
        self.bytes -= key.payload.len();
        Some(key.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtps::message::StatusInfo;
    use rtps::{Guid, Locator, SequenceNumber};

    fn sample(instance: u32, status: StatusInfo) -> RawSample {
        let mut hash = [0; 16];
        hash[..4].copy_from_slice(&instance.to_be_bytes());
        let numbered = (Guid::default(), SequenceNumber::FIRST);
        RawSample::ending(numbered, None, Some(KeyHash(hash)), status, Locator::IN_PROCESS)
    }

    fn remember(keys: &Keys, instance: u32, length: usize) {
        keys.remember(&sample(instance, StatusInfo::default()), |payload| {
            payload.resize(length, 7);
            true
        });
    }

    const DISPOSED: StatusInfo = StatusInfo { disposed: true, unregistered: false };
    const UNREGISTERED: StatusInfo = StatusInfo { disposed: false, unregistered: true };

    /// A publisher that disposes and then unregisters an instance by hash alone is understood both times.
    #[test]
    fn a_key_outlives_its_disposal() {
        let keys = Keys::default();
        remember(&keys, 1, 8);
        assert!(keys.ending(&sample(1, DISPOSED)).is_some());
        assert!(keys.ending(&sample(1, UNREGISTERED)).is_some());
        assert!(keys.ending(&sample(1, UNREGISTERED)).is_none());
    }

    /// However many and however long the keys are, memory stays bounded and the newest are known.
    #[test]
    fn memory_is_bounded() {
        let keys = Keys::default();
        (0..200).for_each(|instance| remember(&keys, instance, 1 << 20));
        assert!(keys.0.lock().unwrap().bytes <= BYTES_MAX);
        assert!(keys.ending(&sample(0, DISPOSED)).is_none() && keys.ending(&sample(199, DISPOSED)).is_some());
        remember(&keys, 500, BYTES_MAX + 1);
        assert!(keys.ending(&sample(500, DISPOSED)).is_none());
        let most = u32::try_from(KEYS_MAX).unwrap();
        (1000..1000 + most + 5).for_each(|instance| remember(&keys, instance, 4));
        let memory = keys.0.lock().unwrap();
        assert_eq!((memory.keys.len(), memory.ages.len()), (KEYS_MAX, KEYS_MAX));
    }
}
