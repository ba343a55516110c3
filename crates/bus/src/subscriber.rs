//! Reading samples of one type from one topic.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use rtps::cdr::{from_payload, key_from_payload, key_hash_of_payload, key_to_payload};
use rtps::{Guid, KeyHasher, RawSample};

use crate::config::{EndpointBuilder, EndpointRequest, Target};
use crate::endpoint::{Endpoint, config};
use crate::engine::Hooks;
use crate::filter::requested;
use crate::keys::Keys;
use crate::sample::{Data, Matched, Sample};
use crate::{CreateError, DdsType, EndpointStatus, Participant, ReceiveError, TransportKind};

/// Reads samples of type `T` from a topic. Made by [`Participant::subscriber`]; deleting it tells its peers, and
/// returns only when its callback is not running. Deleted in a callback, its own or another's, it returns at once, and
/// a run that has begun ends by itself.
pub struct Subscriber<T> {
    pub(crate) endpoint: Endpoint,
    keys: Keys,
    values: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Subscriber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("endpoint", &self.endpoint).finish()
    }
}

/// Called with each sample.
type OnSample<T> = Box<dyn FnMut(Sample<T>) + Send>;

/// What a subscriber needs besides topic and QoS.
pub struct Needs<T> {
    on_sample: Option<OnSample<T>>,
}

impl<T> Default for Needs<T> {
    fn default() -> Self {
        Self { on_sample: None }
    }
}

impl<T> fmt::Debug for Needs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needs").field("on_sample", &self.on_sample.is_some()).finish()
    }
}

impl<T: DdsType + 'static> EndpointBuilder<'_, Subscriber<T>> {
    /// Calls `on_sample` with each sample as it arrives, on the bus thread that received it: keep it short, never wait
    /// in it for the bus. Samples that are not of type `T` are logged and counted as malformed by the publisher's name.
    pub fn on_sample(mut self, on_sample: impl FnMut(Sample<T>) + Send + 'static) -> Self {
        self.needs.on_sample = Some(Box::new(on_sample));
        self
    }
}

impl<T: DdsType + 'static> Target for Subscriber<T> {
    type Needs = Needs<T>;

    fn create(
        participant: &Participant,
        request: EndpointRequest,
        needs: Needs<T>,
    ) -> Result<Self, CreateError> {
        let hasher = T::KEYED
            .then(|| KeyHasher(Arc::new(|payload, is_key| key_hash_of_payload::<T>(payload, is_key).ok())));
        let callback = needs.on_sample.map(|mut on_sample| {
            let (topic, keys) = (request.topic.clone(), Keys::default());
            let callback: crate::engine::Callback =
                Box::new(move |raw: &RawSample| match decode::<T>(raw, &topic, &keys) {
                    Ok(sample) => on_sample(sample),
                    Err(error) => tracing::warn!(%error, "a sample was dropped"),
                });
            callback
        });
        let filter = requested(&request, || Some(T::structure()))?;
        let config = config(request, T::TYPE_NAME, T::KEYED, || Some(T::structure()))?;
        let endpoint = Endpoint::reader(&participant.core, config, hasher, filter, Hooks::new(callback))?;
        Ok(Self { endpoint, keys: Keys::default(), values: PhantomData })
    }
}

fn decode<T: DdsType>(raw: &RawSample, topic: &str, keys: &Keys) -> Result<Sample<T>, ReceiveError> {
    let fault = |source| ReceiveError::Decode {
        topic: topic.to_string(),
        type_name: T::TYPE_NAME.to_string(),
        publisher: raw.writer,
        source,
    };
    let key = || keys.ending(raw).map(|payload| key_from_payload(&payload).map_err(fault)).transpose();
    let data = if raw.status.disposed {
        Data::Disposed(key()?)
    } else if raw.status.unregistered {
        Data::Unregistered(key()?)
    } else {
        let value = from_payload(&raw.payload).map_err(fault)?;
        keys.remember(raw, |payload| key_to_payload(&value, payload).is_ok());
        Data::Valid(value)
    };
    Ok(Sample {
        data,
        source_timestamp: raw.timestamp.and_then(rtps::WireTime::to_timestamp),
        publisher: raw.writer,
        sequence: raw.sequence.0,
        transport: TransportKind::of(raw.from),
    })
}

impl<T: DdsType> Subscriber<T> {
    /// Takes the oldest sample that has arrived, if any. Never waits.
    ///
    /// # Errors
    /// When the sample is not of type `T`; it is gone then.
    pub fn take(&self) -> Result<Option<Sample<T>>, ReceiveError> {
        self.recv_timeout(Duration::ZERO)
    }

    /// Takes the samples that have arrived, oldest first, until none is left; ones that are not of type `T` become
    /// errors in their place. Never waits.
    pub fn iter(&self) -> impl Iterator<Item = Result<Sample<T>, ReceiveError>> + '_ {
        std::iter::from_fn(|| self.take().transpose())
    }

    /// Takes the oldest sample, waiting for one up to `timeout`. Never waits on a thread of the bus, nor when the
    /// subscriber has a callback.
    ///
    /// # Errors
    /// When the sample is not of type `T`; it is gone then.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<Sample<T>>, ReceiveError> {
        let Some(raw) = self.endpoint.take(timeout) else { return Ok(None) };
        let sample = decode(&raw, &self.endpoint.topic, &self.keys);
        self.endpoint.recycle(raw.payload);
        sample.map(Some)
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

    /// Samples that will never arrive: best-effort gaps, and what a reliable publisher no longer had.
    pub fn lost(&self) -> u64 {
        self.endpoint.lost()
    }

    /// The subscriber's identity.
    pub fn guid(&self) -> Guid {
        self.endpoint.guid()
    }
}
