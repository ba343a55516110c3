//! Processes that talk by TCP over loopback, each turned by hand, so that nothing depends on threads or time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests: a failure here is a failed test")]
#![expect(clippy::disallowed_methods, reason = "strangers that connect")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::connection::Input;
use super::*;
use crate::transport::conformance::{ELSEWHERE, conforms, message};

/// One process.
struct Side {
    tcp: Arc<Tcp>,
    received: VecDeque<(Locator, Vec<u8>)>,
    opened: Vec<Locator>,
}

impl Side {
    fn new(number: u8) -> Self {
        let tcp = Tcp::new([number; 16], Arc::new(Poller::new().unwrap())).unwrap();
        Self { tcp, received: VecDeque::new(), opened: Vec::new() }
    }

    fn own(&self) -> Locator {
        Locator::connection(self.tcp.identity)
    }

    fn enter(&self, settings: TcpTransport) -> TcpUse {
        self.tcp.enter(&settings).unwrap()
    }

    /// Does everything that can be done now.
    fn turn(&mut self) {
        if self.tcp.deadline() <= node::clock::monotonic() {
            self.tcp.run_timers();
        }
        let (listeners, connections): (Vec<_>, Vec<_>) = {
            let state = lock(&self.tcp.state);
            let listeners = state.listeners.values().map(|one| Arc::clone(&one.listener)).collect();
            (listeners, state.connections.values().cloned().collect())
        };
        for listener in listeners {
            listener.accept(&self.tcp);
        }
        for connection in connections {
            let result = connection.advance(&self.tcp, &mut |input| match input {
                Input::Opened(peer) => self.opened.push(peer),
                Input::Message(from, message) => self.received.push_back((from, message.to_vec())),
            });
            if let Err(fault) = result {
                self.tcp.close(&connection, &fault);
            }
        }
    }
}

fn listen() -> TcpTransport {
    TcpTransport { listen: vec!["127.0.0.1:0".parse().unwrap()], ..TcpTransport::default() }
}

fn connect(to: &TcpUse) -> TcpTransport {
    TcpTransport { connect: to.bound.clone(), ..TcpTransport::default() }
}

/// Turns both sides until `done`; a watchdog ends what never is.
fn until(sides: &mut [&mut Side], mut done: impl FnMut(&mut [&mut Side]) -> bool) {
    for _ in 0..10_000 {
        if done(sides) {
            return;
        }
        sides.iter_mut().for_each(|side| side.turn());
        node::clock::sleep(Duration::from_millis(1));
    }
    panic!("it was never done: {:?}", sides.iter().map(|side| side.tcp.info()).collect::<Vec<_>>());
}

/// Both directions conform, by the address that was dialled, by the connection of the peer, and to all connections.
#[test]
fn conforms_in_both_directions() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let served = server.enter(listen());
    let _served = client.enter(connect(&served));
    until(&mut [&mut server, &mut client], |sides| sides.iter().all(|side| side.opened.len() == 1));
    assert_eq!((server.opened[0], client.opened[0]), (client.own(), server.own()));
    let address = Locator::tcp(served.bound[0]);
    let foreign = [ELSEWHERE, Locator::IN_PROCESS, Locator::udp(served.bound[0])];
    let (to_server, to_client) = (Arc::clone(&client.tcp), Arc::clone(&server.tcp));
    for to in [address, server.own(), Locator::EVERY_CONNECTION] {
        conforms(&*to_server, to, &foreign, || {
            until(&mut [&mut server, &mut client], |sides| !sides[0].received.is_empty());
            let (from, message) = server.received.pop_front().unwrap();
            assert_eq!(from, client.own());
            message
        });
    }
    conforms(&*to_client, client.own(), &foreign, || {
        until(&mut [&mut server, &mut client], |sides| !sides[1].received.is_empty());
        client.received.pop_front().unwrap().1
    });
    assert!(to_client.send(&Locator::connection([9; 16]), &message(30, 0)).is_err(), "nobody is that");
    assert!(to_client.send(&client.own(), &message(frame::FRAME_BYTES_MAX, 0)).is_err(), "too large");
    assert_eq!((server.tcp.refusals(), client.tcp.refusals()), (0, 0));
}

/// Messages that are sent together arrive as they would one by one, small and large ones mixed.
#[test]
fn messages_sent_together_stay_in_order() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let served = server.enter(listen());
    let _entered = client.enter(connect(&served));
    until(&mut [&mut server, &mut client], |sides| sides.iter().all(|side| side.opened.len() == 1));
    let lengths = [20, 100, 40_000, 30, 65_507, 20, 20, 31_000, 2000].iter().cycle().take(200);
    let all: Vec<Vec<u8>> =
        lengths.enumerate().map(|(i, length)| message(*length, (i % 200) as u8)).collect();
    for some in all.chunks(7) {
        client.tcp.send_all(&server.own(), some.iter().map(Vec::as_slice)).unwrap();
    }
    until(&mut [&mut server, &mut client], |sides| sides[0].received.len() == all.len());
    assert!(server.received.iter().zip(&all).all(|((_, got), sent)| got == sent));
    assert_eq!(client.tcp.queued.load(Ordering::Relaxed), 0);
}

/// What is sent to an announced address before there is a connection arrives once there is one; the address of nobody
/// is an error and is not tried at once again.
#[test]
fn an_address_is_dialled_when_something_is_sent() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let served = server.enter(listen());
    let _entered = client.enter(TcpTransport::default());
    let to = Locator::tcp(served.bound[0]);
    for number in 0..3 {
        client.tcp.send(&to, &message(100, number)).unwrap();
    }
    until(&mut [&mut server, &mut client], |sides| sides[0].received.len() == 3);
    assert!(server.received.iter().enumerate().all(|(number, (_, got))| *got == message(100, number as u8)));
    let nobody = {
        let gone = Side::new(3).enter(listen());
        Locator::tcp(gone.bound[0])
    };
    client.tcp.send(&nobody, &message(100, 0)).unwrap();
    until(&mut [&mut client], |sides| !sides[0].tcp.info().failing.is_empty());
    assert!(client.tcp.send(&nobody, &message(100, 0)).is_err());
    let info = client.tcp.info();
    assert_eq!((info.connected.len(), info.failing.len()), (1, 1), "{info:?}");
    assert!(info.failing[0].1.contains("refused"), "{info:?}");
}

/// A configured address is tried again until somebody answers, and again when the server was replaced by another.
#[test]
fn clients_come_back() {
    let mut server = Side::new(1);
    let served = server.enter(listen());
    let settings = TcpTransport { listen: served.bound.clone(), ..TcpTransport::default() };
    let mut client = Side::new(2);
    let _entered = client.enter(connect(&served));
    until(&mut [&mut server, &mut client], |sides| sides[1].opened.len() == 1);
    drop(served);
    until(&mut [&mut client], |sides| sides[0].tcp.info().failing.len() == 1);
    until(&mut [&mut client], |sides| sides[0].tcp.info().failing[0].1.contains("refused"));
    let mut next = Side::new(3);
    let _served = next.enter(settings);
    until(&mut [&mut next, &mut client], |sides| sides[1].opened.len() == 2);
    assert_eq!(client.opened, [server.own(), next.own()]);
    assert!(client.tcp.info().failing.is_empty());
    client.tcp.send(&next.own(), &message(50, 0)).unwrap();
    assert!(client.tcp.send(&server.own(), &message(50, 0)).is_err());
    until(&mut [&mut next, &mut client], |sides| !sides[0].received.is_empty());
}

/// Two processes that dial each other at once are connected, and messages of both arrive.
#[test]
fn both_may_dial() {
    let (mut left, mut right) = (Side::new(1), Side::new(2));
    let (at_left, at_right) = (left.enter(listen()), right.enter(listen()));
    let (_left, _right) = (left.enter(connect(&at_right)), right.enter(connect(&at_left)));
    until(&mut [&mut left, &mut right], |sides| sides.iter().all(|side| side.opened.len() == 2));
    left.tcp.send(&right.own(), &message(50, 1)).unwrap();
    right.tcp.send(&left.own(), &message(50, 2)).unwrap();
    until(&mut [&mut left, &mut right], |sides| sides.iter().all(|side| side.received.len() == 1));
}

/// A process that dials its own address notices it and lets it be.
#[test]
fn nobody_talks_to_itself() {
    let mut side = Side::new(1);
    let served = side.enter(listen());
    let _entered = side.enter(connect(&served));
    until(&mut [&mut side], |sides| !sides[0].tcp.info().failing.is_empty());
    assert!(side.tcp.info().failing[0].1.contains("this process itself"), "{:?}", side.tcp.info());
    for _ in 0..300 {
        side.turn();
        node::clock::sleep(Duration::from_millis(1));
    }
    assert!(side.tcp.info().connected.is_empty() && side.opened.is_empty());
}

/// Strangers that send anything else are disconnected and remembered; those that only look are not.
#[test]
fn strangers_are_refused() {
    let mut server = Side::new(1);
    let served = server.enter(listen());
    let too_long = {
        let mut frame = [b"RTPS".as_slice(), &[0; 16], &[0x91, 1, 4, 0]].concat();
        frame.extend(u32::MAX.to_le_bytes());
        frame
    };
    let no_hello = {
        let message = message(100, 0);
        let (head, rest) = frame::head(&message).unwrap();
        [&head[..], rest].concat()
    };
    let cases: [(&[u8], &str); 4] = [
        (b"GET / HTTP/1.1\r\n\r\n", "does not send RTPS messages"),
        (&[0x16, 3, 1, 2, 0, 1], "speaks TLS"),
        (&too_long, "4294967295 octets"),
        (&no_hello, "not a hello"),
    ];
    for (number, (bytes, reason)) in cases.into_iter().enumerate() {
        let mut stranger = TcpStream::connect(served.bound[0]).unwrap();
        stranger.write_all(bytes).unwrap();
        until(&mut [&mut server], |sides| sides[0].tcp.refusals() == number as u64 + 1);
        assert!(server.tcp.info().refused[number].1.contains(reason), "{:?}", server.tcp.info());
        stranger.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert!(matches!(stranger.read(&mut [0; 100]), Ok(0) | Err(_)), "a stranger is told nothing");
    }
    drop(TcpStream::connect(served.bound[0]).unwrap());
    until(&mut [&mut server], |sides| lock(&sides[0].tcp.state).connections.is_empty());
    assert_eq!(server.tcp.refusals(), 4);
}

/// Connections that never greet give way to others and end by themselves; a whole crowd of them lets a peer in.
#[test]
fn silent_strangers_give_way() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let served = server.enter(listen());
    let silent: Vec<TcpStream> =
        (0..HALF_OPEN_MAX + 20).map(|_| TcpStream::connect(served.bound[0]).unwrap()).collect();
    until(&mut [&mut server], |sides| sides[0].tcp.refusals() >= 20);
    let _entered = client.enter(connect(&served));
    until(&mut [&mut server, &mut client], |sides| sides[1].opened.len() == 1);
    assert!(lock(&server.tcp.state).connections.len() <= HALF_OPEN_MAX + 1);
    // Those that are left are too late after five seconds.
    until(&mut [&mut server, &mut client], |sides| sides[0].tcp.refusals() as usize == silent.len());
    assert_eq!(server.tcp.info().connected.len(), 1);
}

/// A peer that reads nothing is kept a bounded amount for, the rest is an error and counted, and what was kept arrives
/// whole once it reads again.
#[test]
fn slow_peers_get_a_bounded_queue() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let served = server.enter(listen());
    let _entered = client.enter(connect(&served));
    until(&mut [&mut server, &mut client], |sides| sides.iter().all(|side| side.opened.len() == 1));
    let (mut accepted, mut refused) = (0, 0);
    while refused < 10 {
        match client.tcp.send(&server.own(), &message(60_000, (accepted % 200) as u8)) {
            Ok(()) => accepted += 1,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                refused += 1;
            }
        }
        assert!(accepted < 10_000, "no bound");
    }
    assert_eq!(client.tcp.overflows(), 10);
    assert!(client.tcp.queued.load(Ordering::Relaxed) <= 9 << 20);
    until(&mut [&mut server, &mut client], |sides| sides[0].received.len() == accepted);
    for (number, (_, got)) in server.received.iter().enumerate() {
        assert!(*got == message(60_000, (number % 200) as u8), "message {number}");
    }
    assert_eq!(client.tcp.queued.load(Ordering::Relaxed), 0);
}

/// The last participant that leaves ends all connections and listeners, and frees the port.
#[test]
fn leaving_ends_everything() {
    let (mut server, mut client) = (Side::new(1), Side::new(2));
    let (first, second) = (server.enter(listen()), server.enter(listen()));
    assert_eq!(first.bound, second.bound, "participants of a process share a port");
    let _entered = client.enter(connect(&first));
    until(&mut [&mut server, &mut client], |sides| sides.iter().all(|side| side.opened.len() == 1));
    let address = first.bound[0];
    drop(first);
    assert_eq!(server.tcp.info().connected.len(), 1, "the other participant is there still");
    drop(second);
    assert_eq!(server.tcp.info(), TcpInfo::default());
    assert!(TcpStream::connect(address).is_err());
    until(&mut [&mut client], |sides| sides[0].tcp.info().connected.is_empty());
}
