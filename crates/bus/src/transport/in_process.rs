//! Datagrams between participants of one process: a bounded queue, no socket.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use rtps::Locator;

use super::Transport;
use crate::engine::lock;

/// A datagram on its way within the process.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Queue {
    parcels: VecDeque<Parcel>,
    spare: Vec<Parcel>,
}

/// Datagrams waiting at most. Further ones are refused, as a full socket buffer would.
const PARCELS_MAX: usize = 4096;
/// Buffers kept for reuse.
const SPARE_MAX: usize = 64;
/// A buffer larger than this is not kept.
const SPARE_BYTES_MAX: usize = 128 << 10;

/// The in-process transport: reaches the locators at which this process itself listens.
#[derive(Debug, Default)]
pub(crate) struct InProcess {
    own: std::sync::RwLock<Vec<Locator>>,
    queue: Mutex<Queue>,
}

impl InProcess {
    pub(crate) fn add_own(&self, locators: impl IntoIterator<Item = Locator>) {
        self.own.write().unwrap_or_else(PoisonError::into_inner).extend(locators);
    }

    pub(crate) fn remove_own(&self, locators: &[Locator]) {
        self.own.write().unwrap_or_else(PoisonError::into_inner).retain(|own| !locators.contains(own));
    }

    /// The next datagram, if there is one.
    pub(crate) fn receive(&self) -> Option<Parcel> {
        lock(&self.queue).parcels.pop_front()
    }

    /// Takes a parcel's buffer back.
    pub(crate) fn recycle(&self, mut parcel: Parcel) {
        let mut queue = lock(&self.queue);
        if queue.spare.len() < SPARE_MAX && parcel.bytes.capacity() <= SPARE_BYTES_MAX {
            parcel.bytes.clear();
            queue.spare.push(parcel);
        }
    }
}

impl Transport for InProcess {
    fn reaches(&self, to: &Locator) -> bool {
        self.own.read().unwrap_or_else(PoisonError::into_inner).contains(to)
    }

    fn send(&self, _to: &Locator, bytes: &[u8]) -> io::Result<()> {
        let mut queue = lock(&self.queue);
        if queue.parcels.len() >= PARCELS_MAX {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut parcel = queue.spare.pop().unwrap_or_default();
        parcel.bytes.extend_from_slice(bytes);
        queue.parcels.push_back(parcel);
        Ok(())
    }
}
