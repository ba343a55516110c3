#![expect(clippy::disallowed_methods, reason = "I/O shell: finds the peer's program and waits")]
//! One cell of the matrix: what is published, who must hear it and who must not.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use peers::{Durability, Finished, Kind, Namespace, Peer, Reliability, Running, Skip};

use Durability::{TransientLocal, Volatile};
use Reliability::{BestEffort, Reliable};

/// A program of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Ours: the example `peer`.
    Stillwatt,
    /// The same with types from the XML file that Fast DDS reads.
    StillwattXml,
    /// Cyclone DDS.
    Cyclone,
    /// Fast DDS 2.9.
    FastDds,
    /// Fast DDS 3.2.
    FastDds3,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stillwatt => "stillwatt",
            Self::StillwattXml => "stillwatt (XML)",
            Self::Cyclone => "Cyclone DDS",
            Self::FastDds => "Fast DDS",
            Self::FastDds3 => "Fast DDS 3",
        })
    }
}

impl Program {
    /// Whose DDS it is; where the types come from does not matter.
    pub(crate) fn dds(self) -> Self {
        if self == Self::StillwattXml { Self::Stillwatt } else { self }
    }

    /// The program, to be configured.
    pub(crate) fn peer(self, namespace: &Namespace) -> Result<Peer, Skip> {
        match self {
            Self::Stillwatt => Peer::stillwatt(namespace, &our_program()),
            Self::StillwattXml => Peer::stillwatt(namespace, &our_program())
                .map(|peer| peer.argument("--xml").argument(&types_file().to_string_lossy())),
            Self::Cyclone => Peer::cyclone(namespace),
            Self::FastDds => Peer::fastdds(namespace),
            Self::FastDds3 => Peer::fastdds3(namespace),
        }
    }
}

/// `cargo test` builds the examples beside the tests: `target/debug/deps/interop-…`, `target/debug/examples/peer`.
fn our_program() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let profile = test.parent().and_then(|deps| deps.parent());
    profile.unwrap_or(&test).join("examples/peer")
}

/// The types that the Fast DDS peer reads.
fn types_file() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../peers/fastdds/types.xml"].iter().collect()
}

/// How one endpoint of a cell is configured.
#[derive(Debug)]
pub(crate) struct Endpoint {
    kind: Kind,
    partitions: &'static [&'static str],
    reliability: Reliability,
    durability: Durability,
}

/// One cell of the matrix.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) name: &'static str,
    writer: Endpoint,
    good: Endpoint,
    bad: Endpoint,
    /// The policy for which somebody must report the bad reader, where it is refused for its QoS.
    refused_for: Option<&'static str>,
}

const fn endpoint(
    kind: Kind,
    partitions: &'static [&'static str],
    reliability: Reliability,
    durability: Durability,
) -> Endpoint {
    Endpoint { kind, partitions, reliability, durability }
}

/// Samples that a publisher writes.
const WRITTEN: u32 = 20;

/// Samples that a best-effort reader must get: a datagram may be lost on a busy machine.
const WANTED_BEST_EFFORT: u32 = 16;

/// How long the bad reader is watched after the good one is content.
const WATCH: Duration = Duration::from_millis(500);

pub(crate) const CELLS: [Cell; 8] = [
    Cell {
        name: "best effort, keyed; a reliable reader is refused",
        writer: endpoint(Kind::Item, &[], BestEffort, Volatile),
        good: endpoint(Kind::Item, &[], BestEffort, Volatile),
        bad: endpoint(Kind::Item, &[], Reliable, Volatile),
        refused_for: Some("reliability"),
    },
    Cell {
        name: "best effort, unkeyed; a transient-local reader is refused",
        writer: endpoint(Kind::Plain, &[], BestEffort, Volatile),
        good: endpoint(Kind::Plain, &[], BestEffort, Volatile),
        bad: endpoint(Kind::Plain, &[], BestEffort, TransientLocal),
        refused_for: Some("durability"),
    },
    Cell {
        name: "reliable late joiner, keyed; another type is deaf",
        writer: endpoint(Kind::Item, &[], Reliable, TransientLocal),
        good: endpoint(Kind::Item, &[], Reliable, TransientLocal),
        bad: endpoint(Kind::Plain, &[], Reliable, TransientLocal),
        refused_for: None,
    },
    Cell {
        name: "reliable late joiner, unkeyed; another type is deaf",
        writer: endpoint(Kind::Plain, &[], Reliable, TransientLocal),
        good: endpoint(Kind::Plain, &[], Reliable, TransientLocal),
        bad: endpoint(Kind::Item, &[], Reliable, TransientLocal),
        refused_for: None,
    },
    Cell {
        name: "same partition; the default partition is deaf",
        writer: endpoint(Kind::Item, &["rack1"], Reliable, Volatile),
        good: endpoint(Kind::Item, &["rack1"], Reliable, Volatile),
        bad: endpoint(Kind::Item, &[], Reliable, Volatile),
        refused_for: None,
    },
    Cell {
        name: "one of two partitions; a different partition is deaf",
        writer: endpoint(Kind::Item, &["rack1"], Reliable, Volatile),
        good: endpoint(Kind::Item, &["row1", "rack1"], Reliable, Volatile),
        bad: endpoint(Kind::Item, &["rack2"], Reliable, Volatile),
        refused_for: None,
    },
    Cell {
        name: "wildcard partition; another wildcard is deaf",
        writer: endpoint(Kind::Item, &["rack1"], Reliable, Volatile),
        good: endpoint(Kind::Item, &["rack*"], Reliable, Volatile),
        bad: endpoint(Kind::Item, &["row*"], Reliable, Volatile),
        refused_for: None,
    },
    Cell {
        name: "200 kB samples; a different partition is deaf",
        // Fragments written right after a match belong to the time before a volatile reader's first heartbeat.
        writer: endpoint(Kind::Big, &[], Reliable, TransientLocal),
        good: endpoint(Kind::Big, &[], Reliable, TransientLocal),
        bad: endpoint(Kind::Big, &["elsewhere"], Reliable, TransientLocal),
        refused_for: None,
    },
];

impl Endpoint {
    fn configure(&self, peer: Peer) -> Peer {
        let peer = peer.reliability(self.reliability).durability(self.durability);
        self.partitions.iter().fold(peer, |peer, name| peer.partition(name))
    }

    /// How many samples a subscriber waits for.
    fn wanted(&self) -> u32 {
        if self.reliability == BestEffort { WANTED_BEST_EFFORT } else { WRITTEN }
    }
}

impl Cell {
    /// Runs the cell in a network of its own.
    pub(crate) fn run(&self, writer: Program, reader: Program) -> Result<(), String> {
        self.run_here(writer, reader)
            .map_err(|problem| format!("{writer} -> {reader}, {}: {problem}", self.name))
    }

    fn run_here(&self, writer: Program, reader: Program) -> Result<(), String> {
        let namespace = Namespace::create().map_err(|reason| reason.to_string())?;
        let start =
            |peer: Peer| peer.timeout(TIMEOUT).linger(TIMEOUT).start().map_err(|error| error.to_string());
        let subscribe = |endpoint: &Endpoint| {
            let peer = reader.peer(&namespace).map_err(|reason| reason.to_string())?;
            start(endpoint.configure(peer.subscribe(DOMAIN, TOPIC, endpoint.kind, endpoint.wanted())))
        };
        let publish = || {
            let peer = writer.peer(&namespace).map_err(|reason| reason.to_string())?;
            let peer = self.writer.configure(peer.publish(DOMAIN, TOPIC, self.writer.kind, WRITTEN));
            start(if self.writer.durability == Volatile { peer.gate() } else { peer })
        };
        let (publisher, good, bad) = if self.writer.durability == TransientLocal {
            let mut publisher = publish()?;
            if !publisher.wait_for(|line| line["wrote"] == WRITTEN - 1) {
                return Err(format!("did not write: {:?}", publisher.finish()));
            }
            let bad = subscribe(&self.bad)?;
            (publisher, subscribe(&self.good)?, bad)
        } else {
            let bad = subscribe(&self.bad)?;
            let (mut good, mut publisher) = (subscribe(&self.good)?, publish()?);
            if !publisher.wait_for_match() || !good.wait_for_match() {
                return Err(format!("no match: {:?} {:?}", publisher.finish(), good.finish()));
            }
            publisher.open_gate();
            (publisher, good, bad)
        };
        self.judge(publisher, good, bad)
    }

    fn judge(&self, publisher: Running, good: Running, bad: Running) -> Result<(), String> {
        let good = good.finish();
        std::thread::sleep(WATCH);
        let (publisher, bad) = (publisher.stop(), bad.stop());
        let told = || format!("\n  publisher {publisher:?}\n  good {good:?}\n  bad {bad:?}");
        if good.code != Some(0) {
            return Err(format!("the good reader did not get enough{}", told()));
        }
        if !self.has_expected_samples(publisher.name, &good) {
            return Err(format!("the good reader got other samples than were written{}", told()));
        }
        if !bad.samples().is_empty() || bad.has_matched() {
            return Err(format!("the bad reader matched or heard something{}", told()));
        }
        let reports = [bad.incompatible_qos(), publisher.incompatible_qos()].concat();
        match self.refused_for {
            Some(policy) if !reports.contains(&policy) => {
                Err(format!("nobody reported the incompatible {policy}{}", told()))
            }
            None if !reports.is_empty() => Err(format!("an incompatible QoS was reported{}", told())),
            _ => Ok(()),
        }
    }

    /// Whether what came is what was written: in order within each instance, without doubles. A reader may take one
    /// instance after the other.
    fn has_expected_samples(&self, publisher: &str, good: &Finished) -> bool {
        let written: Vec<_> = (0..WRITTEN).map(|k| self.good.kind.expected(publisher, k)).collect();
        let samples = good.samples();
        let known = samples.iter().all(|sample| written.contains(sample));
        known
            && [0, 1, 2, 7].into_iter().all(|id| {
                let mut rest = written.iter().filter(|expected| expected["id"] == id);
                let mut came = samples.iter().filter(|sample| sample["id"] == id);
                came.all(|sample| rest.any(|expected| expected == *sample))
            })
    }
}

const DOMAIN: u32 = 30;
const TOPIC: &str = "interop/matrix";
const TIMEOUT: Duration = Duration::from_secs(20);
