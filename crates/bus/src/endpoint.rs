//! What publishers and subscribers share: an endpoint of the machine that is deleted with its handle.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rtps::cdr::{KeyHash, Representation};
use rtps::discovery::data::EndpointData;
use rtps::filter::Filter;
use rtps::message::StatusInfo;
use rtps::qos::Qos;
use rtps::types::StructType;
use rtps::types::object::{TypeInformation, TypeObjectError};
use rtps::{
    EndpointConfig, EndpointStatus, EntityId, Guid, KeyHasher, RawSample, WireTime, WriteError, WriteSample,
};

use crate::config::EndpointRequest;
use crate::core::Core;
use crate::engine::{Hooks, is_bus_thread};
use crate::keys::key_serializer;
use crate::sample::Matched;
use crate::transport::Note;
use crate::{CreateError, PublishError};

/// One writer or reader of the machine.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) core: Arc<Core>,
    pub(crate) entity: EntityId,
    pub(crate) topic: String,
    hooks: Arc<Hooks>,
    max_blocking: Duration,
    /// Whether it listens to its topic's multicast group.
    has_group: bool,
}

fn check(core: &Core, config: &EndpointConfig) -> Result<(), CreateError> {
    let data = EndpointData {
        guid: Guid::new(core.member.prefix, EntityId::PARTICIPANT),
        topic: config.topic.clone(),
        type_name: config.type_name.clone(),
        qos: config.qos.clone(),
        unicast: Vec::new(),
        multicast: Vec::new(),
        expects_inline_qos: false,
    };
    data.check().map_err(|source| CreateError::Bound { topic: config.topic.clone(), source })
}

impl Endpoint {
    /// A writer that writes in `representation`, of a type that `structure` describes.
    pub(crate) fn writer(
        core: &Arc<Core>,
        config: EndpointConfig,
        representation: Representation,
        structure: impl FnOnce() -> Arc<StructType>,
    ) -> Result<Self, CreateError> {
        check(core, &config)?;
        let needs_keys = config.is_keyed && config.qos.autodispose_unregistered_instances;
        let serializer = needs_keys.then(|| key_serializer(structure(), representation));
        Self::create(core, config, Hooks::new(None), |machine, config| {
            let entity = machine.create_writer(node::clock::monotonic(), config)?;
            if let Some(serializer) = serializer {
                machine.set_key_serializer(entity, serializer);
            }
            Ok(entity)
        })
    }

    pub(crate) fn reader(
        core: &Arc<Core>,
        config: EndpointConfig,
        hasher: Option<KeyHasher>,
        filter: Option<Filter>,
        hooks: Arc<Hooks>,
    ) -> Result<Self, CreateError> {
        check(core, &config)?;
        let group = core.engine.join_group(&core.member, &config.topic);
        let topic = config.topic.clone();
        let mut config = EndpointConfig { multicast: group.into_iter().collect(), ..config };
        if config.qos.representations.is_empty() {
            config.qos.representations = vec![Representation::Xcdr1.id(), Representation::Xcdr2.id()];
        }
        let created = Self::create(core, config, hooks, |machine, config| {
            let entity = machine.create_reader(node::clock::monotonic(), config, hasher)?;
            machine.set_filter(entity, filter);
            Ok(entity)
        });
        match created {
            Ok(mut endpoint) => {
                endpoint.has_group = group.is_some();
                Ok(endpoint)
            }
            Err(error) => {
                if group.is_some() {
                    core.engine.leave_group(core.member.domain, &topic);
                }
                Err(error)
            }
        }
    }

    fn create(
        core: &Arc<Core>,
        config: EndpointConfig,
        hooks: Arc<Hooks>,
        create: impl FnOnce(&mut rtps::Participant, EndpointConfig) -> Result<EntityId, rtps::CreateEndpointError>,
    ) -> Result<Self, CreateError> {
        let core = Arc::clone(core);
        let topic = config.topic.clone();
        let max_blocking = config.qos.max_blocking;
        let entity = core.with(|state| {
            let entity = create(&mut state.machine, config)
                .map_err(|source| CreateError::Endpoint { topic: topic.clone(), source })?;
            state.add_endpoint(entity, Arc::clone(&hooks));
            Ok(entity)
        })?;
        Ok(Self { core, entity, topic, hooks, max_blocking, has_group: false })
    }

    pub(crate) fn guid(&self) -> Guid {
        Guid::new(self.core.member.prefix, self.entity)
    }

    pub(crate) fn matched(&self) -> Matched {
        let state = self.core.member.lock();
        state.endpoints.get(&self.entity).map_or_else(Matched::default, |entry| entry.matched)
    }

    pub(crate) fn status(&self) -> EndpointStatus {
        self.core.member.lock().machine.status(self.entity).cloned().unwrap_or_default()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.core.member.lock().machine.lost(self.entity)
    }

    pub(crate) fn filtered(&self) -> u64 {
        self.core.member.lock().machine.filtered(self.entity)
    }

    pub(crate) fn set_filter(&self, filter: Option<Filter>) {
        self.core.member.lock().machine.set_filter(self.entity, filter);
    }

    /// Waits until `done` says so, woken by samples, acknowledgements and matches; false after `timeout`. On a thread of
    /// the bus, which nobody could wake, it asks once.
    pub(crate) fn wait(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&mut rtps::Participant, Matched) -> bool,
    ) -> bool {
        let end = node::clock::monotonic() + timeout;
        let mut state = self.core.member.lock();
        loop {
            let matched =
                state.endpoints.get(&self.entity).map_or_else(Matched::default, |entry| entry.matched);
            if done(&mut state.machine, matched) {
                self.core.member.settle(&self.core.engine, state);
                return true;
            }
            let left = end - node::clock::monotonic();
            if left.is_zero() || is_bus_thread() {
                self.core.member.settle(&self.core.engine, state);
                return false;
            }
            state = self.hooks.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Says that the writer is alive.
    pub(crate) fn assert_liveliness(&self) {
        self.core.with(|state| state.machine.assert_writer(node::clock::monotonic(), self.entity));
    }

    /// Sends what is held back to be sent with other samples.
    pub(crate) fn flush(&self) {
        self.core.with(|state| state.machine.flush(node::clock::monotonic(), self.entity));
    }

    /// Waits until every reliable reader has acknowledged everything written; false after `timeout`.
    pub(crate) fn wait_for_acknowledgements(&self, timeout: Duration) -> bool {
        self.flush();
        self.wait(timeout, |machine, _| machine.is_acknowledged(self.entity))
    }

    /// Takes the oldest sample, waiting for one up to `timeout`.
    pub(crate) fn take(&self, timeout: Duration) -> Option<RawSample> {
        let mut taken = None;
        self.wait(timeout, |machine, _| {
            taken = machine.take(node::clock::monotonic(), self.entity);
            taken.is_some() || timeout.is_zero()
        });
        taken
    }

    pub(crate) fn recycle(&self, payload: Vec<u8>) {
        self.core.member.lock().machine.recycle_sample(self.entity, payload);
    }

    /// Writes, waiting for room in a keep-all history.
    pub(crate) fn write(
        &self,
        instance: Option<KeyHash>,
        status: StatusInfo,
        payload: &[u8],
    ) -> Result<(), PublishError> {
        let timestamp = Some(WireTime::from_timestamp(node::clock::wall()));
        let sample = WriteSample { instance, status, timestamp, payload };
        let mut result = Ok(());
        let try_once =
            |machine: &mut rtps::Participant| machine.write(node::clock::monotonic(), self.entity, sample);
        // The usual case: no condition variable, one lock.
        match self.core.with(|state| try_once(&mut state.machine)) {
            Err(WriteError::Full) => {}
            other => return other.map(|_| ()).map_err(|source| self.refused(source)),
        }
        let done = self.wait(self.max_blocking, |machine, _| match try_once(machine) {
            Err(WriteError::Full) => false,
            other => {
                result = other.map(|_| ());
                true
            }
        });
        if !done {
            return Err(PublishError::Timeout { topic: self.topic.clone(), waited: self.max_blocking });
        }
        result.map_err(|source| self.refused(source))
    }

    fn refused(&self, source: WriteError) -> PublishError {
        PublishError::Write { topic: self.topic.clone(), source }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.core.with(|state| {
            let now = node::clock::monotonic();
            state.endpoints.remove(&self.entity);
            if self.entity.is_writer() {
                state.machine.delete_writer(now, self.entity);
            } else {
                state.machine.delete_reader(now, self.entity);
            }
        });
        self.core.engine.shared_memory.note(Note::Gone(self.guid()));
        if self.has_group {
            self.core.engine.leave_group(self.core.member.domain, &self.topic);
        }
        self.hooks.silence();
    }
}

/// The machine's view of what is asked for.
pub(crate) fn config(
    request: EndpointRequest,
    type_name: &str,
    is_keyed: bool,
    structure: impl FnOnce() -> Option<Arc<StructType>>,
) -> Result<EndpointConfig, CreateError> {
    let EndpointRequest { topic, qos, announces_type, .. } = request;
    let type_name = type_name.to_string();
    let structure = if announces_type { structure() } else { None };
    let type_information = match structure.map(|structure| describe(&structure)).transpose() {
        Ok(type_information) => type_information,
        Err(source) => return Err(CreateError::Type { topic, source }),
    };
    Ok(EndpointConfig { topic, type_name, is_keyed, qos, type_information, ..EndpointConfig::default() })
}

fn describe(structure: &StructType) -> Result<Vec<u8>, TypeObjectError> {
    let information = TypeInformation::of(structure)?;
    information
        .to_bytes()
        .map_err(|source| TypeObjectError::Encode { name: structure.name().to_string(), source })
}

/// What a writer of this quality of service writes.
pub(crate) fn written(topic: &str, qos: &Qos) -> Result<Representation, CreateError> {
    let id = qos.representations.first().copied().unwrap_or(Representation::Xcdr1.id());
    Representation::from_id(id).ok_or_else(|| CreateError::Representation { topic: topic.to_string(), id })
}
