//! A publisher or subscriber of the peer, whether its type is derived or described in XML.

use std::time::Duration;

use bus::{Data, DdsType, DynamicData, Matched, Publisher, Subscriber, UntypedPublisher, UntypedSubscriber};
use rtps::types::DynamicValue;

/// What the peer does with a publisher.
pub(crate) trait Writes<T> {
    fn write(&self, value: &T) -> Result<(), String>;
    fn dispose(&self, value: &T) -> Result<(), String>;
    fn matched(&self) -> Matched;
    fn wait_for_match(&self, timeout: Duration) -> bool;
}

/// What the peer does with a subscriber.
pub(crate) trait Reads<T> {
    fn next(&self, timeout: Duration) -> Result<Option<Data<T>>, String>;
    fn matched(&self) -> Matched;
    fn lost(&self) -> u64;
}

impl<T: DdsType> Writes<T> for Publisher<T> {
    fn write(&self, value: &T) -> Result<(), String> {
        Self::write(self, value).map_err(|error| error.to_string())
    }

    fn dispose(&self, value: &T) -> Result<(), String> {
        Self::dispose(self, value).map_err(|error| error.to_string())
    }

    fn matched(&self) -> Matched {
        Self::matched(self)
    }

    fn wait_for_match(&self, timeout: Duration) -> bool {
        Self::wait_for_match(self, 1, timeout)
    }
}

impl Writes<DynamicValue> for UntypedPublisher {
    fn write(&self, value: &DynamicValue) -> Result<(), String> {
        Self::write(self, value).map_err(|error| error.to_string())
    }

    fn dispose(&self, value: &DynamicValue) -> Result<(), String> {
        Self::dispose(self, value).map_err(|error| error.to_string())
    }

    fn matched(&self) -> Matched {
        Self::matched(self)
    }

    fn wait_for_match(&self, timeout: Duration) -> bool {
        Self::wait_for_match(self, 1, timeout)
    }
}

impl<T: DdsType + 'static> Reads<T> for Subscriber<T> {
    fn next(&self, timeout: Duration) -> Result<Option<Data<T>>, String> {
        let sample = self.recv_timeout(timeout).map_err(|error| error.to_string())?;
        Ok(sample.map(|sample| sample.data))
    }

    fn matched(&self) -> Matched {
        Self::matched(self)
    }

    fn lost(&self) -> u64 {
        Self::lost(self)
    }
}

impl Reads<DynamicValue> for UntypedSubscriber {
    fn next(&self, timeout: Duration) -> Result<Option<Data<DynamicValue>>, String> {
        let sample = self.recv_timeout(timeout).map_err(|error| error.to_string())?;
        let value = |data| match data {
            DynamicData::Value(value) => Ok(value),
            DynamicData::Bytes(_) => Err("a subscriber of a known type got octets".to_owned()),
        };
        Ok(match sample.map(|sample| sample.data) {
            None => None,
            Some(Data::Valid(data)) => Some(Data::Valid(value(data)?)),
            Some(Data::Disposed(key)) => Some(Data::Disposed(key.map(value).transpose()?)),
            Some(Data::Unregistered(key)) => Some(Data::Unregistered(key.map(value).transpose()?)),
        })
    }

    fn matched(&self) -> Matched {
        Self::matched(self)
    }

    fn lost(&self) -> u64 {
        Self::lost(self)
    }
}
