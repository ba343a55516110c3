//! Publishers and subscribers of types known only at run time, or only by name.

use std::sync::Arc;
use std::time::Duration;

use rtps::cdr::{CdrError, Representation};
use rtps::message::StatusInfo;
use rtps::types::{DynamicValue, StructType};
use rtps::{Guid, KeyHasher, RawSample};
use units::Timestamp;

use crate::config::{EndpointRequest, Target};
use crate::endpoint::{Endpoint, config, written};
use crate::engine::Hooks;
use crate::filter::requested;
use crate::keys::{Keys, pad_key};
use crate::sample::{Data, Matched};
use crate::{CreateError, EndpointStatus, Participant, PublishError, ReceiveError, TransportKind};

/// Writes values of a type described at run time.
#[derive(Debug)]
pub struct UntypedPublisher {
    endpoint: Endpoint,
    is_keyed: bool,
    representation: Representation,
}

impl Target for UntypedPublisher {
    type Needs = Arc<StructType>;

    fn create(
        participant: &Participant,
        request: EndpointRequest,
        structure: Arc<StructType>,
    ) -> Result<Self, CreateError> {
        let is_keyed = structure.is_keyed();
        let representation = written(&request.topic, &request.qos)?;
        let config = config(request, structure.name(), is_keyed, || Some(Arc::clone(&structure)))?;
        let endpoint = Endpoint::writer(&participant.core, config, representation, || structure)?;
        Ok(Self { endpoint, is_keyed, representation })
    }
}

impl UntypedPublisher {
    /// Writes a value; as [`crate::Publisher::write`].
    ///
    /// # Errors
    /// When the value breaks a bound of its type, a limit is reached, or a wait was in vain.
    pub fn write(&self, value: &DynamicValue) -> Result<(), PublishError> {
        let fault = |source| PublishError::Encode { topic: self.endpoint.topic.clone(), source };
        let mut payload = Vec::new();
        value.to_payload_in(self.representation, &mut payload).map_err(fault)?;
        let instance =
            if self.is_keyed { Some(value.key_hash_in(self.representation).map_err(fault)?) } else { None };
        self.endpoint.write(instance, StatusInfo::default(), &payload)
    }

    /// Ends an instance: subscribers learn that it is gone. Only the key members of `value` matter.
    ///
    /// # Errors
    /// As for [`UntypedPublisher::write`].
    pub fn dispose(&self, value: &DynamicValue) -> Result<(), PublishError> {
        self.end(value, StatusInfo { disposed: true, unregistered: false })
    }

    /// Says that this publisher no longer writes an instance, which others may go on doing.
    ///
    /// # Errors
    /// As for [`UntypedPublisher::write`].
    pub fn unregister(&self, value: &DynamicValue) -> Result<(), PublishError> {
        self.end(value, StatusInfo { disposed: false, unregistered: true })
    }

    fn end(&self, value: &DynamicValue, status: StatusInfo) -> Result<(), PublishError> {
        let fault = |source| PublishError::Encode { topic: self.endpoint.topic.clone(), source };
        let mut payload = Vec::new();
        value.key_to_payload_in(self.representation, &mut payload).map_err(fault)?;
        pad_key(&mut payload);
        let instance = value.key_hash_in(self.representation).map_err(fault)?;
        self.endpoint.write(Some(instance), status, &payload)
    }

    /// How many subscribers it writes to.
    pub fn matched(&self) -> Matched {
        self.endpoint.matched()
    }

    /// What it has counted: missed deadlines, lost and refused samples, peers whose QoS does not fit by policy.
    pub fn status(&self) -> EndpointStatus {
        self.endpoint.status()
    }

    /// Waits until at least `count` subscribers are matched; false after `timeout`.
    pub fn wait_for_match(&self, count: usize, timeout: Duration) -> bool {
        self.endpoint.wait(timeout, |_, matched| matched.current >= count)
    }

    /// Waits until every reliable subscriber has acknowledged everything written; false after `timeout`.
    pub fn wait_for_acknowledgements(&self, timeout: Duration) -> bool {
        self.endpoint.wait_for_acknowledgements(timeout)
    }
}

/// How much is known of a subscriber's type.
#[derive(Clone, Debug)]
pub enum Name {
    /// Everything: samples are decoded.
    Structure(Arc<StructType>),
    /// Its name: samples stay bytes.
    Bytes {
        /// The name.
        type_name: String,
        /// Whether the topic has instances.
        is_keyed: bool,
    },
}

/// A sample's value as far as its type is known.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicData {
    /// Decoded.
    Value(DynamicValue),
    /// The serialized sample with its 4-byte encapsulation header.
    Bytes(Vec<u8>),
}

/// A sample of a type known only at run time.
pub type DynamicSample = Data<DynamicData>;

/// One sample and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct UntypedSample {
    /// The value, or the end of its instance.
    pub data: DynamicSample,
    /// When the publisher says it wrote it, by its wall clock.
    pub source_timestamp: Option<Timestamp>,
    /// Who wrote it.
    pub publisher: Guid,
    /// The publisher's count of its samples on this topic, from 1.
    pub sequence: u64,
    /// How it arrived.
    pub transport: TransportKind,
}

/// Reads samples of a type described at run time, or their bytes.
#[derive(Debug)]
pub struct UntypedSubscriber {
    pub(crate) endpoint: Endpoint,
    keys: Keys,
    structure: Option<Arc<StructType>>,
}

impl Target for UntypedSubscriber {
    type Needs = Name;

    fn create(participant: &Participant, request: EndpointRequest, name: Name) -> Result<Self, CreateError> {
        let (type_name, is_keyed, structure) = match name {
            Name::Structure(structure) => {
                (structure.name().to_string(), structure.is_keyed(), Some(structure))
            }
            Name::Bytes { type_name, is_keyed } => (type_name, is_keyed, None),
        };
        let hasher = structure.clone().filter(|_| is_keyed).map(|structure| {
            KeyHasher(Arc::new(move |payload, is_key| {
                DynamicValue::key_hash_of_payload(&structure, payload, is_key).ok()
            }))
        });
        let filter = requested(&request, || structure.clone())?;
        let config = config(request, &type_name, is_keyed, || structure.clone())?;
        let endpoint = Endpoint::reader(&participant.core, config, hasher, filter, Hooks::new(None))?;
        Ok(Self { endpoint, keys: Keys::default(), structure })
    }
}

impl UntypedSubscriber {
    /// Takes the oldest sample, waiting for one up to `timeout`.
    ///
    /// # Errors
    /// When the sample is not of the subscriber's type; it is gone then.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<UntypedSample>, ReceiveError> {
        let Some(raw) = self.endpoint.take(timeout) else { return Ok(None) };
        let (source_timestamp, publisher) =
            (raw.timestamp.and_then(rtps::WireTime::to_timestamp), raw.writer);
        let (sequence, transport) = (raw.sequence.0, TransportKind::of(raw.from));
        let data = self.data(raw).map_err(|source| ReceiveError::Decode {
            topic: self.endpoint.topic.clone(),
            type_name: self.structure.as_ref().map_or("", |structure| structure.name()).to_string(),
            publisher,
            source,
        })?;
        Ok(Some(UntypedSample { data, source_timestamp, publisher, sequence, transport }))
    }

    fn data(&self, raw: RawSample) -> Result<DynamicSample, CdrError> {
        let status = raw.status;
        if !status.disposed && !status.unregistered {
            return self.value(raw).map(Data::Valid);
        }
        let key = match &self.structure {
            None => Some(DynamicData::Bytes(raw.payload)),
            Some(structure) => {
                let key =
                    self.keys.ending(&raw).map(|payload| DynamicValue::key_from_payload(structure, &payload));
                self.endpoint.recycle(raw.payload);
                key.transpose()?.map(DynamicData::Value)
            }
        };
        Ok(if status.disposed { Data::Disposed(key) } else { Data::Unregistered(key) })
    }

    fn value(&self, raw: RawSample) -> Result<DynamicData, CdrError> {
        let Some(structure) = &self.structure else { return Ok(DynamicData::Bytes(raw.payload)) };
        let value = DynamicValue::from_payload(structure, &raw.payload);
        if let Ok(value) = &value {
            self.keys.remember(&raw, |payload| value.key_to_payload(payload).is_ok());
        }
        self.endpoint.recycle(raw.payload);
        value.map(DynamicData::Value)
    }

    /// How many publishers it hears.
    pub fn matched(&self) -> Matched {
        self.endpoint.matched()
    }

    /// What it has counted: missed deadlines, lost and refused samples, peers whose QoS does not fit by policy.
    pub fn status(&self) -> EndpointStatus {
        self.endpoint.status()
    }

    /// Waits until at least `count` publishers are matched; false after `timeout`.
    pub fn wait_for_match(&self, count: usize, timeout: Duration) -> bool {
        self.endpoint.wait(timeout, |_, matched| matched.current >= count)
    }

    /// Samples that will never arrive.
    pub fn lost(&self) -> u64 {
        self.endpoint.lost()
    }
}
