//! Endpoints on the bus for the topics of this crate.
//!
//! Touches the bus only.

use bus::{CreateError, DdsType, Participant, Publisher, Sample, Subscriber};

use crate::topic::Topic;

impl<T: DdsType + 'static> Topic<T> {
    /// A publisher with the topic's quality of service.
    ///
    /// # Errors
    /// When a partition breaks a bound of the wire.
    pub fn publisher(
        &self,
        participant: &Participant,
        partitions: &[String],
    ) -> Result<Publisher<T>, CreateError> {
        let builder = participant.publisher::<T>(self.name).partitions(partitions).keep_last(self.depth);
        let builder = if self.is_reliable { builder.reliable() } else { builder.best_effort() };
        if self.is_transient_local { builder.transient_local() } else { builder.volatile() }.build()
    }

    /// A subscriber with the topic's quality of service that is polled.
    ///
    /// # Errors
    /// When a partition breaks a bound of the wire.
    pub fn subscriber(
        &self,
        participant: &Participant,
        partitions: &[String],
    ) -> Result<Subscriber<T>, CreateError> {
        self.reading(participant, partitions).build()
    }

    /// A subscriber with the topic's quality of service that calls `on_sample` on a thread of the bus.
    ///
    /// # Errors
    /// When a partition breaks a bound of the wire.
    pub fn on_sample(
        &self,
        participant: &Participant,
        partitions: &[String],
        on_sample: impl FnMut(Sample<T>) + Send + 'static,
    ) -> Result<Subscriber<T>, CreateError> {
        self.reading(participant, partitions).on_sample(on_sample).build()
    }

    fn reading<'a>(
        &self,
        participant: &'a Participant,
        partitions: &[String],
    ) -> bus::EndpointBuilder<'a, Subscriber<T>> {
        let builder = participant.subscriber::<T>(self.name).partitions(partitions).keep_last(self.depth);
        let builder = if self.is_reliable { builder.reliable() } else { builder.best_effort() };
        if self.is_transient_local { builder.transient_local() } else { builder.volatile() }
    }
}
