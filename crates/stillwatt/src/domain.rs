//! Which DDS domain is joined, and how it is found. Touches the network through `bus` when it joins.

use std::net::IpAddr;

use bus::Participant;
use clap::Args;

use crate::config::DOMAIN_MAX;
use crate::report::{Exit, Failure};
use crate::transport_choice::TransportChoice;

/// The domain of a command.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainChoice {
    /// DDS domain, 0 to 232 [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(DOMAIN_MAX)))]
    pub domain: Option<u32>,
    /// Also look for participants on this host, for networks without multicast; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub peer: Vec<IpAddr>,
    /// How its participants are reached.
    #[command(flatten)]
    pub transport: TransportChoice,
}

impl DomainChoice {
    /// The domain's number.
    pub fn number(&self) -> u32 {
        self.domain.unwrap_or(0)
    }

    /// Joins it under a name for people.
    ///
    /// # Errors
    /// When the transports contradict each other, or the domain cannot be joined.
    pub fn join(&self, name: &str) -> Result<Participant, Failure> {
        let transports = self.transport.transports()?;
        let mut builder = Participant::builder().domain(self.number()).name(name).transports(transports);
        for host in &self.peer {
            builder = builder.peer(*host, None);
        }
        builder.build().map_err(|error| {
            Failure::from_error(Exit::Failed, error)
                .with_remedy("run `stillwatt doctor` to see what the network allows")
        })
    }
}
