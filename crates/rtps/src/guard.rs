//! What may be sent to an address that has not shown that it hears us.
//!
//! An announcement names the addresses to answer at, and anybody can forge one: without a bound, a small datagram would
//! make us flood whomever it names. To such an address go at most three times the octets that were received on its behalf,
//! and one reply a second, until its participant answers something that only a receiver of ours can know.

use alloc::collections::BTreeMap;
use core::time::Duration;
use units::Instant;

use crate::Locator;

/// Octets sent for each octet received.
const FACTOR: usize = 3;
/// Time between two replies.
const REPLY_PERIOD: Duration = Duration::from_secs(1);

/// Addresses on probation, and those of participants that have answered.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    suspects: BTreeMap<Locator, Suspect>,
    /// How many participants that have answered are reached there.
    trusted: BTreeMap<Locator, usize>,
}

#[derive(Debug)]
struct Suspect {
    /// How many participants that have not answered are reached there.
    participants: usize,
    allowance: usize,
    may_reply_at: Instant,
}

impl Guard {
    /// A participant that has not answered is reached at these addresses.
    pub(crate) fn suspect(&mut self, locators: &[Locator]) {
        for locator in locators {
            let new = Suspect { participants: 0, allowance: 0, may_reply_at: Instant::ZERO };
            self.suspects.entry(*locator).or_insert(new).participants += 1;
        }
    }

    /// It was received so many octets from that participant.
    pub(crate) fn allow(&mut self, locators: &[Locator], octets: usize) {
        for locator in locators {
            if let Some(suspect) = self.suspects.get_mut(locator) {
                suspect.allowance = suspect.allowance.saturating_add(octets.saturating_mul(FACTOR));
            }
        }
    }

    /// That participant is gone, or has answered.
    pub(crate) fn clear(&mut self, locators: &[Locator]) {
        for locator in locators {
            let Some(suspect) = self.suspects.get_mut(locator) else { continue };
            suspect.participants = suspect.participants.saturating_sub(1);
            if suspect.participants == 0 {
                self.suspects.remove(locator);
            }
        }
    }

    /// A participant at these addresses has answered.
    pub(crate) fn trust(&mut self, locators: &[Locator]) {
        for locator in locators {
            *self.trusted.entry(*locator).or_default() += 1;
        }
    }

    /// That participant is gone.
    pub(crate) fn distrust(&mut self, locators: &[Locator]) {
        for locator in locators {
            let Some(count) = self.trusted.get_mut(locator) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.trusted.remove(locator);
            }
        }
    }

    /// Whether a datagram of so many octets may go there now; counts it if so.
    pub(crate) fn may_send(&mut self, now: Instant, to: &Locator, octets: usize) -> bool {
        let Some(suspect) = self.suspects.get_mut(to) else { return true };
        if self.trusted.contains_key(to) {
            return true;
        }
        if now < suspect.may_reply_at || suspect.allowance < octets {
            return false;
        }
        suspect.allowance -= octets;
        suspect.may_reply_at = now + REPLY_PERIOD;
        true
    }

    /// Whether nobody is on probation.
    pub(crate) fn is_idle(&self) -> bool {
        self.suspects.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: [Locator; 1] = [Locator::udp_v4([10, 0, 0, 9], 7410)];

    /// An address on probation gets three times what came on its behalf, once a second, whatever others there do, and
    /// everything once a participant there has answered.
    #[test]
    fn probation_is_bounded() {
        let mut guard = Guard::default();
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let to = &ADDRESS[0];
        assert!(guard.is_idle() && guard.may_send(at(1), to, 1_000_000));
        guard.suspect(&ADDRESS);
        guard.allow(&ADDRESS, 100);
        assert!(!guard.may_send(at(1), to, 301));
        assert!(guard.may_send(at(1), to, 200));
        assert!(!guard.may_send(at(1), to, 100), "one reply a second");
        assert!(guard.may_send(at(2), to, 100));
        assert!(!guard.may_send(at(3), to, 1), "three times what came");
        // A second participant at the same address: a forger does not gain by inventing many.
        guard.suspect(&ADDRESS);
        guard.allow(&ADDRESS, 10);
        assert!(guard.may_send(at(4), to, 30) && !guard.may_send(at(5), to, 1));
        guard.trust(&ADDRESS);
        guard.clear(&ADDRESS);
        assert!(guard.may_send(at(5), to, 1_000_000));
        guard.distrust(&ADDRESS);
        assert!(!guard.may_send(at(6), to, 1), "the other one has not answered");
        guard.clear(&ADDRESS);
        assert!(guard.is_idle());
    }
}
