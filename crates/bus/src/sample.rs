//! What a subscriber gets.

use rtps::Guid;
use units::Timestamp;

use crate::TransportKind;

/// A sample's value, or the end of its instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<T> {
    /// A value.
    Valid(T),
    /// The instance was disposed of. Holds the key members, other members having their defaults; `None` when the
    /// publisher sent only a hash of the key and no earlier sample told what it stands for.
    Disposed(Option<T>),
    /// The publisher no longer writes this instance; contents as for [`Data::Disposed`].
    Unregistered(Option<T>),
}

impl<T> Data<T> {
    /// The value, when there is one.
    pub fn valid(self) -> Option<T> {
        match self {
            Self::Valid(value) => Some(value),
            Self::Disposed(_) | Self::Unregistered(_) => None,
        }
    }
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<T> {
    /// The value, or the end of its instance.
    pub data: Data<T>,
    /// When the publisher says it wrote it, by its wall clock.
    pub source_timestamp: Option<Timestamp>,
    /// Who wrote it.
    pub publisher: Guid,
    /// The publisher's count of its samples on this topic, from 1.
    pub sequence: u64,
    /// How it arrived. A sample of which any part came over the network counts as network.
    pub transport: TransportKind,
}

/// How many peers an endpoint exchanges data with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Now.
    pub current: usize,
    /// Since it was made, counting a returning peer again.
    pub total: usize,
}
