//! The bodies of the engine's threads. May touch: sockets, the monotonic clock.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rtps::Locator;
use rustix::event::{PollFd, PollFlags, Timespec};
use units::Instant;

use super::Engine;
use crate::transport::{DomainSockets, Reading};

/// Larger than any UDP datagram.
const DATAGRAM_BYTES: usize = 65_536;
/// Datagrams taken from one socket before the others get a turn.
const BURST: usize = 64;

/// Receives user data and delivers it.
pub(super) fn data(engine: &Arc<Engine>, socket: &UdpSocket) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    while !engine.is_stopping() {
        if let Some((bytes, from)) = receive(socket, &mut buffer) {
            engine.dispatch(None, from, bytes);
        }
    }
}

/// Delivers what participants of this process send each other, and what other processes of the machine share.
pub(super) fn local(engine: &Arc<Engine>) {
    let mut reading = Reading::new();
    let mut done = engine.bell.news().wrapping_sub(1);
    while !engine.is_stopping() {
        let news = engine.bell.news();
        let mut is_idle = true;
        if news != done {
            reading.take_changes(engine);
            is_idle = deliver_parcels(engine);
            if is_idle {
                done = news;
            }
        }
        // What comes from here on is seen before the thread falls asleep.
        is_idle &= reading.deliver(engine);
        if is_idle {
            reading.wait(&engine.bell, news, engine.shared_memory.spin());
        }
    }
}

/// Delivers within the process; true when nothing is left.
fn deliver_parcels(engine: &Arc<Engine>) -> bool {
    for _ in 0..BURST {
        let Some(parcel) = engine.in_process.receive() else { return true };
        engine.dispatch(None, Locator::IN_PROCESS, &parcel.bytes);
        engine.in_process.recycle(parcel);
    }
    false
}

/// Receives discovery traffic and runs every timer.
pub(super) fn meta(engine: &Arc<Engine>) {
    let mut buffer = vec![0; DATAGRAM_BYTES];
    while !engine.is_stopping() {
        let sockets = engine.sockets();
        let next = run_timers(engine);
        let ready = wait(engine, &sockets, next);
        for (domain, index) in ready {
            let Some(sockets) = sockets.get(domain) else { continue };
            let socket = if index == 0 { Some(&sockets.meta) } else { sockets.multicast.as_ref() };
            let Some(socket) = socket else { continue };
            drain(engine, sockets.domain, socket, &mut buffer);
        }
    }
}

fn run_timers(engine: &Arc<Engine>) -> Instant {
    // While this is MAX, whoever sets a deadline wakes us, so none set from here on can be missed.
    engine.armed.store(u64::MAX, Ordering::SeqCst);
    let now = node::clock::monotonic();
    let mut next = Instant::MAX;
    for member in engine.members().iter() {
        if member.deadline() <= now {
            member.handle_timeout(engine);
        }
        next = next.min(member.deadline());
    }
    engine.armed.store(next.as_nanos(), Ordering::SeqCst);
    next
}

/// Waits for traffic, a wake-up or the deadline; returns (domain, 0 = unicast | 1 = multicast) of readable sockets.
fn wait(engine: &Engine, sockets: &[Arc<DomainSockets>], next: Instant) -> Vec<(usize, usize)> {
    let mut polled = vec![PollFd::new(&engine.wake, PollFlags::IN)];
    let mut index = Vec::new();
    for (domain, sockets) in sockets.iter().enumerate() {
        polled.push(PollFd::from_borrowed_fd(sockets.meta.as_fd(), PollFlags::IN));
        index.push((domain, 0));
        if let Some(multicast) = &sockets.multicast {
            polled.push(PollFd::from_borrowed_fd(multicast.as_fd(), PollFlags::IN));
            index.push((domain, 1));
        }
    }
    let remaining = next.saturating_since(node::clock::monotonic());
    let timeout = (next < Instant::MAX).then(|| Timespec {
        tv_sec: i64::try_from(remaining.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: remaining.subsec_nanos().into(),
    });
    if rustix::event::poll(&mut polled, timeout.as_ref()).is_err() {
        return Vec::new();
    }
    if polled.first().is_some_and(|wake| !wake.revents().is_empty()) {
        let _ = rustix::io::read(&engine.wake, &mut [0_u8; 8]);
    }
    let readable = polled.iter().skip(1).zip(index).filter(|(poll, _)| !poll.revents().is_empty());
    readable.map(|(_, index)| index).collect()
}

fn drain(engine: &Arc<Engine>, domain: u32, socket: &UdpSocket, buffer: &mut [u8]) {
    for _ in 0..BURST {
        let received = rustix::net::recvfrom(socket, &mut *buffer, rustix::net::RecvFlags::DONTWAIT);
        let Ok((_, length, from)) = received else { return };
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        if let (Some(bytes), Some(from)) = (buffer.get(..length), from.and_then(locator)) {
            engine.dispatch(Some(domain), from, bytes);
        }
    }
}

/// `None` when an earlier datagram met a closed port, and at the end, when the socket gives nothing without a sender.
fn receive<'a>(socket: &UdpSocket, buffer: &'a mut [u8]) -> Option<(&'a [u8], Locator)> {
    let (_, length, from) =
        rustix::net::recvfrom(socket, &mut *buffer, rustix::net::RecvFlags::empty()).ok()?;
    let from = from.and_then(|from| SocketAddr::try_from(from).ok())?;
    Some((buffer.get(..length)?, locator(from)?))
}

fn locator(from: SocketAddr) -> Option<Locator> {
    match from {
        SocketAddr::V4(from) => Some(Locator::udp_v4(from.ip().octets(), from.port())),
        SocketAddr::V6(_) => None,
    }
}
