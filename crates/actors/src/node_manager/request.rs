//! Requests as types that cannot be wrong, read from the wire's flat form.
//!
//! Pure.

use std::time::Duration;

use super::NodeManagerError;
use crate::device::Device;
use crate::lease::{Authority, BootId};
use crate::message::{DeviceRef, NmRequest, Operation, RequestFlags};
use crate::metric::MetricId;

/// One of the five calls with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Who are you?
    GetInfo,
    /// The latest values of metrics.
    GetMetric(Select),
    /// The settings in force.
    GetConf(Select),
    /// Hold a setting.
    SetConf(SetConf),
    /// End leases.
    Restore(RestoreLeases),
}

/// Which metrics or knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Select {
    /// Which part of the machine; `None` for every part.
    pub device: Option<Device>,
    /// Which metric or control; `None` for all.
    pub metric: Option<MetricId>,
}

/// A wish to hold knobs at a value for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct SetConf {
    /// The control.
    pub control: MetricId,
    /// The part of the machine, or all of a kind.
    pub device: Device,
    /// The value in the control's SI unit. Finite.
    pub value: f64,
    /// How long, counted by the node from the moment that it takes the lease.
    pub ttl: Duration,
    /// In whose name.
    pub authority: Authority,
    /// The job on whose behalf, or 0.
    pub job: u64,
    /// Fences managers of one authority.
    pub term: u64,
    /// The boot that the caller believes in.
    pub boot_id: BootId,
    /// Counts the caller's settings and releases.
    pub sequence: u64,
    /// Decide and answer, but change nothing.
    pub is_dry_run: bool,
}

/// A wish to end leases.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoreLeases {
    /// Which knobs.
    pub select: Select,
    /// Counts the caller's settings and releases.
    pub sequence: u64,
    /// In whose name.
    pub authority: Authority,
    /// Also end the leases of everybody else; for administrators.
    pub every_holder: bool,
}

impl Select {
    /// Everything.
    pub const ALL: Self = Self { device: None, metric: None };

    /// One metric or control on every part that has it.
    pub const fn metric(metric: MetricId) -> Self {
        Self { device: None, metric: Some(metric) }
    }

    /// One metric or control of one part.
    pub const fn one(metric: MetricId, device: Device) -> Self {
        Self { device: Some(device), metric: Some(metric) }
    }

    /// Whether it selects this metric of this part.
    pub fn selects(self, metric: MetricId, device: Device) -> bool {
        self.metric.is_none_or(|wanted| wanted == metric)
            && self.device.is_none_or(|wanted| wanted.covers(device))
    }

    /// Fills in the wire's fields.
    fn write(self, request: &mut NmRequest) {
        request.metric = self.metric.map_or(0, MetricId::get);
        request.device = self.device.map_or(EVERY_DEVICE, DeviceRef::from);
    }

    fn read(request: &NmRequest) -> Result<Self, NodeManagerError> {
        let metric = (request.metric != 0).then(|| MetricId::new(request.metric));
        let device = if request.device == EVERY_DEVICE { None } else { Some(device(request)?) };
        Ok(Self { device, metric })
    }
}

impl std::fmt::Display for Select {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.metric {
            Some(metric) => write!(f, "{metric}")?,
            None => f.write_str("anything")?,
        }
        match self.device {
            Some(device) => write!(f, " of {device}"),
            None => Ok(()),
        }
    }
}

/// The wire's form of "every part of every kind".
const EVERY_DEVICE: DeviceRef = DeviceRef { kind: u8::MAX, id: Device::ALL };

impl Request {
    /// Which call it is.
    pub const fn operation(&self) -> Operation {
        match self {
            Self::GetInfo => Operation::GetInfo,
            Self::GetMetric(_) => Operation::GetMetric,
            Self::GetConf(_) => Operation::GetConf,
            Self::SetConf(_) => Operation::SetConf,
            Self::Restore(_) => Operation::Restore,
        }
    }

    /// Reads a request from the wire.
    ///
    /// # Errors
    /// `Unsupported` for an operation or a kind of part that this version does not know, `Invalid` or `Range` for
    /// fields that contradict each other or cannot be.
    pub fn read(request: &NmRequest) -> Result<Self, NodeManagerError> {
        let operation = Operation::from_code(request.operation).ok_or_else(|| {
            NodeManagerError::Unsupported(format!("operation {} is not known", request.operation))
        })?;
        Ok(match operation {
            Operation::GetInfo => Self::GetInfo,
            Operation::GetMetric => Self::GetMetric(Select::read(request)?),
            Operation::GetConf => Self::GetConf(Select::read(request)?),
            Operation::SetConf => Self::SetConf(SetConf::read(request)?),
            Operation::Restore => Self::Restore(RestoreLeases {
                select: Select::read(request)?,
                sequence: request.sequence,
                authority: authority(request)?,
                every_holder: RequestFlags(request.flags).contains(RequestFlags::EVERY_HOLDER),
            }),
        })
    }

    /// Fills in the fields of a wire request that say what is asked; who asks and when is the caller's part.
    pub fn write(&self, request: &mut NmRequest) {
        request.operation = self.operation().code();
        match self {
            Self::GetInfo => {}
            Self::GetMetric(select) | Self::GetConf(select) => select.write(request),
            Self::SetConf(wish) => wish.write(request),
            Self::Restore(wish) => {
                wish.select.write(request);
                request.sequence = wish.sequence;
                request.authority = wish.authority.code();
                if wish.every_holder {
                    request.flags |= RequestFlags::EVERY_HOLDER.0;
                }
            }
        }
    }
}

impl Operation {
    /// The call's name as people know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GetInfo => "get_info",
            Self::GetMetric => "get_metric",
            Self::GetConf => "get_current_conf",
            Self::SetConf => "set_conf",
            Self::Restore => "restore",
        }
    }
}

impl SetConf {
    fn write(&self, request: &mut NmRequest) {
        request.metric = self.control.get();
        request.device = self.device.into();
        request.values = vec![self.value];
        request.lease_ns = u64::try_from(self.ttl.as_nanos()).unwrap_or(u64::MAX);
        request.authority = self.authority.code();
        request.job = self.job;
        request.term = self.term;
        request.boot_id = self.boot_id.bytes();
        request.sequence = self.sequence;
        if self.is_dry_run {
            request.flags |= RequestFlags::DRY_RUN.0;
        }
    }

    fn read(request: &NmRequest) -> Result<Self, NodeManagerError> {
        let [value] = request.values.as_slice() else {
            let count = request.values.len();
            return Err(NodeManagerError::Invalid(format!("set_conf takes one value, not {count}")));
        };
        if !value.is_finite() {
            return Err(NodeManagerError::Range(format!("{value} is not a finite number")));
        }
        if request.metric == 0 {
            return Err(NodeManagerError::Invalid("set_conf must name a control".into()));
        }
        Ok(Self {
            control: MetricId::new(request.metric),
            device: device(request)?,
            value: *value,
            ttl: Duration::from_nanos(request.lease_ns),
            authority: authority(request)?,
            job: request.job,
            term: request.term,
            boot_id: BootId::new(request.boot_id),
            sequence: request.sequence,
            is_dry_run: RequestFlags(request.flags).contains(RequestFlags::DRY_RUN),
        })
    }
}

fn device(request: &NmRequest) -> Result<Device, NodeManagerError> {
    request.device.device().ok_or_else(|| {
        NodeManagerError::Unsupported(format!("parts of kind {} are not known", request.device.kind))
    })
}

fn authority(request: &NmRequest) -> Result<Authority, NodeManagerError> {
    Authority::from_code(request.authority)
        .ok_or_else(|| NodeManagerError::Invalid(format!("authority {} is not known", request.authority)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceKind;

    fn wish() -> SetConf {
        SetConf {
            control: MetricId::CPU_POWER_LIMIT_CONTROL,
            device: Device::all(DeviceKind::Cpu),
            value: 120.0,
            ttl: Duration::from_secs(10),
            authority: Authority::Job,
            job: 4711,
            term: 2,
            boot_id: BootId::new([3; 16]),
            sequence: 9,
            is_dry_run: true,
        }
    }

    /// Every request comes back from the wire as it was.
    #[test]
    fn requests_round_trip() {
        let select = Select::one(MetricId::CPU_POWER, Device::new(DeviceKind::Cpu, 1));
        let restore =
            RestoreLeases { select, sequence: 8, authority: Authority::Administrator, every_holder: true };
        for request in [
            Request::GetInfo,
            Request::GetMetric(Select::ALL),
            Request::GetMetric(select),
            Request::GetConf(Select::metric(MetricId::CPU_POWER)),
            Request::SetConf(wish()),
            Request::Restore(restore),
        ] {
            let mut wire = NmRequest::default();
            request.write(&mut wire);
            assert_eq!(Request::read(&wire).unwrap(), request);
        }
    }

    /// Fields that cannot be are refused with the status that says why.
    #[test]
    fn refuses_what_cannot_be() {
        let refused = |change: &dyn Fn(&mut NmRequest)| {
            let mut wire = NmRequest::default();
            Request::SetConf(wish()).write(&mut wire);
            change(&mut wire);
            Request::read(&wire).unwrap_err().status().name()
        };
        assert_eq!(refused(&|wire| wire.operation = 77), "UNSUPPORTED");
        assert_eq!(refused(&|wire| wire.values.clear()), "INVALID");
        assert_eq!(refused(&|wire| wire.values = vec![f64::NAN]), "RANGE");
        assert_eq!(refused(&|wire| wire.device.kind = 200), "UNSUPPORTED");
        assert_eq!(refused(&|wire| wire.authority = 9), "INVALID");
        assert_eq!(refused(&|wire| wire.metric = 0), "INVALID");
    }
}
