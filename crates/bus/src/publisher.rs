//! Writing samples of one type to one topic.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rtps::Guid;
use rtps::cdr::{KeyHash, Representation, key_to_payload_in, to_payload_in};
use rtps::message::StatusInfo;

use crate::config::{EndpointRequest, Target};
use crate::endpoint::{Endpoint, config, written};
use crate::keys::pad_key;
use crate::sample::Matched;
use crate::{CreateError, DdsType, EndpointStatus, Participant, PublishError};

/// Writes samples of type `T` to a topic. Made by [`Participant::publisher`]; deleting it tells its peers.
#[derive(Debug)]
pub struct Publisher<T> {
    endpoint: Endpoint,
    representation: Representation,
    /// Reused for every sample.
    scratch: Mutex<Vec<u8>>,
    values: PhantomData<fn(T)>,
}

impl<T: DdsType> Target for Publisher<T> {
    type Needs = ();

    fn create(participant: &Participant, request: EndpointRequest, _needs: ()) -> Result<Self, CreateError> {
        let representation = written(&request.topic, &request.qos)?;
        let config = config(request, T::TYPE_NAME, T::KEYED, || Some(T::structure()))?;
        let endpoint = Endpoint::writer(&participant.core, config, representation, T::structure)?;
        Ok(Self { endpoint, representation, scratch: Mutex::default(), values: PhantomData })
    }
}

impl<T: DdsType> Publisher<T> {
    /// Writes a sample: encodes it, sends it to every matched subscriber and keeps it as long as the QoS asks.
    ///
    /// Costs one system call for each process that subscribes. Waits only when the publisher is reliable, keeps all
    /// and its history is full, up to `max_blocking`; never waits on a thread of the bus.
    ///
    /// # Errors
    /// When a value breaks a bound of its type, a limit is reached, or the wait was in vain.
    pub fn write(&self, value: &T) -> Result<(), PublishError> {
        let instance = if T::KEYED { Some(self.key_hash(value)?) } else { None };
        self.encoded(
            |out| to_payload_in(value, self.representation, out),
            |payload| self.endpoint.write(instance, StatusInfo::default(), payload),
        )
    }

    /// Ends an instance: subscribers get [`crate::Data::Disposed`] with the key members of `value`.
    ///
    /// # Errors
    /// As for [`Publisher::write`].
    pub fn dispose(&self, value: &T) -> Result<(), PublishError> {
        self.end(value, StatusInfo { disposed: true, unregistered: false })
    }

    /// Says that this publisher no longer writes an instance, which others may go on doing.
    ///
    /// # Errors
    /// As for [`Publisher::write`].
    pub fn unregister(&self, value: &T) -> Result<(), PublishError> {
        self.end(value, StatusInfo { disposed: false, unregistered: true })
    }

    fn end(&self, value: &T, status: StatusInfo) -> Result<(), PublishError> {
        let instance = Some(self.key_hash(value)?);
        let encode = |out: &mut Vec<u8>| {
            key_to_payload_in(value, self.representation, out)?;
            pad_key(out);
            Ok(())
        };
        self.encoded(encode, |payload| self.endpoint.write(instance, status, payload))
    }

    fn key_hash(&self, value: &T) -> Result<KeyHash, PublishError> {
        value.key_hash_in(self.representation).map_err(|source| self.encoding(source))
    }

    fn encoded(
        &self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), rtps::cdr::CdrError>,
        write: impl FnOnce(&[u8]) -> Result<(), PublishError>,
    ) -> Result<(), PublishError> {
        let mut payload = std::mem::take(&mut *self.scratch.lock().unwrap_or_else(PoisonError::into_inner));
        payload.clear();
        let result =
            encode(&mut payload).map_err(|source| self.encoding(source)).and_then(|()| write(&payload));
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = payload;
        result
    }

    fn encoding(&self, source: rtps::cdr::CdrError) -> PublishError {
        PublishError::Encode { topic: self.endpoint.topic.clone(), source }
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

    /// Says that this publisher is alive, when its liveliness is manual: by topic for itself, by participant for all
    /// such publishers of its participant. Writing does, too. Costs a datagram at most three times a lease.
    pub fn assert_liveliness(&self) {
        self.endpoint.assert_liveliness();
    }

    /// Sends at once what the latency budget holds back.
    pub fn flush(&self) {
        self.endpoint.flush();
    }

    /// Waits until every reliable subscriber has acknowledged everything written; false after `timeout`.
    pub fn wait_for_acknowledgements(&self, timeout: Duration) -> bool {
        self.endpoint.wait_for_acknowledgements(timeout)
    }

    /// The publisher's identity.
    pub fn guid(&self) -> Guid {
        self.endpoint.guid()
    }
}
