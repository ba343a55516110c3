//! Messages of the node manager.
//!
//! Pure data.

use rtps::cdr::{Cdr, DdsType};

use super::{AbsentMetric, DeviceRef, Header, Sample};

/// Asks one or, through a wildcard partition, many node managers for something.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::NmRequest")]
pub struct NmRequest {
    /// Who asks; `header.writer` is the client id that the reply names.
    pub header: Header,
    /// Names the request among those of the client. Ascending.
    pub request: u64,
    /// How long the client waits; an answer later than this is of no use to it.
    pub deadline_ns: u64,
    /// What is asked, a code of [`Operation`].
    pub operation: u8,
    /// Which part of the machine.
    pub device: DeviceRef,
    /// The metric or control; 0 for all of them.
    pub metric: u32,
    /// The wished value, in the control's SI unit; one element for `SET_CONF`, otherwise empty.
    #[dds(max = 64)]
    pub values: Vec<f64>,
    /// Bits of [`RequestFlags`].
    pub flags: u32,
    /// How long the setting holds without renewal.
    pub lease_ns: u64,
    /// In whose name, a code of `Authority`; the node grants at most what its allow list gives the principal.
    pub authority: u8,
    /// The job on whose behalf, or 0.
    pub job: u64,
    /// Fences managers of the same authority: a lower term than the highest seen is refused.
    pub term: u64,
    /// The boot that the client believes the node to be in; zeros when it does not care.
    pub boot_id: [u8; 16],
    /// Who asks, as the allow list names it, for example `operator` or `job:4711`.
    #[dds(max = 64)]
    pub principal: String,
    /// Counts the settings and releases of this client.
    pub sequence: u64,
    /// When the principal made the request, UNIX nanoseconds; covered by the signature.
    pub issued_at_ns: u64,
    /// Signature over the request; empty when it is not signed.
    #[dds(max = 256)]
    pub signature: Vec<u8>,
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Who are you?
    GetInfo = 0,
    /// The latest values of metrics.
    GetMetric = 1,
    /// The settings in force.
    GetConf = 2,
    /// Hold a setting for a while.
    SetConf = 3,
    /// End leases, so that the next live lease or the former value comes back.
    Restore = 4,
}

/// Bits of [`NmRequest::flags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(pub u32);

/// One node manager's answer to one request.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::NmReply")]
pub struct NmReply {
    /// Who answers; `header.host` is the node.
    pub header: Header,
    /// The client that asked: `header.writer` of the request.
    pub client: [u8; 16],
    /// The request's number.
    pub request: u64,
    /// A code of [`Status`].
    pub status: i32,
    /// Why, and what to do about it; empty when all went well.
    #[dds(max = 256)]
    pub detail: String,
    /// The answer to `GET_INFO`, one element.
    #[dds(max = 1)]
    pub info: Vec<NmInfo>,
    /// The answer to `GET_METRIC`.
    #[dds(max = 4096)]
    pub samples: Vec<Sample>,
    /// Metrics that were asked for and have no value.
    #[dds(max = 4096)]
    pub absent: Vec<AbsentMetric>,
    /// The answer to `GET_CONF`, `SET_CONF` and `RESTORE`: one element a knob.
    #[dds(max = 4096)]
    pub settings: Vec<NmSetting>,
}

/// Who a node manager is.
#[derive(Clone, Debug, Default, PartialEq, Cdr)]
pub struct NmInfo {
    /// The program.
    #[dds(max = 64)]
    pub tool_name: String,
    /// Major version.
    pub version: u32,
    /// Minor version.
    pub subversion: u32,
    /// What it stands on: this machine, a simulated profile, a test double.
    #[dds(max = 256)]
    pub info_string: String,
    /// The machine's boot.
    pub boot_id: [u8; 16],
    /// One bit for each [`Operation`] that is answered, bit 0 for code 0.
    pub operations: u32,
}

/// The state of one knob.
#[derive(Clone, Debug, Default, PartialEq, Cdr)]
pub struct NmSetting {
    /// The control's number.
    pub control: u32,
    /// The part of the machine.
    pub device: DeviceRef,
    /// What was asked for; equal to `applied` in the answer to `GET_CONF`.
    pub requested: f64,
    /// What is in force, read back from the hardware.
    pub applied: f64,
    /// Who kept the wish from being granted, a code of `ClampedBy`.
    pub clamped_by: u8,
    /// When the lease ends: a label in UNIX nanoseconds; 0 when no lease binds the knob.
    pub effective_until_ns: u64,
    /// How long the lease still lives, by the node's monotonic clock; 0 when no lease binds the knob.
    pub remaining_ns: u64,
    /// A code of [`Status`] for this knob.
    pub status: i32,
}

/// One knob of one node and who may set it.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::NmCapability")]
pub struct NmCapability {
    /// Who says so.
    pub header: Header,
    /// The node.
    #[dds(key, max = 64)]
    pub host: String,
    /// The control's number.
    #[dds(key)]
    pub control: u32,
    /// The part of the machine.
    #[dds(key)]
    pub device: DeviceRef,
    /// The control's canonical name.
    #[dds(max = 64)]
    pub name: String,
    /// A code of `Unit`.
    pub unit: u8,
    /// Lowest value that the hardware takes.
    pub min: f64,
    /// Highest value that the hardware takes.
    pub max: f64,
    /// Distance of neighbouring values; 0 when they are not evenly spaced.
    pub step: f64,
    /// The value before anything was changed.
    pub default: f64,
    /// How long a change takes to act, in nanoseconds; 0 when not known.
    pub settle_ns: u64,
    /// By which means it is set: cpufreq, powercap, simulated, synthetic.
    #[dds(max = 64)]
    pub source: String,
    /// The lowest authority that the allow list lets set it, or [`WRITABLE_BY_NOBODY`].
    pub writable_by: u8,
    /// When the last holder of some authority falls silent, a power cap becomes the lower of this and the cap in force,
    /// and stays so until a new lease of at least that authority or its holder's release; 0 for other knobs.
    pub safe: f64,
}

/// [`NmCapability::writable_by`] of a knob that no rule of the allow list opens.
pub const WRITABLE_BY_NOBODY: u8 = 255;

/// How a node is, published when it changes and at least every few periods.
#[derive(Clone, Debug, Default, PartialEq, DdsType)]
#[dds(name = "regale::NmStatus")]
pub struct NmStatus {
    /// Who says so.
    pub header: Header,
    /// The node.
    #[dds(key, max = 64)]
    pub host: String,
    /// The machine's boot.
    pub boot_id: [u8; 16],
    /// A code of [`NodeState`].
    pub state: u8,
    /// How often telemetry is published, in nanoseconds; 0 when it is not.
    pub period_ns: u64,
    /// What it stands on: this machine, a simulated profile, a test double.
    #[dds(max = 256)]
    pub source: String,
    /// The node's power: one element, `NODE_POWER` or else `COVERED_POWER`, or none when neither is known.
    #[dds(max = 1)]
    pub power: Vec<Sample>,
    /// Live leases on all knobs.
    pub lease_count: u32,
    /// The knobs that are bound by a lease, a limit or a fallback.
    #[dds(max = 4096)]
    pub settings: Vec<NmSetting>,
    /// Metrics without a value, and why.
    #[dds(max = 256)]
    pub absent: Vec<AbsentMetric>,
    /// Requests answered so far.
    pub requests_total: u64,
    /// Requests that were denied.
    pub denied_total: u64,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeState {
    /// Everything works.
    Ok = 0,
    /// A lease, limit or fallback binds it.
    Bound = 1,
    /// It does not observe its machine any longer.
    Stale = 2,
    /// A knob could not be written or restored.
    Error = 3,
}

/// How a request ended. Negative codes are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Status {
    /// Done as asked, or as clamped and said so.
    Ok = 0,
    /// Nobody answered in time.
    Timeout = -1,
    /// Not allowed.
    Denied = -2,
    /// Not to be had on this node.
    Unsupported = -3,
    /// A value that cannot be.
    Range = -4,
    /// Too much at once; ask again later.
    Busy = -5,
    /// Nobody is there to ask.
    NoServer = -6,
    /// Some parts worked and some did not.
    Partial = -7,
    /// The request contradicts itself or cannot be read.
    Invalid = -8,
    /// The machine refused; the detail says what.
    Failed = -9,
    /// Older than what the node already knows: boot, term or sequence.
    Stale = -10,
}

impl Operation {
    const ALL: [Self; 5] = [Self::GetInfo, Self::GetMetric, Self::GetConf, Self::SetConf, Self::Restore];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The operation of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether it may change the machine.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::SetConf | Self::Restore)
    }
}

impl RequestFlags {
    /// The client does not wait for the answer.
    pub const NO_WAIT: Self = Self(1);
    /// Decide and answer, but change nothing.
    pub const DRY_RUN: Self = Self(2);
    /// `RESTORE` ends the leases of everybody, not only the asker's; for administrators.
    pub const EVERY_HOLDER: Self = Self(4);

    /// Whether all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl NodeState {
    const ALL: [Self; 4] = [Self::Ok, Self::Bound, Self::Stale, Self::Error];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The state of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl Status {
    const ALL: [Self; 11] = [
        Self::Ok,
        Self::Timeout,
        Self::Denied,
        Self::Unsupported,
        Self::Range,
        Self::Busy,
        Self::NoServer,
        Self::Partial,
        Self::Invalid,
        Self::Failed,
        Self::Stale,
    ];

    /// The wire code.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The status of a wire code.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    /// The upper-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Timeout => "TIMEOUT",
            Self::Denied => "DENIED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Range => "RANGE",
            Self::Busy => "BUSY",
            Self::NoServer => "NOSERVER",
            Self::Partial => "PARTIAL",
            Self::Invalid => "INVALID",
            Self::Failed => "FAILED",
            Self::Stale => "STALE",
        }
    }
}
