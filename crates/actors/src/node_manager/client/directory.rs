//! The nodes that are known to serve, from their statuses.
//!
//! Pure.

use std::collections::BTreeMap;

use bus::{Data, Sample};
use rtps::Guid;

use crate::message::NmStatus;

/// Nodes by name with their last status and who published it.
#[derive(Debug, Default)]
pub(super) struct Directory {
    nodes: BTreeMap<String, (Guid, NmStatus)>,
}

/// More nodes than this are not followed; their answers are still taken.
const NODES_MAX: usize = 200_000;

impl Directory {
    /// Takes a status; returns the node that left with it.
    ///
    /// A goodbye counts only when it comes from whoever spoke last for the node, so that a node manager that is
    /// replaced while it ends does not take its successor along. A node that falls silent without one stays
    /// expected, so that it is named as missing.
    pub(super) fn apply(&mut self, sample: Sample<NmStatus>) -> Option<String> {
        match sample.data {
            Data::Valid(status) => {
                if self.nodes.len() < NODES_MAX || self.nodes.contains_key(&status.host) {
                    self.nodes.insert(status.host.clone(), (sample.publisher, status));
                }
                None
            }
            Data::Disposed(Some(key)) | Data::Unregistered(Some(key)) => {
                let (publisher, _) = self.nodes.get(&key.host)?;
                if *publisher != sample.publisher {
                    return None;
                }
                self.nodes.remove(&key.host).map(|_| key.host)
            }
            Data::Disposed(None) | Data::Unregistered(None) => None,
        }
    }

    pub(super) fn forget(&mut self, host: &str) {
        self.nodes.remove(host);
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn hosts(&self) -> Vec<String> {
        self.nodes.keys().cloned().collect()
    }

    pub(super) fn status(&self, host: &str) -> Option<&NmStatus> {
        self.nodes.get(host).map(|(_, status)| status)
    }
}
