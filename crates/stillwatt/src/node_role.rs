//! The node manager of this process: a machine, its journal and its service on the bus. Touches all three through
//! `actors`, `node` and `bus`.

use std::path::Path;
use std::time::Duration;

use actors::message::Event;
use actors::node_manager::manager::{Manager, ManagerConfig};
use actors::node_manager::service::{Member, Service, ServiceConfig};
use actors::reference::{ReferenceConfig, ReferenceMachine};
use bus::{BusStatistics, Participant};
use node::Node;

use crate::domain::DomainChoice;
use crate::report::{Exit, Failure};
use crate::state;

/// A node manager that serves.
#[derive(Debug)]
pub struct NodeRole {
    participant: Participant,
    service: Service,
}

/// A node manager that is about to serve.
#[derive(Debug)]
pub struct NodeRoleConfig<'a> {
    /// The domain to serve in.
    pub domain: &'a DomainChoice,
    /// The folder of the journal; without one no knob is set.
    pub state: Option<&'a Path>,
    /// How often sensors are sampled.
    pub period: Duration,
}

impl NodeRole {
    /// Takes over the machine, restoring what a former process left, and serves it. Returns as well what happened.
    ///
    /// # Errors
    /// When the domain cannot be joined or the service cannot start.
    pub fn start(node: Node, config: &NodeRoleConfig<'_>) -> Result<(Self, Vec<Event>), Failure> {
        let (machine, events) = ReferenceMachine::open(node, config.state, &ReferenceConfig::default());
        let settings = ManagerConfig { period: config.period, ..ManagerConfig::default() };
        let participant = config.domain.join("stillwatt node manager")?;
        let member =
            Member { participant: participant.clone(), node: Box::new(Manager::new(machine, settings)) };
        let settings = ServiceConfig { period: config.period, ..ServiceConfig::default() };
        let service = Service::start(vec![member], settings).map_err(|error| {
            Failure::from_error(Exit::Failed, error)
                .with_remedy("run `stillwatt doctor` to see what this machine allows")
        })?;
        Ok((Self { participant, service }, events))
    }

    /// The bus counters of its participant.
    pub fn statistics(&self) -> BusStatistics {
        self.participant.statistics()
    }

    /// Requests answered so far.
    pub fn answered(&self) -> u64 {
        self.service.statistics().answered
    }

    /// Ends the service: every knob is restored, the node says goodbye.
    ///
    /// # Errors
    /// When knobs could not be restored; their former values are in the journal for the next start.
    pub fn stop(self) -> Result<(), Failure> {
        match self.service.stop() {
            0 => Ok(()),
            knobs => Err(Failure::new(Exit::Failed, format!("{knobs} knobs could not be restored"))
                .with_remedy("start the node manager again: it restores what is in its journal")),
        }
    }
}

/// The folder for the journal, if it can be written; else one sentence that says why not and what follows.
///
/// # Errors
/// That sentence.
pub fn state_folder() -> Result<std::path::PathBuf, String> {
    let follows = "going on without a journal: nothing on this machine is changed";
    let Some(folder) = state::Surroundings::of_process().directory() else {
        return Err(format!("neither HOME nor XDG_STATE_HOME says where to keep the journal; {follows}"));
    };
    match state::probe(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => {
            let folder = folder.display();
            Err(format!(
                "cannot write in {folder} ({error}); {follows}; set XDG_STATE_HOME to a folder of yours"
            ))
        }
    }
}
