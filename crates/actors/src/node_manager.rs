//! The node manager: measures one node and decides what happens to its knobs.
//!
//! The trait and everything here is pure; [`manager`] holds the rules, [`machine`] is what it stands on, the shells
//! on the bus are [`client`] and [`service`].

pub mod access;
mod answer;
pub mod client;
mod error;
pub mod machine;
pub mod manager;
mod request;
mod server;
pub mod service;

pub use answer::answer;
pub use error::NodeManagerError;
pub use request::{Request, RestoreLeases, Select, SetConf};

use units::{Instant, Timestamp};

use crate::message::{
    AbsentMetric, Event, MetricDescriptor, NmCapability, NmInfo, NmSetting, NmStatus, NodeTelemetry, Sample,
    WriterId,
};

/// Who asks, by which way, and when, as the answering side knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// This machine's monotonic clock when the request is handled.
    pub now: Instant,
    /// This machine's wall clock when the request is handled.
    pub wall: Timestamp,
    /// Who asks.
    pub caller: Caller,
}

/// Who asks and by which way the request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that the allow list knows.
    pub principal: String,
    /// The running client.
    pub client: WriterId,
    /// The way of the request.
    pub origin: Origin,
}

/// By which way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From inside this process, or over a transport that proves who speaks.
    Local,
    /// Over a network transport, which proves nothing.
    Network {
        /// Whether the request carries a signature. This version cannot check one.
        is_signed: bool,
    },
}

/// Metrics that were asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Those that have a value.
    pub samples: Vec<Sample>,
    /// Those that have none, and why.
    pub absent: Vec<AbsentMetric>,
}

/// The five calls of a node manager, the same for the one on this machine and for one behind the bus.
pub trait NodeManager {
    /// Who it is and what it stands on.
    ///
    /// # Errors
    /// Behind the bus: when nobody answers.
    fn get_info(&mut self, call: &Call) -> Result<NmInfo, NodeManagerError>;

    /// The latest values of the selected metrics.
    ///
    /// # Errors
    /// When the node has none of them at all.
    fn get_metric(&mut self, call: &Call, select: &Select) -> Result<Metrics, NodeManagerError>;

    /// The selected knobs' values, read back from the hardware, and who decided them.
    ///
    /// # Errors
    /// When the node has none of them.
    fn get_current_conf(&mut self, call: &Call, select: &Select) -> Result<Vec<NmSetting>, NodeManagerError>;

    /// Takes or renews the caller's lease on the selected knobs, one answer a knob. A knob whose write fails keeps
    /// its former leases and value.
    ///
    /// # Errors
    /// When no knob could be set; then nothing changed.
    fn set_conf(&mut self, call: &Call, wish: &SetConf) -> Result<Vec<NmSetting>, NodeManagerError>;

    /// Ends the caller's leases on the selected knobs; the answer has what is in force now.
    ///
    /// # Errors
    /// When the caller may not, or a knob cannot be written.
    fn restore(&mut self, call: &Call, wish: &RestoreLeases) -> Result<Vec<NmSetting>, NodeManagerError>;
}

/// A node manager together with what its service on the bus needs.
pub trait ManagedNode: NodeManager + Send {
    /// The node's name.
    fn host(&self) -> &str;

    /// Its knobs and who may set them. Headers are empty.
    fn capabilities(&self) -> Vec<NmCapability>;

    /// What is known about its metrics. Headers are empty.
    fn descriptors(&self) -> Vec<MetricDescriptor>;

    /// Reads all sensors. The header is empty. May block as long as the slowest sensor.
    fn observe(&mut self, now: Instant, wall: Timestamp) -> NodeTelemetry;

    /// How it is. The header is empty.
    fn status(&self, now: Instant, wall: Timestamp) -> NmStatus;

    /// Ends leases that ran out, writes what is due, and looks whether somebody else changed a knob.
    fn tick(&mut self, now: Instant, events: &mut Vec<Event>);

    /// When to call [`ManagedNode::tick`] at the latest.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Restores every knob, in order and past failures; returns how many could not be.
    fn end(&mut self, now: Instant, events: &mut Vec<Event>) -> usize;
}

impl Call {
    /// A call from inside this process.
    pub fn local(principal: &str, client: WriterId, now: Instant, wall: Timestamp) -> Self {
        let caller = Caller { principal: principal.to_owned(), client, origin: Origin::Local };
        Self { now, wall, caller }
    }
}

impl Caller {
    /// The name under which leases are held: the principal and the running client, so that two programs of one
    /// principal do not overwrite each other and a restarted one begins anew.
    pub fn holder(&self) -> String {
        use std::fmt::Write as _;
        let mut holder = format!("{}@", self.principal);
        for byte in self.client {
            // Writing to a String cannot fail.
            let _ = write!(holder, "{byte:02x}");
        }
        holder
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::operators;
