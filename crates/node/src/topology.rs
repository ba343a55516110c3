//! What the machine is made of: CPUs, packages, names, kernel, control groups. Reads below the root only.

use std::collections::BTreeMap;

use units::CpuList;

use crate::absent::{Absent, AbsentReason};
use crate::sys_root::SysRoot;

/// What the machine is made of, as it was when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The machine's host name.
    pub hostname: Result<String, Absent>,
    /// The kernel's id of this boot: it changes when the machine starts again.
    pub boot_id: Result<String, Absent>,
    /// The kernel's release, for example `6.12.1`.
    pub kernel: Result<String, Absent>,
    /// The processor's model name.
    pub cpu_model: Result<String, Absent>,
    /// CPUs that are switched on.
    pub cpus_online: Result<CpuList, Absent>,
    /// CPUs that are plugged in.
    pub cpus_present: Result<CpuList, Absent>,
    /// The online CPUs of each package. A CPU without a stated package counts to package 0.
    pub packages: BTreeMap<u32, CpuList>,
    /// Whether several logical CPUs share a core.
    pub has_shared_cores: bool,
    /// Whether the processor says that it runs under a hypervisor.
    pub is_virtual: bool,
    /// Which control group interface is mounted.
    pub cgroup: CgroupVersion,
    /// What suggests that this process runs in a container; empty when nothing does.
    pub container_hints: Vec<String>,
}

/// The control group interface of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// None is mounted.
    None,
    /// Version 1 only.
    V1,
    /// Version 2 only.
    V2,
    /// Version 1 with a version 2 tree beside it.
    Mixed,
}

const CPU_FOLDER: &str = "sys/devices/system/cpu";

impl Topology {
    /// Asks the machine. Blocks for a few file reads and two a CPU.
    pub fn read(root: &dyn SysRoot) -> Self {
        let cpus_online = cpus_online(root);
        let cpuinfo = text(root, "proc/cpuinfo");
        let field = |name: &str| cpuinfo.as_ref().ok().and_then(|text| cpuinfo_field(text, name));
        let mounts = text(root, "proc/mounts").unwrap_or_default();
        let online = cpus_online.clone().unwrap_or_default();
        Self {
            hostname: text(root, "proc/sys/kernel/hostname"),
            boot_id: text(root, "proc/sys/kernel/random/boot_id"),
            kernel: text(root, "proc/sys/kernel/osrelease"),
            cpu_model: match &cpuinfo {
                Ok(text) => ["model name", "Processor", "cpu model", "cpu"]
                    .iter()
                    .find_map(|name| cpuinfo_field(text, name))
                    .ok_or_else(|| Absent::new(AbsentReason::NotPresent, "proc/cpuinfo", "no model name")),
                Err(absent) => Err(absent.clone()),
            },
            cpus_present: cpu_list(root, &format!("{CPU_FOLDER}/present")),
            packages: packages(root, &online),
            has_shared_cores: online.iter().any(|cpu| has_sibling(root, cpu)),
            is_virtual: field("flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor")),
            cgroup: cgroup_version(&mounts),
            container_hints: container_hints(root, &mounts),
            cpus_online,
        }
    }

    /// How many logical CPUs are online; zero when that is not known.
    pub fn cpu_count(&self) -> usize {
        self.cpus_online.as_ref().map_or(0, CpuList::len)
    }

    /// The package of a CPU.
    pub fn package_of(&self, cpu: u32) -> Option<u32> {
        self.packages.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(package, _)| *package)
    }
}

/// A one-line file's text without its line end.
fn text(root: &dyn SysRoot, path: &str) -> Result<String, Absent> {
    let text = root.read(path).map_err(|error| Absent::from_io(path, &error))?;
    Ok(text.trim().to_string())
}

fn cpu_list(root: &dyn SysRoot, path: &str) -> Result<CpuList, Absent> {
    let text = text(root, path)?;
    text.parse().map_err(|_| Absent::malformed(path, &text, "a CPU list"))
}

/// The CPUs that are switched on: the kernel's list, else all present CPUs whose own `online` file does not say 0.
/// A CPU without that file (often CPU 0) cannot be switched off and is online.
pub fn cpus_online(root: &dyn SysRoot) -> Result<CpuList, Absent> {
    let absent = match cpu_list(root, &format!("{CPU_FOLDER}/online")) {
        Ok(list) => return Ok(list),
        Err(absent) => absent,
    };
    if let Ok(present) = cpu_list(root, &format!("{CPU_FOLDER}/present")) {
        let is_on =
            |cpu: &u32| text(root, &format!("{CPU_FOLDER}/cpu{cpu}/online")).map_or(true, |t| t != "0");
        return Ok(present.iter().filter(is_on).collect());
    }
    // Without /sys, as in some sandboxes, the kernel's statistics still have one line a CPU that is online.
    let stat = text(root, "proc/stat").map_err(|_| absent.clone())?;
    let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok());
    let cpus: CpuList = numbers.collect();
    if cpus.is_empty() { Err(absent) } else { Ok(cpus) }
}

fn packages(root: &dyn SysRoot, online: &CpuList) -> BTreeMap<u32, CpuList> {
    let mut packages: BTreeMap<u32, CpuList> = BTreeMap::new();
    for cpu in online.iter() {
        let path = format!("{CPU_FOLDER}/cpu{cpu}/topology/physical_package_id");
        // Some virtual machines say -1 here.
        let package = text(root, &path).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        packages.entry(package).or_default().insert(cpu);
    }
    packages
}

fn has_sibling(root: &dyn SysRoot, cpu: u32) -> bool {
    let path = format!("{CPU_FOLDER}/cpu{cpu}/topology/thread_siblings_list");
    cpu_list(root, &path).is_ok_and(|siblings| siblings.len() > 1)
}

/// The first value of a `name : value` line.
pub(crate) fn cpuinfo_field(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_string())
    });
    value.filter(|value| !value.is_empty())
}

fn cgroup_version(mounts: &str) -> CgroupVersion {
    let has = |kind: &str| mounts.lines().any(|line| line.split(' ').nth(2) == Some(kind));
    match (has("cgroup"), has("cgroup2")) {
        (false, false) => CgroupVersion::None,
        (true, false) => CgroupVersion::V1,
        (false, true) => CgroupVersion::V2,
        (true, true) => CgroupVersion::Mixed,
    }
}

/// Signs of a container, each as a sentence. None of them proves it.
fn container_hints(root: &dyn SysRoot, mounts: &str) -> Vec<String> {
    let mut hints = Vec::new();
    for (file, tool) in [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")] {
        if root.exists(file) {
            hints.push(format!("{tool} leaves the file /{file}"));
        }
    }
    if let Some(line) = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/")) {
        let kind = line.split(' ').nth(2).unwrap_or_default();
        if kind == "overlay" || kind == "fuse-overlayfs" {
            hints.push(format!("the root file system is {kind}"));
        }
    }
    if let Ok(groups) = root.read("proc/1/cgroup") {
        let marks = ["docker", "kubepods", "libpod", "lxc", "containerd", "slurm"];
        for mark in marks.into_iter().filter(|mark| groups.contains(mark)) {
            hints.push(format!("the control group of process 1 names {mark}"));
        }
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys_root::MemoryRoot;

    /// CPU 0 has no `online` file and counts as online; CPU 2 is off.
    #[test]
    fn online_without_the_kernels_list() {
        let files = [
            ("sys/devices/system/cpu/present", "0-2\n"),
            ("sys/devices/system/cpu/cpu1/online", "1\n"),
            ("sys/devices/system/cpu/cpu2/online", "0\n"),
        ];
        let root: MemoryRoot = files.into_iter().collect();
        assert_eq!(cpus_online(&root).unwrap().to_string(), "0-1");
        let stat: MemoryRoot = [("proc/stat", "cpu 1 2\ncpu0 1 2\ncpu5 1 2\nintr 4\n")].into_iter().collect();
        assert_eq!(cpus_online(&stat).unwrap().to_string(), "0,5");
        assert!(cpus_online(&MemoryRoot::new()).is_err());
    }

    /// Packages, names and the control group version are read from their files.
    #[test]
    fn reads_a_small_machine() {
        let files = [
            ("proc/sys/kernel/hostname", "n007\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/mounts", "overlay / overlay rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/1/cgroup", "0::/kubepods/pod1\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
            ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n"),
            ("sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n"),
            ("sys/devices/system/cpu/cpu3/topology/physical_package_id", "-1\n"),
        ];
        let topology = Topology::read(&files.into_iter().collect::<MemoryRoot>());
        assert_eq!(topology.hostname.as_deref(), Ok("n007"));
        assert_eq!(topology.cpu_model.as_deref(), Ok("Some CPU"));
        assert!(topology.is_virtual);
        assert_eq!(topology.cgroup, CgroupVersion::V2);
        assert_eq!(topology.container_hints.len(), 2);
        assert_eq!(topology.package_of(2), Some(1));
        assert_eq!(topology.packages[&0].to_string(), "0-1,3");
        assert_eq!(topology.boot_id.unwrap_err().reason, AbsentReason::NotPresent);
    }
}
