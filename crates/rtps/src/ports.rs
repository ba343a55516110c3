//! Well-known UDP ports (RTPS 9.6.1, with its default parameters).

/// The ports of one participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Where every participant of the domain hears discovery.
    pub metatraffic_multicast: u16,
    /// Where every participant of the domain hears user data sent to a group.
    pub user_multicast: u16,
    /// Where this participant hears discovery.
    pub metatraffic_unicast: u16,
    /// Where this participant hears user data.
    pub user_unicast: u16,
}

/// A domain or participant number without ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The participant's unicast ports would be the multicast ports of the next domain.
    #[error(
        "participant index {index} in domain {domain} would use ports of domain {next} (indices end at 119): \
         use another domain, or ephemeral ports with multicast discovery",
        next = u64::from(*domain) + 1
    )]
    Index {
        /// The domain asked for.
        domain: u32,
        /// The participant index asked for.
        index: u32,
    },
    /// UDP ports end at 65,535.
    #[error(
        "participant index {index} in domain {domain} would need port {port}, above 65535: \
         use a domain of at most 231, where every index fits"
    )]
    Range {
        /// The domain asked for.
        domain: u32,
        /// The participant index asked for.
        index: u32,
        /// The highest port it would need.
        port: u64,
    },
}

/// The highest participant index with ports of its own in every domain.
pub const INDEX_MAX: u32 = 119;

/// The ports of participant `index` in `domain`.
///
/// # Errors
/// When the index is above [`INDEX_MAX`] or a port would be above 65,535.
pub fn ports(domain: u32, index: u32) -> Result<Ports, PortError> {
    if index > INDEX_MAX {
        return Err(PortError::Index { domain, index });
    }
    let base = PORT_BASE + DOMAIN_GAIN * u64::from(domain);
    let own = base + PARTICIPANT_GAIN * u64::from(index);
    let port = |number| u16::try_from(number);
    let all = (port(base), port(base + 1), port(own + 10), port(own + 11));
    let (Ok(metatraffic_multicast), Ok(user_multicast), Ok(metatraffic_unicast), Ok(user_unicast)) = all
    else {
        return Err(PortError::Range { domain, index, port: own + 11 });
    };
    Ok(Ports { metatraffic_multicast, user_multicast, metatraffic_unicast, user_unicast })
}

const PORT_BASE: u64 = 7400;
const DOMAIN_GAIN: u64 = 250;
const PARTICIPANT_GAIN: u64 = 2;
