//! Who writes an instance, and who owns it when only one may (DDS 2.2.3.9.2).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::Guid;

/// The strength that each matched writer announced.
pub(super) type Strengths = BTreeMap<Guid, i32>;

/// The writers of one instance that have not said that they no longer write it, and its owner.
#[derive(Debug, Default)]
pub(super) struct Writers {
    /// In order of their identity; whether each kept its deadline.
    live: Vec<(Guid, bool)>,
    owner: Option<Guid>,
}

impl Writers {
    /// Notes that a writer writes the instance.
    pub(super) fn note(&mut self, writer: Guid) {
        match self.live.binary_search_by_key(&writer, |(known, _)| *known) {
            Ok(index) => {
                if let Some((_, is_timely)) = self.live.get_mut(index) {
                    *is_timely = true;
                }
            }
            Err(index) => self.live.insert(index, (writer, true)),
        }
    }

    /// Notes that a writer no longer writes the instance, which falls to the strongest of the others; true when it was
    /// one of the instance's writers.
    pub(super) fn remove(&mut self, writer: Guid, strengths: &Strengths) -> bool {
        let Ok(index) = self.live.binary_search_by_key(&writer, |(known, _)| *known) else { return false };
        self.live.remove(index);
        if self.owner == Some(writer) {
            self.elect(strengths);
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Whether a writer, noted before, owns the instance now that it writes: there is no owner, or no stronger one.
    pub(super) fn claim(&mut self, writer: Guid, strengths: &Strengths) -> bool {
        if self.owner.is_none_or(|owner| rank(writer, strengths) > rank(owner, strengths)) {
            self.owner = Some(writer);
        }
        self.owner == Some(writer)
    }

    /// The owner has missed its deadline: the instance falls to the strongest of the others, if any has written since.
    pub(super) fn depose(&mut self, strengths: &Strengths) {
        let late = self.live.iter_mut().find(|(writer, _)| Some(*writer) == self.owner);
        if let Some((_, is_timely)) = late {
            *is_timely = false;
        }
        self.elect(strengths);
    }

    fn elect(&mut self, strengths: &Strengths) {
        let timely = self.live.iter().filter(|(_, is_timely)| *is_timely).map(|(writer, _)| *writer);
        self.owner = timely.max_by_key(|writer| rank(*writer, strengths));
    }
}

/// The higher the stronger. Among equals the lowest identity wins, so that every reader has the same owner.
fn rank(writer: Guid, strengths: &Strengths) -> (i32, core::cmp::Reverse<Guid>) {
    (strengths.get(&writer).copied().unwrap_or(i32::MIN), core::cmp::Reverse(writer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntityId, GuidPrefix};

    /// The strongest writer that is there and in time owns the instance; equals are told apart by identity.
    #[test]
    fn the_strongest_owns() {
        let guid = |host| Guid::new(GuidPrefix([host; 12]), EntityId::user_writer(1, false));
        let strengths = Strengths::from([(guid(1), 5), (guid(2), 9), (guid(3), 9)]);
        let mut writers = Writers::default();
        let writes = |writers: &mut Writers, host| {
            writers.note(guid(host));
            writers.claim(guid(host), &strengths)
        };
        assert!(writes(&mut writers, 1));
        assert!(writes(&mut writers, 3) && !writes(&mut writers, 1));
        assert!(writes(&mut writers, 2) && !writes(&mut writers, 3));
        writers.depose(&strengths);
        assert!(writes(&mut writers, 3) && !writes(&mut writers, 1));
        assert!(writes(&mut writers, 2), "back in time");
        assert!(writers.remove(guid(2), &strengths) && writers.remove(guid(3), &strengths));
        assert!(!writers.remove(guid(3), &strengths) && !writers.is_empty());
        assert!(writes(&mut writers, 1));
    }
}
