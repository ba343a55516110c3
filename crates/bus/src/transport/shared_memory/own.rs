//! The rings of this process's writers. May touch: shared memory.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rtps::{Guid, Locator};

use super::mapping::{Mapping, Writable};
use super::ring::Writer;
use crate::engine::lock;
use crate::transport::Transport;
use crate::transport::bell::announce;

/// The ring of one writer.
#[derive(Debug)]
pub(crate) struct OwnRing {
    inner: Mutex<Inner>,
    file: OwnedFd,
}

#[derive(Debug)]
struct Inner {
    ring: Writer<Mapping<Writable>>,
    /// Of the processes that read it.
    bells: Arc<[Arc<PeerBell>]>,
}

/// The bell of another process.
pub(crate) type PeerBell = Mapping<AtomicU32>;

impl OwnRing {
    pub(crate) fn create(bytes: usize) -> io::Result<Self> {
        let (mapping, file) = Mapping::create(bytes)?;
        Ok(Self { inner: Mutex::new(Inner { ring: Writer::new(mapping), bells: Arc::new([]) }), file })
    }

    /// The file by which readers map it.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Wakes this process, too, from now on.
    pub(crate) fn add_bell(&self, bell: &Arc<PeerBell>) {
        let mut inner = lock(&self.inner);
        inner.bells = inner.bells.iter().chain([bell]).cloned().collect();
    }

    pub(crate) fn remove_bell(&self, bell: &Arc<PeerBell>) {
        let mut inner = lock(&self.inner);
        inner.bells = inner.bells.iter().filter(|other| !Arc::ptr_eq(other, bell)).cloned().collect();
    }

    /// Appends a datagram; returns the bells of those that read it.
    fn push(&self, bytes: &[u8]) -> io::Result<Arc<[Arc<PeerBell>]>> {
        let mut inner = lock(&self.inner);
        inner.ring.push(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(Arc::clone(&inner.bells))
    }
}

/// Rings of one process at most; the readers of further writers are sent to by UDP.
const RINGS_MAX: usize = 256;

/// The rings of this process's writers: those that another process has asked for.
#[derive(Debug, Default)]
pub(crate) struct OwnRings(RwLock<BTreeMap<Guid, Arc<OwnRing>>>);

impl OwnRings {
    pub(crate) fn get(&self, writer: Guid) -> Option<Arc<OwnRing>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&writer).cloned()
    }

    /// The writer's ring, made with an arena of so many bytes when there is none.
    pub(crate) fn get_or_create(&self, writer: Guid, bytes: usize) -> io::Result<Arc<OwnRing>> {
        if let Some(ring) = self.get(writer) {
            return Ok(ring);
        }
        let mut rings = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if rings.len() >= RINGS_MAX {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let ring = Arc::new(OwnRing::create(bytes)?);
        rings.insert(writer, Arc::clone(&ring));
        Ok(ring)
    }

    pub(crate) fn remove(&self, is_gone: impl Fn(Guid) -> bool) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|writer, _| !is_gone(*writer));
    }
}

impl Transport for OwnRings {
    fn reaches(&self, to: &Locator) -> bool {
        to.as_shared_memory().is_some_and(|writer| self.get(writer).is_some())
    }

    /// To the readers of this machine of the writer that `to` names. Without a ring there are none any more.
    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()> {
        let Some(writer) = to.as_shared_memory() else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        let rings = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(ring) = rings.get(&writer) else { return Ok(()) };
        let bells = ring.push(bytes)?;
        // Waking takes system calls, and under a lock there are none.
        drop(rings);
        bells.iter().for_each(|bell| announce(&**bell));
        Ok(())
    }
}
