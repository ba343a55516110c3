//! The remote endpoints of one kind, by identity and by topic, stored so that thousands of them cost little.
//!
//! Most endpoints of a domain have few topics, types and QoS among them and the address of their participant, so names
//! and QoS are shared and an address is kept only where it differs.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::data::EndpointData;
use crate::qos::Qos;
use crate::{EntityId, Guid, GuidPrefix, Locator};

/// What is known of a remote endpoint.
#[derive(Clone, Debug)]
pub struct RemoteEndpoint {
    topic: Arc<str>,
    type_name: Arc<str>,
    qos: Arc<Qos>,
    /// Where it is reached, when that is not its participant's default.
    pub(crate) address: Option<Box<OwnAddress>>,
}

/// An endpoint's own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnAddress {
    pub(crate) unicast: Option<Locator>,
    pub(crate) group: Option<Locator>,
}

impl RemoteEndpoint {
    /// Its topic.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Its quality of service.
    pub fn qos(&self) -> &Qos {
        &self.qos
    }

    /// Its quality of service, to be kept.
    pub(crate) fn shared_qos(&self) -> Arc<Qos> {
        Arc::clone(&self.qos)
    }
}

/// Remote endpoints of one kind.
#[derive(Debug, Default)]
pub(crate) struct RemoteEndpoints {
    by_guid: BTreeMap<Guid, RemoteEndpoint>,
    by_topic: BTreeMap<Arc<str>, BTreeSet<Guid>>,
}

impl RemoteEndpoints {
    pub(crate) fn len(&self) -> usize {
        self.by_guid.len()
    }

    pub(crate) fn contains(&self, guid: Guid) -> bool {
        self.by_guid.contains_key(&guid)
    }

    pub(crate) fn get(&self, guid: Guid) -> Option<&RemoteEndpoint> {
        self.by_guid.get(&guid)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Guid, &RemoteEndpoint)> {
        self.by_guid.iter().map(|(guid, endpoint)| (*guid, endpoint))
    }

    /// Those of one topic.
    pub(crate) fn of_topic(&self, topic: &str) -> impl Iterator<Item = Guid> + '_ {
        self.by_topic.get(topic).into_iter().flatten().copied()
    }

    /// Those of one participant.
    pub(crate) fn of_participant(&self, prefix: GuidPrefix) -> impl Iterator<Item = Guid> + '_ {
        let (first, last) = (Guid::new(prefix, EntityId([0; 4])), Guid::new(prefix, EntityId([0xff; 4])));
        self.by_guid.range(first..=last).map(|(guid, _)| *guid)
    }

    /// Adds an endpoint; one that was known is replaced.
    pub(crate) fn insert(&mut self, names: &mut Names, data: &EndpointData, address: Option<OwnAddress>) {
        self.remove(names, data.guid);
        let topic = names.share(&data.topic);
        self.by_topic.entry(Arc::clone(&topic)).or_default().insert(data.guid);
        let (type_name, qos) = (names.share(&data.type_name), names.share_qos(&data.qos));
        let address = address.map(Box::new);
        self.by_guid.insert(data.guid, RemoteEndpoint { topic, type_name, qos, address });
    }

    /// Forgets an endpoint; returns what was known of it.
    pub(crate) fn remove(&mut self, names: &mut Names, guid: Guid) -> Option<RemoteEndpoint> {
        let endpoint = self.by_guid.remove(&guid)?;
        if let Some(others) = self.by_topic.get_mut(&endpoint.topic) {
            others.remove(&guid);
            if others.is_empty() {
                self.by_topic.remove(&endpoint.topic);
            }
        }
        names.release(&endpoint);
        Some(endpoint)
    }
}

/// Names and QoS in use, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: BTreeSet<Arc<str>>,
    profiles: BTreeSet<Arc<Qos>>,
}

impl Names {
    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    fn share_qos(&mut self, qos: &Qos) -> Arc<Qos> {
        if let Some(known) = self.profiles.get(qos) {
            return Arc::clone(known);
        }
        let new = Arc::new(qos.clone());
        self.profiles.insert(Arc::clone(&new));
        new
    }

    /// Forgets what only this endpoint, which is being removed, still uses.
    fn release(&mut self, endpoint: &RemoteEndpoint) {
        const LAST: usize = 2;
        // A topic may bear the name of its type.
        let same = usize::from(Arc::ptr_eq(&endpoint.topic, &endpoint.type_name));
        for text in [&endpoint.topic, &endpoint.type_name] {
            if Arc::strong_count(text) <= LAST + same {
                self.texts.remove(text);
            }
        }
        if Arc::strong_count(&endpoint.qos) <= LAST {
            self.profiles.remove(&endpoint.qos);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::vec::Vec;

    fn endpoint(host: u8, key: u32, topic: &str) -> EndpointData {
        EndpointData {
            guid: Guid::new(GuidPrefix([host; 12]), EntityId::user_writer(key, false)),
            topic: topic.into(),
            type_name: "T".into(),
            qos: Qos::default(),
            unicast: Vec::new(),
            multicast: Vec::new(),
            expects_inline_qos: false,
        }
    }

    /// Endpoints are found by topic and participant, also after they changed their topic, and what they shared is
    /// forgotten with the last of them.
    #[test]
    fn endpoints_are_found_and_forgotten() {
        let (mut names, mut endpoints) = (Names::default(), RemoteEndpoints::default());
        for host in 1..=3 {
            for key in 0..4 {
                endpoints.insert(&mut names, &endpoint(host, key, &format!("t{key}")), None);
            }
        }
        assert_eq!((endpoints.len(), names.texts.len(), names.profiles.len()), (12, 5, 1));
        assert_eq!(endpoints.of_topic("t1").count(), 3);
        assert_eq!(endpoints.of_participant(GuidPrefix([2; 12])).count(), 4);
        endpoints.insert(&mut names, &endpoint(2, 1, "T"), None);
        assert_eq!((endpoints.of_topic("t1").count(), endpoints.of_topic("T").count()), (2, 1));
        let all: Vec<Guid> = endpoints.iter().map(|(guid, _)| guid).collect();
        for guid in all {
            assert!(
                endpoints.remove(&mut names, guid).is_some() && endpoints.remove(&mut names, guid).is_none()
            );
        }
        assert_eq!((endpoints.len(), endpoints.by_topic.len()), (0, 0));
        assert_eq!((names.texts.len(), names.profiles.len()), (0, 0));
    }
}
