#![expect(clippy::disallowed_methods, reason = "I/O shell: bare UDP sockets are what this measures")]
//! Blocking UDP sockets.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::super::line::{self, Received, Sent, now_ns};
use super::{PeerOptions, drive, header, sample, set_header};
use crate::bench::program::failed;
use crate::bench::transport::BenchTransport;
use crate::report::{Exit, Failure};

/// A group that no DDS of the benches uses.
const GROUP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(239, 255, 0, 77)), 17_900);
/// A datagram's largest payload; a larger sample is sent as several.
const DATAGRAM_MAX: usize = 65_000;
/// A round without answer is sent again after this.
const ANSWER_MAX: Duration = Duration::from_millis(500);
/// A stream counts as over after so much silence.
const SILENCE_MAX: Duration = Duration::from_millis(500);
const BUFFER_BYTES: usize = 4 << 20;

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn bind(options: &PeerOptions) -> Result<UdpSocket, Failure> {
    let socket = UdpSocket::bind((options.local_address(), 0)).map_err(failed)?;
    // The kernel's limit may give less; the floor is then measured with that.
    let _ = SockRef::from(&socket).set_recv_buffer_size(BUFFER_BYTES);
    Ok(socket)
}

/// Where `pong` hears of rounds: its own socket, or the group's.
fn listener(options: &PeerOptions, own: &UdpSocket) -> Result<UdpSocket, Failure> {
    if options.transport != BenchTransport::Udpm {
        return own.try_clone().map_err(failed);
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).map_err(failed)?;
    socket.set_reuse_address(true).map_err(failed)?;
    socket.bind(&GROUP.into()).map_err(failed)?;
    let group = Ipv4Addr::new(239, 255, 0, 77);
    socket.join_multicast_v4(&group, &options.address.unwrap_or(Ipv4Addr::LOCALHOST)).map_err(failed)?;
    Ok(socket.into())
}

fn send(socket: &UdpSocket, bytes: &[u8], to: SocketAddr) -> Result<(), Failure> {
    for part in bytes.chunks(DATAGRAM_MAX) {
        socket.send_to(part, to).map_err(failed)?;
    }
    Ok(())
}

/// Receives one sample of `length` bytes, whose first part has the header. Gives its sender.
fn receive(socket: &UdpSocket, buffer: &mut [u8], length: usize) -> std::io::Result<SocketAddr> {
    let mut have = 0;
    loop {
        let room = buffer.get_mut(have..).unwrap_or_default();
        let (count, from) = socket.recv_from(room)?;
        have += count;
        if have >= length || count == 0 {
            return Ok(from);
        }
    }
}

/// Answers every sample; ends with the process's standard input, or when killed.
pub(super) fn pong(options: &PeerOptions) -> Result<Exit, Failure> {
    let socket = bind(options)?;
    let rounds = listener(options, &socket)?;
    line::say(&line::Ready::new(Some(socket.local_addr().map_err(failed)?.to_string())));
    let length = sample(options.size).len();
    let mut buffer = vec![0; length];
    loop {
        let from = receive(&rounds, &mut buffer, length).map_err(failed)?;
        let Some((_, number)) = header(&buffer) else { continue };
        if number == u32::MAX {
            return Ok(Exit::Done);
        }
        set_header(&mut buffer, options.id, number);
        send(&socket, &buffer, from)?;
    }
}

/// Sends rounds to every answering socket, or once to the group.
pub(super) fn ping(options: &PeerOptions) -> Result<Exit, Failure> {
    let socket = bind(options)?;
    socket.set_read_timeout(Some(ANSWER_MAX)).map_err(failed)?;
    let local = options.address.unwrap_or(Ipv4Addr::LOCALHOST);
    SockRef::from(&socket).set_multicast_if_v4(&local).map_err(failed)?;
    let group = [GROUP];
    let everyone = if options.transport == BenchTransport::Udpm { &group } else { options.to.as_slice() };
    let mut out = sample(options.size);
    let length = out.len();
    let mut buffer = vec![0; length];
    let exit = drive(
        options,
        |number| {
            set_header(&mut out, 0, number);
            everyone.iter().try_for_each(|to| send(&socket, &out, *to))
        },
        || match receive(&socket, &mut buffer, length) {
            Ok(_) => Ok(header(&buffer)),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(failed(error)),
        },
    )?;
    set_header(&mut out, 0, u32::MAX);
    everyone.iter().try_for_each(|to| send(&socket, &out, *to))?;
    Ok(exit)
}

/// Receives until silence.
pub(super) fn rx(options: &PeerOptions) -> Result<Exit, Failure> {
    let socket = bind(options)?;
    line::say(&line::Ready::new(Some(socket.local_addr().map_err(failed)?.to_string())));
    let length = sample(options.size).len();
    let mut buffer = vec![0; length];
    let (mut seen, mut next) = (Received::default(), 0);
    loop {
        match receive(&socket, &mut buffer, length) {
            Ok(_) => {}
            Err(error) if is_timeout(&error) => break,
            Err(error) => return Err(failed(error)),
        }
        let Some((_, number)) = header(&buffer) else { continue };
        seen.last_ns = now_ns();
        if seen.received == 0 {
            seen.first_ns = seen.last_ns;
            socket.set_read_timeout(Some(SILENCE_MAX)).map_err(failed)?;
        }
        seen.received += 1;
        seen.bytes += u64::from(options.size);
        seen.disordered += u64::from(number != next);
        next = number.wrapping_add(1);
        if next == options.samples {
            break;
        }
    }
    line::say(&seen);
    line::wait_for_end();
    Ok(Exit::Done)
}

/// Sends without pause. Nothing holds it back, so samples may be lost.
pub(super) fn tx(options: &PeerOptions) -> Result<Exit, Failure> {
    let socket = bind(options)?;
    let to = options.to.first().ok_or_else(|| Failure::new(Exit::Usage, "the floor's tx needs --to"))?;
    let mut out = sample(options.size);
    let first_ns = now_ns();
    for number in 0..options.samples {
        set_header(&mut out, 0, number);
        send(&socket, &out, *to)?;
    }
    line::say(&Sent { sent: options.samples, refused: 0, first_ns, last_ns: now_ns(), acknowledged: false });
    line::wait_for_end();
    Ok(Exit::Done)
}
