//! A participant that begins anew with the identity of its former life, as programs in containers do that derive it
//! from their process number.
//!
//! Its built-in endpoints count their messages and changes from the start again. What counts backwards is otherwise a
//! datagram that was overtaken, but none is overtaken by seconds.

use units::Instant;

use crate::GuidPrefix;
use crate::event::LostReason;
use crate::participant::Participant;

/// A message that counts backwards is from a new life when it comes this long after the last one that did not.
pub(crate) const OVERTAKEN_MAX: core::time::Duration = core::time::Duration::from_secs(1);

impl Participant {
    /// Forgets the former life of a participant and begins with the new one, which has addressed us.
    pub(crate) fn start_anew(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(known) = self.remote.participants.get(&prefix) else { return };
        let (announced, from) = (known.data.clone(), known.metatraffic.first().copied());
        self.forget_participant(prefix, LostReason::Restarted);
        if let Some(from) = from {
            self.welcome(now, (from, 0), announced);
            self.confirm_participant(now, prefix);
        }
    }
}
