//! What a local endpoint has counted: the communication statuses of DDS (2.2.4.1).

use alloc::collections::BTreeMap;

use crate::cdr::KeyHash;
use crate::qos::Policy;

/// Why a reader refused a sample that had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectReason {
    /// It has as many instances as its limits allow.
    Instances,
    /// It has as many samples as its limits allow, and the writer is not asked to wait.
    Samples,
    /// It is larger than [`crate::Limits::sample_bytes_max`].
    TooLarge,
    /// It has no key of the reader's type.
    NoKey,
}

/// Counts of one local endpoint since it was made. They only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Deadlines missed, one for each instance and period: of a reader those that its writers did not keep, of a
    /// writer those that its application did not.
    pub deadline_missed: u64,
    /// The instance that missed its deadline last; `None` before, and for a topic without a key.
    pub deadline_missed_last: Option<KeyHash>,
    /// Samples that a reader will never get.
    pub samples_lost: u64,
    /// Samples that a reader refused.
    pub samples_rejected: u64,
    /// Why it refused the last of them.
    pub rejected_last: Option<RejectReason>,
    /// Samples that a reader did not hand out because its filter or its QoS says so: not met by the filter, expired, too soon after another, not of the
    /// owner, or older than what was handed out.
    pub samples_filtered: u64,
    /// How often a remote endpoint was found whose QoS does not fit, by policy.
    pub incompatible: BTreeMap<Policy, u64>,
    /// How often a remote endpoint was found that does not fit for at least one policy.
    pub incompatible_total: u64,
    /// How often a remote endpoint of the same topic was found that has another type.
    pub inconsistent_type: u64,
}

impl EndpointStatus {
    pub(crate) fn note_incompatible(&mut self, policies: &[Policy]) {
        self.incompatible_total += 1;
        for policy in policies {
            *self.incompatible.entry(*policy).or_default() += 1;
        }
    }
}
