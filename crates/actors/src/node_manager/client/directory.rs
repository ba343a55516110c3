//! The nodes that are known to serve, from their statuses.
//!
//! Pure.

use std::collections::BTreeMap;

use bus::{Data, Sample, TransportKind};
use rtps::Guid;

use crate::message::NmStatus;

/// Nodes by name with their last status and who published it.
#[derive(Debug, Default)]
pub(super) struct Directory {
    nodes: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    publisher: Guid,
    status: NmStatus,
    is_in_process: bool,
}

/// More nodes than this are not followed; their answers are still taken.
const NODES_MAX: usize = 200_000;

impl Directory {
    /// Takes a status; returns the node that left with it.
    ///
    /// A goodbye counts only when it comes from whoever spoke last for the node, so that a node manager that is
    /// replaced while it ends does not take its successor along. A node that falls silent without one stays
    /// expected, so that it is named as missing. Where a node manager in this process and another one elsewhere speak
    /// for one node, the one in this process is it.
    pub(super) fn apply(&mut self, sample: Sample<NmStatus>) -> Option<String> {
        match sample.data {
            Data::Valid(status) => {
                let is_in_process = sample.transport == TransportKind::InProcess;
                let has_room = self.nodes.len() < NODES_MAX || self.nodes.contains_key(&status.host);
                if has_room && (is_in_process || !self.is_in_process(&status.host)) {
                    let known = Known { publisher: sample.publisher, status, is_in_process };
                    self.nodes.insert(known.status.host.clone(), known);
                }
                None
            }
            Data::Disposed(Some(key)) | Data::Unregistered(Some(key)) => {
                if self.nodes.get(&key.host)?.publisher != sample.publisher {
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
        self.nodes.get(host).map(|known| &known.status)
    }

    /// Whether the node's manager is in this process.
    pub(super) fn is_in_process(&self, host: &str) -> bool {
        self.nodes.get(host).is_some_and(|known| known.is_in_process)
    }
}
