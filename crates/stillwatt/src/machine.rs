//! Which machine is meant: this one, a directory that looks like one, or a simulated one. Touches nothing before it
//! is opened.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use node::simulated::{SimulatedClock, SimulatedNode};
use node::{HostRoot, Node, SysRoot};

use crate::report::{Exit, Failure};

/// Which machine is meant; this one when nothing is said.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineChoice {
    /// Use a simulated node of this profile in place of this machine
    #[arg(long, value_name = "PROFILE", conflicts_with = "root")]
    pub simulated: Option<String>,
    /// Decides load and spread of the simulated node
    #[arg(long, value_name = "N", default_value_t = 1, requires = "simulated")]
    pub seed: u64,
    /// Read a directory that holds a captured `sys` and `proc` in place of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

impl MachineChoice {
    /// Opens it.
    ///
    /// # Errors
    /// When there is no such profile, or the directory cannot be read.
    pub fn open(&self) -> Result<Node, Failure> {
        let root: Arc<dyn SysRoot> = match (&self.simulated, &self.root) {
            (Some(profile), _) => Arc::new(
                SimulatedNode::new(profile, self.seed, SimulatedClock::Host)
                    .map_err(|error| Failure::from_error(Exit::Usage, error))?,
            ),
            (None, Some(path)) => Arc::new(HostRoot::directory(path).map_err(|error| {
                Failure::new(Exit::Usage, format!("cannot read the directory {}", path.display()))
                    .with_remedy(ROOT_REMEDY)
                    .with_source(error)
            })?),
            (None, None) => Arc::new(HostRoot::machine()),
        };
        Ok(Node::open(root))
    }

    /// Opens it to serve it as a node: a directory must hold something of a machine.
    ///
    /// # Errors
    /// As for [`MachineChoice::open`], and when the directory has neither `sys` nor `proc`.
    pub fn open_to_serve(&self) -> Result<Node, Failure> {
        let node = self.open()?;
        let has = |folder| node.root().list(folder).is_ok();
        match &self.root {
            Some(path) if !has("sys") && !has("proc") => {
                let text =
                    format!("{} holds no captured machine: neither sys nor proc is in it", path.display());
                Err(Failure::new(Exit::Usage, text).with_remedy(ROOT_REMEDY))
            }
            _ => Ok(node),
        }
    }
}

const ROOT_REMEDY: &str = "name a directory that holds `sys` and `proc`";
