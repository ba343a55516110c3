//! What a participant and its endpoints share: a place in the process's engine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::{Engine, Member, is_bus_thread};

/// What a participant and its endpoints share; the last owner leaves the domain.
pub(crate) struct Core {
    pub(crate) engine: Arc<Engine>,
    pub(crate) member: Arc<Member>,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("prefix", &self.member.prefix).finish_non_exhaustive()
    }
}

impl Core {
    /// Runs `f` on the protocol machine and does what follows from it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut crate::engine::State) -> R) -> R {
        let mut state = self.member.lock();
        let result = f(&mut state);
        self.member.settle(&self.engine, state);
        result
    }
}

impl Core {
    /// Waits until reliable subscribers have heard what deleted publishers dispose of. Not on a bus thread, which has to
    /// hear that they have.
    fn finish_deletions(&self) {
        let end = node::clock::monotonic() + DELETIONS_MAX;
        while !is_bus_thread() && node::clock::monotonic() < end {
            if !self.with(|state| state.machine.is_deleting()) {
                return;
            }
            node::clock::sleep(DELETIONS_LOOK);
        }
    }
}

/// How long leaving the domain may wait; the protocol gives up before.
const DELETIONS_MAX: Duration = Duration::from_secs(3);
/// Usually one look is enough: no publisher disposes when it is deleted unless it was asked to.
const DELETIONS_LOOK: Duration = Duration::from_millis(1);

impl Drop for Core {
    fn drop(&mut self) {
        self.finish_deletions();
        self.with(|state| state.machine.close(node::clock::monotonic()));
        self.engine.remove_member(self.member.prefix);
        self.engine.leave(&self.member);
    }
}
