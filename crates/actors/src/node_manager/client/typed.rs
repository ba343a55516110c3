//! The five calls of a node manager, typed, to one node or to all.
//!
//! Touches the bus through the client only.

use std::time::Duration;

use super::{Answers, Client};
use crate::device::Device;
use crate::lease::{Authority, BootId};
use crate::message::{NmInfo, NmReply, NmSetting, Operation};
use crate::metric::MetricId;
use crate::node_manager::{
    Call, Metrics, NodeManager, NodeManagerError, Request, RestoreLeases, Select, SetConf,
};

/// One node's answer, or why it gave none.
pub type Attributed<T> = Vec<(String, Result<T, NodeManagerError>)>;

/// A wish for a setting, with what most callers leave as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingWish {
    /// The control.
    pub control: MetricId,
    /// The part of the machine, or all of a kind.
    pub device: Device,
    /// The value in the control's SI unit.
    pub value: f64,
    /// How long it holds without renewal.
    pub ttl: Duration,
    /// In whose name.
    pub authority: Authority,
    /// Decide and answer, but change nothing.
    pub is_dry_run: bool,
}

impl SettingWish {
    fn numbered(&self, sequence: u64) -> Request {
        Request::SetConf(SetConf {
            control: self.control,
            device: self.device,
            value: self.value,
            ttl: self.ttl,
            authority: self.authority,
            job: 0,
            term: 0,
            boot_id: BootId::UNKNOWN,
            sequence,
            is_dry_run: self.is_dry_run,
        })
    }
}

impl Client {
    /// Who the node manager is.
    ///
    /// # Errors
    /// When nobody answers, or the answer is a failure.
    pub fn get_info(&self) -> Result<NmInfo, NodeManagerError> {
        info(self.ask(&Request::GetInfo, self.config.timeout)?)
    }

    /// The latest values of metrics.
    ///
    /// # Errors
    /// As [`Client::get_info`].
    pub fn get_metric(&self, select: &Select) -> Result<Metrics, NodeManagerError> {
        self.ask(&Request::GetMetric(*select), self.config.timeout).map(metrics)
    }

    /// The settings in force.
    ///
    /// # Errors
    /// As [`Client::get_info`].
    pub fn get_current_conf(&self, select: &Select) -> Result<Vec<NmSetting>, NodeManagerError> {
        self.ask(&Request::GetConf(*select), self.config.timeout).map(|reply| reply.settings)
    }

    /// Takes or renews a lease.
    ///
    /// # Errors
    /// As [`Client::get_info`].
    pub fn set_conf(&self, wish: &SettingWish) -> Result<Vec<NmSetting>, NodeManagerError> {
        let request = wish.numbered(self.next_sequence());
        self.ask(&request, self.config.timeout).map(|reply| reply.settings)
    }

    /// Ends this client's leases.
    ///
    /// # Errors
    /// As [`Client::get_info`].
    pub fn restore(&self, select: &Select) -> Result<Vec<NmSetting>, NodeManagerError> {
        self.ask(&self.release(select), self.config.timeout).map(|reply| reply.settings)
    }

    /// [`Client::get_info`] of every node; a known node without an answer has an error of `TIMEOUT`.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn get_info_all(&self, timeout: Duration) -> Result<Attributed<NmInfo>, NodeManagerError> {
        self.all(&Request::GetInfo, timeout, info)
    }

    /// [`Client::get_metric`] of every node.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn get_metric_all(
        &self,
        select: &Select,
        timeout: Duration,
    ) -> Result<Attributed<Metrics>, NodeManagerError> {
        self.all(&Request::GetMetric(*select), timeout, |reply| Ok(metrics(reply)))
    }

    /// [`Client::get_current_conf`] of every node.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn get_current_conf_all(
        &self,
        select: &Select,
        timeout: Duration,
    ) -> Result<Attributed<Vec<NmSetting>>, NodeManagerError> {
        self.all(&Request::GetConf(*select), timeout, |reply| Ok(reply.settings))
    }

    /// [`Client::set_conf`] on every node.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn set_conf_all(
        &self,
        wish: &SettingWish,
        timeout: Duration,
    ) -> Result<Attributed<Vec<NmSetting>>, NodeManagerError> {
        self.all(&wish.numbered(self.next_sequence()), timeout, |reply| Ok(reply.settings))
    }

    /// [`Client::restore`] on every node.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn restore_all(
        &self,
        select: &Select,
        timeout: Duration,
    ) -> Result<Attributed<Vec<NmSetting>>, NodeManagerError> {
        self.all(&self.release(select), timeout, |reply| Ok(reply.settings))
    }

    fn release(&self, select: &Select) -> Request {
        let (sequence, authority) = (self.next_sequence(), Authority::User);
        Request::Restore(RestoreLeases { select: *select, sequence, authority, every_holder: false })
    }

    fn all<T>(
        &self,
        request: &Request,
        timeout: Duration,
        read: impl Fn(NmReply) -> Result<T, NodeManagerError>,
    ) -> Result<Attributed<T>, NodeManagerError> {
        let operation = request.operation();
        let Answers { replies, missing } = self.ask_all(request, timeout)?;
        let answered = replies.into_iter().map(|(host, reply)| {
            let failure = NodeManagerError::from_reply(operation, &host, reply.status, &reply.detail);
            let result = match failure {
                Some(error) => Err(error),
                None => read(reply),
            };
            (host, result)
        });
        let silent = missing.into_iter().map(|host| {
            let (operation, target) = (operation.name(), host.clone());
            (host, Err(NodeManagerError::Timeout { operation, target, waited: timeout }))
        });
        let mut all: Attributed<T> = answered.chain(silent).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    }
}

/// The same calls for whoever has a node manager and does not care where: the call's principal asks, the rest of it
/// is the answering side's.
impl NodeManager for Client {
    fn get_info(&mut self, call: &Call) -> Result<NmInfo, NodeManagerError> {
        info(self.ask_as(&call.caller.principal, &Request::GetInfo, self.config.timeout)?)
    }

    fn get_metric(&mut self, call: &Call, select: &Select) -> Result<Metrics, NodeManagerError> {
        let request = Request::GetMetric(*select);
        self.ask_as(&call.caller.principal, &request, self.config.timeout).map(metrics)
    }

    fn get_current_conf(&mut self, call: &Call, select: &Select) -> Result<Vec<NmSetting>, NodeManagerError> {
        let request = Request::GetConf(*select);
        self.ask_as(&call.caller.principal, &request, self.config.timeout).map(|reply| reply.settings)
    }

    fn set_conf(&mut self, call: &Call, wish: &SetConf) -> Result<Vec<NmSetting>, NodeManagerError> {
        let request = Request::SetConf(wish.clone());
        self.ask_as(&call.caller.principal, &request, self.config.timeout).map(|reply| reply.settings)
    }

    fn restore(&mut self, call: &Call, wish: &RestoreLeases) -> Result<Vec<NmSetting>, NodeManagerError> {
        let request = Request::Restore(wish.clone());
        self.ask_as(&call.caller.principal, &request, self.config.timeout).map(|reply| reply.settings)
    }
}

fn info(reply: NmReply) -> Result<NmInfo, NodeManagerError> {
    let host = reply.header.host;
    reply.info.into_iter().next().ok_or_else(|| {
        let operation = Operation::GetInfo.name();
        NodeManagerError::Invalid(format!("{host} answered {operation} without saying who it is"))
    })
}

fn metrics(reply: NmReply) -> Metrics {
    Metrics { samples: reply.samples, absent: reply.absent }
}
