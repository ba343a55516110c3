#![expect(clippy::disallowed_methods, reason = "I/O shell: bare TCP sockets are what this measures")]
//! Blocking TCP sockets with `TCP_NODELAY`, one connection for each answering process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::super::line::{self, Received, Sent, now_ns};
use super::{PeerOptions, drive, header, sample, set_header};
use crate::bench::program::failed;
use crate::report::{Exit, Failure};

fn listen(options: &PeerOptions) -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind((options.local_address(), 0)).map_err(failed)?;
    line::say(&line::Ready::new(Some(listener.local_addr().map_err(failed)?.to_string())));
    Ok(listener)
}

fn accept(listener: &TcpListener) -> Result<TcpStream, Failure> {
    let (stream, _) = listener.accept().map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

fn connect(to: &SocketAddr) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(to).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

/// Answers until the master closes the connection.
pub(super) fn pong(options: &PeerOptions) -> Result<Exit, Failure> {
    let mut stream = accept(&listen(options)?)?;
    let mut buffer = sample(options.size);
    while stream.read_exact(&mut buffer).is_ok() {
        if let Some((_, number)) = header(&buffer) {
            set_header(&mut buffer, options.id, number);
        }
        stream.write_all(&buffer).map_err(failed)?;
    }
    Ok(Exit::Done)
}

/// Sends each round on every connection, then reads the answers in the order of the connections.
pub(super) fn ping(options: &PeerOptions) -> Result<Exit, Failure> {
    let mut readers = options.to.iter().map(connect).collect::<Result<Vec<_>, _>>()?;
    let mut writers =
        readers.iter().map(TcpStream::try_clone).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut out = sample(options.size);
    let mut buffer = out.clone();
    let mut turn = 0;
    drive(
        options,
        |number| {
            set_header(&mut out, 0, number);
            writers.iter_mut().try_for_each(|stream| stream.write_all(&out).map_err(failed))
        },
        || {
            let count = readers.len();
            if let Some(stream) = readers.get_mut(turn) {
                stream.read_exact(&mut buffer).map_err(failed)?;
            }
            turn = (turn + 1) % count.max(1);
            Ok(header(&buffer))
        },
    )
}

/// Receives all samples.
pub(super) fn rx(options: &PeerOptions) -> Result<Exit, Failure> {
    let mut stream = accept(&listen(options)?)?;
    let mut buffer = sample(options.size);
    let (mut seen, mut next) = (Received::default(), 0);
    while next < options.samples && stream.read_exact(&mut buffer).is_ok() {
        seen.last_ns = now_ns();
        if seen.received == 0 {
            seen.first_ns = seen.last_ns;
        }
        let number = header(&buffer).map_or(0, |(_, number)| number);
        seen.received += 1;
        seen.bytes += u64::from(options.size);
        seen.disordered += u64::from(number != next);
        next = number.wrapping_add(1);
    }
    line::say(&seen);
    line::wait_for_end();
    Ok(Exit::Done)
}

/// Sends all samples without pause.
pub(super) fn tx(options: &PeerOptions) -> Result<Exit, Failure> {
    let to = options.to.first().ok_or_else(|| Failure::new(Exit::Usage, "the floor's tx needs --to"))?;
    let mut stream = connect(to)?;
    let mut out = sample(options.size);
    let first_ns = now_ns();
    for number in 0..options.samples {
        set_header(&mut out, 0, number);
        stream.write_all(&out).map_err(failed)?;
    }
    line::say(&Sent { sent: options.samples, refused: 0, first_ns, last_ns: now_ns(), acknowledged: false });
    line::wait_for_end();
    Ok(Exit::Done)
}
