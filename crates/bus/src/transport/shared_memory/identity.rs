#![expect(clippy::disallowed_methods, reason = "I/O shell: asks /proc which machine and network this is")]
//! Which processes can share memory with this one. May touch: `/proc`, random numbers.

use std::io;

use rtps::MachineAddress;

/// Where this process is, and a name of its own.
///
/// The machine is the boot and the network namespace: the processes' sockets have names there, and only there.
pub(crate) fn machine_address() -> io::Result<MachineAddress> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id")?;
    let network = std::fs::read_link("/proc/self/ns/net")?;
    let network = network.to_string_lossy();
    let parts = [boot.trim_ascii(), b"/", network.as_bytes()];
    let mut process = [0; 16];
    getrandom::fill(&mut process).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(MachineAddress { machine: hash(parts.into_iter().flatten()).to_be_bytes(), process })
}

/// FNV-1a of 128 bits: the same in every release, so that processes of several agree.
fn hash<'a>(bytes: impl Iterator<Item = &'a u8>) -> u128 {
    bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes of one machine and network agree on the machine and differ in the process; the hash is the published
    /// one.
    #[test]
    fn machines_are_recognised() {
        let (a, b) = (machine_address().unwrap(), machine_address().unwrap());
        assert_eq!(a.machine, b.machine);
        assert_ne!(a.process, b.process);
        assert_eq!(hash(b"a".iter()), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
