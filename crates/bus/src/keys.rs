//! The keys of the instances a subscriber has seen.
//!
//! Some publishers end an instance with only a hash of its key. What the hash stands for is known from the instance's
//! earlier samples.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rtps::RawSample;
use rtps::cdr::KeyHash;

/// Serialized keys by their hash, bounded: see [`KEYS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<KeyHash, Vec<u8>>>);

/// Instances remembered; the end of a further one is told without its key when the publisher sends only a hash.
const KEYS_MAX: usize = 65_536;

impl Keys {
    /// Remembers the key of a sample's instance, serialized by `key` when it is new.
    pub(crate) fn remember(&self, sample: &RawSample, key: impl FnOnce(&mut Vec<u8>) -> bool) {
        let Some(instance) = sample.instance else { return };
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() < KEYS_MAX && !keys.contains_key(&instance) {
            let mut payload = Vec::new();
            if key(&mut payload) {
                keys.insert(instance, payload);
            }
        }
    }

    /// The serialized key that ends an instance: the sample's own, else the one remembered. Forgets it.
    pub(crate) fn ending(&self, sample: &RawSample) -> Option<Vec<u8>> {
        let remembered = sample
            .instance
            .and_then(|hash| self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash));
        if sample.payload.is_empty() { remembered } else { Some(sample.payload.clone()) }
    }
}
