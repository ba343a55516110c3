//! What a participant and its endpoints share: a place in the process's engine.

use std::fmt;
use std::sync::Arc;

use crate::engine::{Engine, Member};

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

impl Drop for Core {
    fn drop(&mut self) {
        self.with(|state| state.machine.close(node::clock::monotonic()));
        self.engine.remove_member(self.member.prefix);
        self.engine.leave(&self.member);
    }
}
