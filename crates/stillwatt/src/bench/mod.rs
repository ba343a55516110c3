//! `bus bench`: figures of the bus beside other DDS and beside the floor of this machine, measured in the same run.
//!
//! Every figure can be repeated with the command that is printed with it. Runs alternate between what is compared, so
//! that all see the same neighbours, and ratios are taken run by run. Every measured process is a process of its own, in
//! a private network where this user may make one; this program only starts them and reads what they print.

mod command;
pub(crate) mod contestant;
mod cost;
pub(crate) mod cpus;
mod discovery;
mod host;
mod idle;
pub(crate) mod latency;
mod network;
mod options;
mod people;
pub(crate) mod printout;
mod process;
mod program;
pub(crate) mod progress;
mod scale;
pub(crate) mod schedule;
pub(crate) mod spread;
mod summary;
pub(crate) mod targets;
pub(crate) mod throughput;
pub(crate) mod transport;

use std::path::Path;

use crate::report::{Exit, Failure};

use contestant::{Contestant, Programs, Stage};
use network::Network;
use options::Setting;
use printout::Form;

pub use options::BenchOptions;
pub use program::PeerOptions;

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::from_error(Exit::Failed, error)
}

/// What a bench needs before it can begin.
pub(crate) struct Ground {
    programs: Programs,
    network: Network,
    online: Vec<u32>,
    domain: u32,
    /// Who takes part.
    contestants: Vec<Contestant>,
    /// Who would, were its program here.
    missing: Vec<Contestant>,
}

impl Ground {
    /// `asked` are those to compare with, who must take part; with none, those of `usual` that are here do. Ours always
    /// does.
    pub(crate) fn prepare(
        asked: &[Contestant],
        usual: &[Contestant],
        peers_dir: Option<&Path>,
        hosts: u32,
        domain: u32,
    ) -> Result<Self, Failure> {
        let programs = Programs::find(peers_dir)?;
        let (mut contestants, missing): (Vec<_>, Vec<_>) = if asked.is_empty() {
            usual.iter().copied().partition(|contestant| programs.has(*contestant))
        } else {
            for contestant in asked {
                programs.version(*contestant)?;
            }
            (asked.to_vec(), Vec::new())
        };
        contestants.push(Contestant::Stillwatt);
        contestants.sort_unstable();
        contestants.dedup();
        let network = Network::create(hosts)?;
        Ok(Self { programs, network, online: cpus::online_cpus(), domain, contestants, missing })
    }

    fn of(
        setting: &Setting,
        usual: &[Contestant],
        transports: &[transport::BenchTransport],
    ) -> Result<Self, Failure> {
        let silent = |peer: &&Contestant| !transports.iter().any(|transport| peer.speaks(*transport));
        if let Some(peer) = setting.peers.iter().find(silent) {
            let names: Vec<_> = transports.iter().map(|transport| transport.name()).collect();
            let (name, names) = (peer.name(), names.join(", "));
            return Err(Failure::new(Exit::NotAvailable, format!("{name} cannot do {names}"))
                .with_remedy("--peer leaves it out, --transport names others"));
        }
        Self::prepare(&setting.peers, usual, setting.peers_dir.as_deref(), setting.hosts, setting.domain)
    }

    /// Where processes are started.
    pub(crate) fn stage(&self) -> Stage<'_> {
        Stage { programs: &self.programs, network: &self.network, online: &self.online, domain: self.domain }
    }

    /// Who takes part.
    pub(crate) fn contestants(&self) -> &[Contestant] {
        &self.contestants
    }

    /// A record that has everything but the numbers.
    pub(crate) fn record(&self, schema: &str, command: String) -> Result<ledger::RunRecord, Failure> {
        let mut record = host::record(schema, command, &self.programs, &self.contestants)?;
        record.remarks.push(self.network.remark());
        if !self.missing.is_empty() {
            let names: Vec<_> = self.missing.iter().map(|contestant| contestant.name()).collect();
            record.remarks.push(format!("not here: {} (cargo xtask setup builds them)", names.join(", ")));
        }
        Ok(record)
    }
}

impl Setting {
    fn form(&self) -> Form {
        match (self.json, self.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::People,
        }
    }

    /// The part of the command that repeats the setting.
    fn command(&self, contestants: &[Contestant]) -> String {
        let names: Vec<_> = contestants.iter().map(|contestant| contestant.name()).collect();
        let hosts = if self.hosts > 1 { format!(" --hosts {}", self.hosts) } else { String::new() };
        format!("--peer {} --runs {}{hosts}", names.join(","), self.runs)
    }
}
