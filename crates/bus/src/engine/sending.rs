//! How the engine sends: each datagram by the transport that its locators belong to.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rtps::{Datagram, Locator, LocatorKind};

use super::{Engine, LOCAL, Member, threads};
use crate::transport::{SEGMENTS_MAX, Transport, UdpSender};

impl Engine {
    /// Sends datagrams of a member, each to each of its destinations, in order.
    pub(crate) fn send(self: &Arc<Self>, member: &Member, datagrams: &[Datagram]) {
        let mut rest = datagrams;
        while let Some((first, others)) = rest.split_first() {
            let run = self.segments(rest);
            if run > 1 && self.send_segments(rest.get(..run).unwrap_or_default()) {
                rest = rest.get(run..).unwrap_or_default();
                continue;
            }
            let run = self.send_run(rest);
            if run > 1 {
                rest = rest.get(run..).unwrap_or_default();
                continue;
            }
            for to in &first.to {
                self.send_to(member, to, first);
            }
            rest = others;
        }
    }

    /// Sends the first datagrams when they are several for one TCP connection; returns how many they were, or none.
    fn send_run(&self, datagrams: &[Datagram]) -> usize {
        let Some((Some(to), [_])) = datagrams.first().map(|first| (first.to.first(), first.to.as_slice()))
        else {
            return 0;
        };
        let is_tcp =
            matches!(to.kind, LocatorKind::TcpV4 | LocatorKind::TcpV6) && *to != Locator::EVERY_CONNECTION;
        let (true, Some(tcp)) = (is_tcp, self.tcp()) else { return 0 };
        let alike = datagrams.iter().take_while(|datagram| datagram.to == [*to]).count();
        let run = datagrams.get(..alike).unwrap_or_default();
        if alike < 2 || self.in_process.reaches(to) {
            return 0;
        }
        if let Err(error) = tcp.send_all(to, run.iter().map(|datagram| datagram.bytes.as_slice())) {
            self.note_failure(to, &error);
        }
        alike
    }

    /// How many datagrams, from the first on, the system can cut out of one: fragments of a sample for one UDP address.
    fn segments(&self, datagrams: &[Datagram]) -> usize {
        let Some(first) = datagrams.first() else { return 0 };
        let is_alike = |datagram: &&Datagram| {
            datagram.to == first.to
                && datagram.bytes.len() == first.bytes.len()
                && datagram.priority == first.priority
        };
        let alike = datagrams.iter().take(SEGMENTS_MAX).take_while(is_alike).count();
        let is_single = first.to.len() == 1 && first.to.first().is_some_and(UdpSender::takes_segments);
        let fits = UdpSender::segments_of(first.bytes.len());
        if is_single && !first.to.iter().any(|to| self.in_process.reaches(to)) { alike.min(fits) } else { 1 }
    }

    /// False when the system or the network cannot do it.
    fn send_segments(&self, datagrams: &[Datagram]) -> bool {
        let Some(first) = datagrams.first() else { return false };
        let Some(to) = first.to.first() else { return false };
        let parts = datagrams.iter().map(|datagram| datagram.bytes.as_slice());
        self.udp.send_segments(to, parts, first.priority).is_ok()
    }

    fn send_to(self: &Arc<Self>, member: &Member, to: &Locator, datagram: &Datagram) {
        let bytes = datagram.bytes.as_slice();
        if to.kind == LocatorKind::SharedMemory {
            if let Err(error) = self.shared_memory.own.send(to, bytes) {
                self.note_failure(to, &error);
            }
            return;
        }
        if self.in_process.reaches(to) {
            return self.send_within(to, bytes);
        }
        // The other participants of this process count as connected.
        if *to == Locator::EVERY_CONNECTION && self.members().len() > 1 {
            self.send_within(to, bytes);
        }
        let sent = match to.kind {
            LocatorKind::TcpV4 | LocatorKind::TcpV6 => send_by(self.tcp().map(|tcp| &**tcp), to, bytes),
            LocatorKind::UdpV6 => match (&member.place.interfaces_v6, self.udp_v6.get()) {
                (Some(only), Some(v6)) if to.is_multicast() => v6.send_on(Some(only), to, bytes),
                (_, v6) => send_by(v6, to, bytes),
            },
            _ => match (&member.place.interfaces, to.is_multicast()) {
                (Some(interfaces), true) => self.udp.send_on(interfaces, to, bytes),
                (_, false) => self.udp.send_marked(to, bytes, datagram.priority),
                (None, true) => self.udp.send(to, bytes),
            },
        };
        if let Err(error) = sent {
            self.note_failure(to, &error);
        }
    }

    fn send_within(self: &Arc<Self>, to: &Locator, bytes: &[u8]) {
        self.start_local_thread();
        match self.in_process.send(to, bytes) {
            Ok(()) => self.bell.ring(),
            Err(_) => {
                self.counters.local_overflows.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn note_failure(&self, to: &Locator, error: &io::Error) {
        let failures = self.counters.send_failures.fetch_add(1, Ordering::Relaxed);
        // One line tells; the counter tells how often. Reliable protocols repair what was lost.
        if failures == 0 {
            tracing::warn!(%to, %error, "cannot send on the bus; further failures are only counted");
        }
    }

    pub(crate) fn start_local_thread(self: &Arc<Self>) {
        if self.has_local_thread.swap(true, Ordering::SeqCst) {
            return;
        }
        let engine = Arc::clone(self);
        if let Err(error) = self.spawn(LOCAL, move || threads::local(&engine)) {
            self.has_local_thread.store(false, Ordering::SeqCst);
            tracing::warn!(%error, "participants of this process cannot reach each other");
        }
    }
}

fn send_by<T: Transport>(transport: Option<&T>, to: &Locator, bytes: &[u8]) -> io::Result<()> {
    transport.map_or_else(|| Err(io::ErrorKind::NotConnected.into()), |one| one.send(to, bytes))
}
