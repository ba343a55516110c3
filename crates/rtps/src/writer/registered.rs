//! The instances that a writer has written and not unregistered, to dispose of them when it is deleted (DDS 2.2.3.21).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::cdr::KeyHash;
use crate::message::StatusInfo;

/// Makes the serialized key of a serialized sample, as a dispose carries it; each with its encapsulation header.
///
/// Not every reader knows an instance by the hash of its key.
#[derive(Clone)]
pub struct KeySerializer(pub Arc<SerializeKey>);

/// The function inside a [`KeySerializer`]: `None` when the bytes are no sample of the type.
pub type SerializeKey = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

impl fmt::Debug for KeySerializer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySerializer")
    }
}

/// The instances with their serialized keys.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    keys: BTreeMap<KeyHash, Vec<u8>>,
    serializer: Option<KeySerializer>,
}

impl Registered {
    pub(crate) fn set_serializer(&mut self, serializer: KeySerializer) {
        self.serializer = Some(serializer);
    }

    /// Notes a change of an instance; beyond `max` instances, further ones are not.
    pub(crate) fn note(&mut self, instance: KeyHash, status: StatusInfo, payload: &[u8], max: usize) {
        if status.unregistered {
            self.keys.remove(&instance);
        } else if !self.keys.contains_key(&instance) && self.keys.len() < max {
            let serialize = |serializer: &KeySerializer| (serializer.0)(payload);
            let key = match status.disposed {
                true => Some(payload.to_vec()),
                false => self.serializer.as_ref().and_then(serialize),
            };
            self.keys.insert(instance, key.unwrap_or_default());
        }
    }

    /// What is left to dispose of: instances and serialized keys, which are empty when nobody could make them.
    pub(crate) fn into_keys(self) -> BTreeMap<KeyHash, Vec<u8>> {
        self.keys
    }
}
