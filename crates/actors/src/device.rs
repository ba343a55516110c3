//! Parts of a machine as the actors name them on the wire.
//!
//! Pure.

use std::fmt;

/// What kind of part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DeviceKind {
    /// The whole machine.
    #[default]
    Node = 0,
    /// A processor package.
    Cpu = 1,
    /// A logical CPU, or the frequency policy that begins with it.
    Core = 2,
    /// The part of a package outside the cores.
    Uncore = 3,
    /// The memory of one package.
    Dram = 4,
    /// A GPU.
    Gpu = 5,
    /// One chip of a GPU.
    GpuChip = 6,
    /// A network adapter.
    Nic = 7,
    /// A power supply.
    Psu = 8,
    /// A power distribution unit.
    Pdu = 9,
    /// A cooling unit.
    Cooling = 10,
    /// Anything else, such as a board sensor.
    Other = 11,
}

/// One part of a machine, or all parts of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// What kind of part.
    pub kind: DeviceKind,
    /// Which one, from 0; [`Device::ALL`] for every one.
    pub id: u32,
}

impl DeviceKind {
    const ALL: [Self; 12] = [
        Self::Node,
        Self::Cpu,
        Self::Core,
        Self::Uncore,
        Self::Dram,
        Self::Gpu,
        Self::GpuChip,
        Self::Nic,
        Self::Psu,
        Self::Pdu,
        Self::Cooling,
        Self::Other,
    ];

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a wire code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Cpu => "cpu",
            Self::Core => "core",
            Self::Uncore => "uncore",
            Self::Dram => "dram",
            Self::Gpu => "gpu",
            Self::GpuChip => "gpu_chip",
            Self::Nic => "nic",
            Self::Psu => "psu",
            Self::Pdu => "pdu",
            Self::Cooling => "cooling",
            Self::Other => "other",
        }
    }
}

impl Device {
    /// The id that stands for every part of the kind.
    pub const ALL: u32 = u32::MAX;
    /// The whole machine.
    pub const NODE: Self = Self::new(DeviceKind::Node, 0);

    /// One part.
    pub const fn new(kind: DeviceKind, id: u32) -> Self {
        Self { kind, id }
    }

    /// Every part of a kind.
    pub const fn all(kind: DeviceKind) -> Self {
        Self { kind, id: Self::ALL }
    }

    /// Whether this selection covers `part`. The whole machine is covered by id 0 and by "all".
    pub fn covers(self, part: Self) -> bool {
        self.kind == part.kind && (self.id == Self::ALL || self.id == part.id)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Self::ALL => write!(f, "{}*", self.kind.name()),
            _ if self.kind == DeviceKind::Node => f.write_str("node"),
            id => write!(f, "{}{id}", self.kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes are read back, an unknown one is refused, and "all" covers every part of its kind only.
    #[test]
    fn codes_and_cover() {
        for kind in DeviceKind::ALL {
            assert_eq!(DeviceKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(DeviceKind::from_code(12), None);
        assert!(Device::all(DeviceKind::Cpu).covers(Device::new(DeviceKind::Cpu, 3)));
        assert!(!Device::all(DeviceKind::Cpu).covers(Device::new(DeviceKind::Gpu, 3)));
        assert!(!Device::new(DeviceKind::Cpu, 1).covers(Device::new(DeviceKind::Cpu, 3)));
        assert_eq!(Device::all(DeviceKind::Gpu).to_string(), "gpu*");
    }
}
