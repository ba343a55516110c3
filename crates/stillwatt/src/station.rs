//! What `up` runs: a node manager where none serves this node yet, a monitor and the dashboard's feed. Touches the bus
//! and the machine through its parts; the caller keeps the time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use units::{Instant, Timestamp};

use crate::domain::DomainChoice;
use crate::machine::MachineChoice;
use crate::monitor_role::MonitorRole;
use crate::node_role::{NodeRole, NodeRoleConfig};
use crate::observer::{Happening, Observer};
use crate::output::plain;
use crate::own_cost;
use crate::report::{Exit, Failure};
use crate::snapshot::{SCHEMA, Snapshot};
use crate::view::NodeReadings;
use crate::web::{Feed, Severity};

/// How often sensors are sampled and snapshots are made.
pub const PERIOD: Duration = Duration::from_secs(1);
/// Readings older than this are not shown as the present state.
const AGE_MAX: Duration = Duration::from_millis(3500);
/// After this silence of another process's node manager, ours takes over.
const TAKE_OVER_AFTER: Duration = Duration::from_secs(5);
/// How long a node manager that already serves this node is looked for at the start.
const LOOK_FOR: Duration = Duration::from_millis(600);

/// What a station is made from.
#[derive(Clone, Debug, Default)]
pub struct StationConfig {
    /// The machine to measure.
    pub machine: MachineChoice,
    /// The domain to join.
    pub domain: DomainChoice,
    /// The folder of the journal; without one no knob is set.
    pub state: Option<PathBuf>,
    /// A file to record telemetry to.
    pub record: Option<PathBuf>,
}

/// All roles of one process.
#[derive(Debug)]
pub struct Station {
    config: StationConfig,
    host: String,
    observer: Observer,
    monitor: MonitorRole,
    node_role: Option<NodeRole>,
    feed: Arc<Feed>,
    sequence: u64,
    /// When the node was heard of last, or when it was first missed.
    heard: Instant,
    /// Datagrams and samples that were counted as bad at the last snapshot.
    bad: Bad,
}

/// What the event list tells when it grows.
#[derive(Clone, Copy, Debug, Default)]
struct Bad {
    malformed: u64,
    lost: u64,
}

impl Station {
    /// Joins the domain and serves the node unless another process does. Blocks for about half a second.
    ///
    /// # Errors
    /// When the machine cannot be opened, the domain cannot be joined or the recording cannot be opened.
    pub fn start(config: StationConfig, feed: Arc<Feed>) -> Result<Self, Failure> {
        let node = config.machine.open_to_serve()?;
        let host = host_name(&node);
        let monitor = MonitorRole::start(&host, &config.domain, config.record.as_deref())?;
        let observer = Observer::new(config.domain.join("stillwatt dashboard")?)
            .map_err(|error| Failure::from_error(Exit::Failed, error))?;
        let now = node::clock::monotonic();
        let mut station = Self {
            config,
            host,
            observer,
            monitor,
            node_role: None,
            feed,
            sequence: 0,
            heard: now,
            bad: Bad::default(),
        };
        if station.is_served(boot_id(&node), now + LOOK_FOR)? {
            let text =
                format!("another process serves {} in this domain; this one listens to it", station.host);
            station.note(&Happening::info("node manager", text))?;
        } else {
            station.serve(node)?;
        }
        Ok(station)
    }

    /// The node's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether this process serves the node, and not another one.
    pub fn serves(&self) -> bool {
        self.node_role.is_some()
    }

    /// Makes the snapshot of this second and shows it. Returns its text.
    ///
    /// # Errors
    /// When it cannot be written as JSON, or the node manager must be started and cannot be.
    pub fn tick(&mut self, now: Instant, wall: Timestamp) -> Result<Arc<str>, Failure> {
        self.observer.poll(now);
        for happening in self.observer.take_happenings() {
            self.note(&happening)?;
        }
        self.take_over_if_silent(now)?;
        self.sequence += 1;
        let snapshot = self.snapshot(now, wall);
        self.note_bad(&snapshot)?;
        self.feed.publish(&snapshot).map_err(|error| Failure::from_error(Exit::Failed, error))
    }

    /// Takes what has arrived; whether the node's first telemetry was among it.
    pub fn has_readings(&mut self, now: Instant) -> bool {
        self.observer.poll(now);
        let readings = self.observer.node(&self.host).map(|view| view.readings(now, AGE_MAX));
        readings.is_some_and(|readings| readings.utilisation.value_ratio.is_some())
    }

    /// Ends every role and restores the machine.
    ///
    /// # Errors
    /// When something could not be restored.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.node_role.take().map_or(Ok(()), NodeRole::stop)
    }

    fn snapshot(&self, now: Instant, wall: Timestamp) -> Snapshot {
        let waiting = || NodeReadings::absent("nothing heard from the node manager yet");
        let readings =
            self.observer.node(&self.host).map_or_else(waiting, |view| view.readings(now, AGE_MAX));
        let own = self.node_role.as_ref().map(NodeRole::statistics);
        let others = [self.monitor.statistics(), self.observer.statistics()];
        let statistics: Vec<_> = own.into_iter().chain(others).collect();
        Snapshot {
            schema: SCHEMA.to_owned(),
            time_unix_seconds: readings.time.unwrap_or(wall).unix_seconds(),
            sequence: self.sequence,
            node: self.host.clone(),
            simulated: self.config.machine.simulated.clone(),
            power: readings.power,
            frequency: readings.frequency,
            utilisation: readings.utilisation,
            temperature: readings.temperature,
            memory: readings.memory,
            bus: self.observer.activity(&statistics),
            monitor: self.monitor.activity(),
            dashboard: self.feed.activity(),
            own: own_cost::read(),
        }
    }

    fn note_bad(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        let bad =
            Bad { malformed: snapshot.bus.malformed_datagrams_total, lost: snapshot.bus.samples_lost_total };
        let before = std::mem::replace(&mut self.bad, bad);
        let (malformed, lost) =
            (bad.malformed.saturating_sub(before.malformed), bad.lost.saturating_sub(before.lost));
        if malformed > 0 {
            self.note(&Happening::warning(
                "bus",
                format!("threw away datagrams that are not well formed: {malformed}"),
            ))?;
        }
        if lost > 0 {
            self.note(&Happening::warning("bus", format!("samples were lost: {lost}")))?;
        }
        Ok(())
    }

    /// Listens until a node manager of this node is heard of, at most until `end`.
    ///
    /// # Errors
    /// When an event cannot be written as JSON.
    fn is_served(&mut self, boot_id: Option<[u8; 16]>, end: Instant) -> Result<bool, Failure> {
        loop {
            let now = node::clock::monotonic();
            self.observer.poll(now);
            if let Some(other) = self.observer.node(&self.host).and_then(|view| view.boot_id()) {
                let is_ours = boot_id.is_none_or(|own| own == other);
                if !is_ours {
                    let text =
                        format!("another machine in this domain is called {} too: rename one", self.host);
                    self.note(&Happening::warning("node manager", text))?;
                }
                return Ok(is_ours);
            }
            if now >= end {
                return Ok(false);
            }
            node::clock::sleep(Duration::from_millis(50));
        }
    }

    fn take_over_if_silent(&mut self, now: Instant) -> Result<(), Failure> {
        let view = self.observer.node(&self.host);
        if let Some(at) = view.and_then(|view| view.heard()) {
            self.heard = self.heard.max(at);
        }
        if self.serves() || now - self.heard < TAKE_OVER_AFTER {
            return Ok(());
        }
        let text = format!("the node manager of {} fell silent; this process serves it now", self.host);
        self.note(&Happening::warning("node manager", text))?;
        let node = self.config.machine.open_to_serve()?;
        self.serve(node)
    }

    fn serve(&mut self, node: node::Node) -> Result<(), Failure> {
        let config = NodeRoleConfig {
            domain: &self.config.domain,
            state: self.config.state.as_deref(),
            period: PERIOD,
        };
        let (role, events) = NodeRole::start(node, &config)?;
        self.node_role = Some(role);
        self.heard = node::clock::monotonic();
        events.iter().try_for_each(|event| self.note(&Happening::of(event)))
    }

    /// Shows something in the event list.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn note(&self, happening: &Happening) -> Result<(), Failure> {
        let Happening { severity, subject, message } = happening;
        if *severity != Severity::Info {
            eprintln!("{}: {}", plain(subject), plain(message));
        }
        let time = node::clock::wall().unix_seconds();
        let recorded = self.feed.record(time, *severity, subject, message);
        recorded.map(drop).map_err(|error| Failure::from_error(Exit::Failed, error))
    }
}

/// The kernel's boot id: 32 hexadecimal digits with dashes between them.
fn boot_id(node: &node::Node) -> Option<[u8; 16]> {
    let text = node.topology().boot_id.as_ref().ok()?.replace('-', "");
    (text.len() == 32).then_some(())?;
    u128::from_str_radix(&text, 16).ok().map(u128::to_be_bytes)
}

/// The name of a node on the bus.
pub fn host_name(node: &node::Node) -> String {
    let name = node.topology().hostname.clone().unwrap_or_default();
    if name.is_empty() { "localhost".to_owned() } else { name }
}
