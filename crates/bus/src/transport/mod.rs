//! How datagrams travel. The protocol decides what to send where; a transport moves bytes to one locator.

mod bell;
mod groups;
mod in_process;
mod interfaces;
mod shared_memory;
mod tcp;
mod udp;
mod udp_v6;

use std::io;

use rtps::{Locator, LocatorKind};

pub(crate) use bell::Bell;
pub(crate) use groups::Groups;
pub(crate) use in_process::InProcess;
pub(crate) use interfaces::{Address, addresses, allowed};
pub(crate) use shared_memory::{Note, Reading, SharedMemory, SharedPlace};
pub(crate) use tcp::{Tcp, TcpUse};
pub use tcp::{TcpError, TcpTransport, TlsError, TlsFiles};
pub(crate) use udp::{DomainSockets, GROUP, Multicast, SEGMENTS_MAX, UdpSender, bind_user};
pub(crate) use udp_v6::{DomainSocketsV6, GROUP_V6, UdpV6};

/// Which way a sample came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// From a participant of this process; the bytes never left it.
    InProcess,
    /// By shared memory, from another process of this machine.
    SharedMemory,
    /// Over UDP, from this machine or another.
    Udp,
    /// Over TCP, from this machine or another.
    Tcp,
}

impl TransportKind {
    pub(crate) fn of(from: Locator) -> Self {
        match from.kind {
            LocatorKind::InProcess => Self::InProcess,
            LocatorKind::SharedMemory => Self::SharedMemory,
            LocatorKind::TcpV4 | LocatorKind::TcpV6 => Self::Tcp,
            LocatorKind::UdpV4 | LocatorKind::UdpV6 | LocatorKind::Other(_) => Self::Udp,
        }
    }
}

/// Moves datagrams to locators.
pub(crate) trait Transport: Send + Sync {
    /// Whether this transport leads to `to`.
    fn reaches(&self, to: &Locator) -> bool;

    /// Sends one datagram. Never blocks for long: what cannot be queued is an error, and reliable protocols above
    /// repair it.
    fn send(&self, to: &Locator, bytes: &[u8]) -> io::Result<()>;
}

#[cfg(test)]
mod conformance {
    //! What every transport promises, run over each of them.
    #![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers: a failure here is a failed test")]

    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;

    /// An RTPS message of this many octets; with fewer than a header has, the start of one.
    pub(super) fn message(length: usize, seed: u8) -> Vec<u8> {
        let start = b"RTPS\x02\x03\x01\x7e".iter().copied();
        start.chain((seed..=250).cycle()).take(length).collect()
    }

    /// RTPS messages arrive whole, whatever their size, in the order in which they were sent, and only the transport's
    /// own locators are reached. What is too short to be one arrives or is refused.
    pub(super) fn conforms(
        transport: &dyn Transport,
        to: Locator,
        foreign: &[Locator],
        mut receive: impl FnMut() -> Vec<u8>,
    ) {
        assert!(transport.reaches(&to));
        for locator in foreign {
            assert!(!transport.reaches(locator), "{locator}");
        }
        for length in [0, 1, 19] {
            if transport.send(&to, &message(length, 0)).is_ok() {
                assert!(receive() == message(length, 0), "{length} bytes");
            }
        }
        for length in [20, 21, 1472, 1473, 9000, 65_507] {
            transport.send(&to, &message(length, 1)).unwrap();
            assert!(receive() == message(length, 1), "{length} bytes");
        }
        for number in 0..50 {
            transport.send(&to, &message(100, number)).unwrap();
        }
        for number in 0..50 {
            assert_eq!(receive(), message(100, number));
        }
    }

    pub(super) const ELSEWHERE: Locator = Locator { kind: LocatorKind::Other(16), port: 7, address: [0; 16] };

    /// UDP conforms; larger than a datagram is an error, not a truncation.
    #[test]
    fn udp() {
        #[expect(clippy::disallowed_methods, reason = "the receiving side of the test")]
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (receiver, socket) = (bind(), bind());
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (_, sender) = bind_user(socket, Multicast::default()).unwrap();
        let to = Locator::udp_v4([127, 0, 0, 1], receiver.local_addr().unwrap().port());
        let mut buffer = vec![0; 65_536];
        conforms(&sender, to, &[ELSEWHERE, Locator::IN_PROCESS], || {
            let length = receiver.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        });
        assert!(sender.send(&to, &vec![0; 65_508]).is_err());
        assert!(sender.send(&ELSEWHERE, &[1]).is_err());
        assert!(
            sender.send(&Locator::udp_v4(GROUP.octets(), 9), &[1]).is_err(),
            "no interface for multicast"
        );
    }

    /// UDP over IPv6 conforms, with the same bounds.
    #[test]
    fn udp_v6() {
        #[expect(clippy::disallowed_methods, reason = "the receiving side of the test")]
        let receiver = match UdpSocket::bind("[::1]:0") {
            Ok(receiver) => receiver,
            Err(error) => return peers::skip("udp_v6", &peers::Skip::new(format!("no IPv6 here: {error}"))),
        };
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let sender = UdpV6::new(0, &[]).unwrap();
        let to = Locator::udp(receiver.local_addr().unwrap());
        let mut buffer = vec![0; 65_536];
        let foreign = [ELSEWHERE, Locator::IN_PROCESS, Locator::udp_v4([127, 0, 0, 1], 7411)];
        conforms(&sender, to, &foreign, || {
            let length = receiver.recv(&mut buffer).unwrap();
            buffer[..length].to_vec()
        });
        assert!(sender.send(&to, &vec![0; 65_536]).is_err());
        let group = Locator::udp(std::net::SocketAddr::new(GROUP_V6.into(), 9));
        assert!(sender.send(&group, &[1]).is_err(), "no interface for multicast");
    }

    /// What the system cuts out of one call arrives as the datagrams that it was made of.
    #[test]
    fn udp_segments() {
        #[expect(clippy::disallowed_methods, reason = "the receiving side of the test")]
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (receiver, socket) = (bind(), bind());
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (_, sender) = bind_user(socket, Multicast::default()).unwrap();
        let to = Locator::udp_v4([127, 0, 0, 1], receiver.local_addr().unwrap().port());
        let pieces: Vec<Vec<u8>> = (0..40).map(|number| vec![number; 1400]).collect();
        assert!(UdpSender::takes_segments(&to) && UdpSender::segments_of(1400) >= 40);
        assert!(!UdpSender::takes_segments(&ELSEWHERE) && UdpSender::segments_of(9000) == 1);
        sender.send_segments(&to, pieces.iter().map(Vec::as_slice), 0).unwrap();
        let mut buffer = vec![0; 65_536];
        for piece in pieces {
            let length = receiver.recv(&mut buffer).unwrap();
            assert!(buffer[..length] == piece);
        }
    }

    /// A priority that is a code point is in the header of every datagram, alone or cut out of one call; another is not.
    #[test]
    fn udp_priorities() {
        use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg};
        use std::os::fd::AsRawFd;
        #[expect(clippy::disallowed_methods, reason = "the receiving side of the test")]
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (receiver, socket) = (bind(), bind());
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket2::SockRef::from(&receiver).set_recv_tos_v4(true).unwrap();
        let (_, sender) = bind_user(socket, Multicast::default()).unwrap();
        let to = Locator::udp_v4([127, 0, 0, 1], receiver.local_addr().unwrap().port());
        let class = || {
            let (mut bytes, mut space) = ([0; 2048], nix::cmsg_space!(u8));
            let mut content = [io::IoSliceMut::new(&mut bytes)];
            let fd = receiver.as_raw_fd();
            let got = recvmsg::<SockaddrIn>(fd, &mut content, Some(&mut space), MsgFlags::empty()).unwrap();
            let class = got.cmsgs().unwrap().find_map(|message| match message {
                ControlMessageOwned::Ipv4Tos(class) => Some(class),
                _ => None,
            });
            class.unwrap()
        };
        for (priority, expected) in [(0, 0), (46, 184), (63, 252), (64, 0), (-1, 0)] {
            sender.send_marked(&to, &[1], priority).unwrap();
            let pieces = [[1; 1000], [2; 1000]];
            sender.send_segments(&to, pieces.iter().map(<[u8; 1000]>::as_slice), priority).unwrap();
            assert_eq!([class(), class(), class()], [expected; 3], "{priority}");
        }
    }

    /// Shared memory conforms, over a real memory file; what is larger than a datagram is an error.
    #[test]
    fn shared_memory() {
        let writer = rtps::Guid::new(rtps::GuidPrefix([1; 12]), rtps::EntityId::user_writer(1, false));
        let (own, mut reader) = shared_memory::pair(writer, 0);
        let mut buffer = vec![0; 65_536];
        let to = Locator::shared_memory(writer);
        let other = rtps::Guid::new(rtps::GuidPrefix([2; 12]), writer.entity);
        let foreign = [ELSEWHERE, Locator::IN_PROCESS, Locator::shared_memory(other)];
        conforms(&own, to, &foreign, || match reader.next(&mut buffer) {
            shared_memory::Next::Entry(length) => buffer[..length].to_vec(),
            other => panic!("{other:?}"),
        });
        assert!(own.send(&to, &vec![0; 65_537]).is_err());
        assert!(own.send(&ELSEWHERE, &[1]).is_err());
    }

    /// The in-process transport conforms, and a full queue is an error.
    #[test]
    fn in_process() {
        let transport = InProcess::default();
        let to = Locator::udp_v4([10, 0, 0, 1], 7411);
        transport.add_own([to]);
        let foreign = [ELSEWHERE, Locator::udp_v4([10, 0, 0, 1], 7413), Locator::udp_v4([10, 0, 0, 2], 7411)];
        conforms(&transport, to, &foreign, || {
            let parcel = transport.receive().unwrap();
            let bytes = parcel.bytes.clone();
            transport.recycle(parcel);
            bytes
        });
        let accepted =
            std::iter::repeat_with(|| transport.send(&to, &[1])).take_while(Result::is_ok).take(10_000);
        assert_eq!(accepted.count(), 4096);
        transport.remove_own(&[to]);
        assert!(!transport.reaches(&to));
    }
}
