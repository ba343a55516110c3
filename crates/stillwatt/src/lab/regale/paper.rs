//! What the paper reports, to be quoted beside what is measured here. Pure.
//!
//! Fast DDS 2.x on one node of Galileo100 (two Xeon 8260, 48 cores), 64-byte messages. The paper heads its rates
//! `kMsg/s` and `kBytes/s`; rate times 64 B gives the bytes only when the former are messages a second, and so they are
//! quoted here.

use crate::bench::transport::BenchTransport;

/// One row of the paper's table 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaperRow {
    /// Half round trip, mean, in s.
    pub(super) latency_seconds: f64,
    /// Messages a second.
    pub(super) messages_per_second: f64,
}

/// Table 2 of the paper.
pub(super) fn table_2(transport: BenchTransport) -> Option<PaperRow> {
    let (micros, messages_per_second) = match transport {
        BenchTransport::Udp => (23.70, 7628.12),
        BenchTransport::Udpm => (24.37, 6280.45),
        BenchTransport::Tcp => (30.94, 2816.83),
        BenchTransport::Shm => (6.72, 18_880.85),
        BenchTransport::Inproc => return None,
    };
    Some(PaperRow { latency_seconds: micros / 1e6, messages_per_second })
}

/// Payload of the paper's messages.
pub(super) const SIZE_BYTES: u32 = 64;
/// The most subscribers that the paper puts on a node.
pub(super) const SUBSCRIBERS_PER_NODE: u32 = 40;
/// Nodes of the paper's figure 7.
pub(super) const NODES_OF_FIGURE_7: u32 = 10;
