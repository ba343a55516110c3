//! Cutting a stream of octets into RTPS messages, and the first message of a connection. Pure.
//!
//! Every message on a connection is an RTPS message by itself (RTPS 2.5 section 8.3.3): a header, then submessages. The
//! first one is of our vendor's kinds, which every RTPS receiver skips, and says how long the message is:
//!
//! | octets | content |
//! | --- | --- |
//! | 20 | RTPS header: `RTPS`, version, vendor, participant |
//! | 4 | submessage header: kind 0x91, flags 1 (little-endian), octets that follow = 4 |
//! | 4 | octets of the whole message, these 28 included |
//! | … | the submessages of the message, as by UDP |
//!
//! The first message of each side is a hello: one submessage of kind 0x92 with the framing's version (4 octets) and the
//! identity of the process (16 octets).

use rtps::VENDOR_STILLWATT;
use rtps::message::{HEADER_LEN, PROTOCOL_VERSION};

/// The octets before a message's own submessages: RTPS header and length.
pub(super) const HEAD_LEN: usize = HEADER_LEN + LENGTH_LEN;
/// The largest message on a connection, its head included.
pub(super) const FRAME_BYTES_MAX: usize = 256 << 10;
const LENGTH_LEN: usize = 8;

/// The version of this framing.
const VERSION: u32 = 1;
const KIND_LENGTH: u8 = 0x91;
const KIND_HELLO: u8 = 0x92;
const LITTLE_ENDIAN: u8 = 1;

/// What a peer sent is not our framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameFault {
    #[error("it does not send RTPS messages")]
    NotRtps,
    #[error("it speaks TLS, and this process was not told to")]
    Tls,
    #[error("it does not say how long its messages are: it is not a Stillwatt process")]
    NoLength,
    #[error("it announces a message of {0} octets, and {FRAME_BYTES_MAX} are the most")]
    Length(u32),
    #[error("its first message is not a hello")]
    NoHello,
    #[error("it speaks version {0} of the framing, and this is version {VERSION}")]
    Version(u32),
}

/// The head of `message`, and what follows it on the wire; `None` when it is no RTPS message or too long.
pub(super) fn head(message: &[u8]) -> Option<([u8; HEAD_LEN], &[u8])> {
    let (header, rest) = message.split_first_chunk::<HEADER_LEN>()?;
    let total = HEAD_LEN + rest.len();
    if !header.starts_with(b"RTPS") || total > FRAME_BYTES_MAX {
        return None;
    }
    let mut head = [0; HEAD_LEN];
    let (start, length) = head.split_at_mut(HEADER_LEN);
    start.copy_from_slice(header);
    length.copy_from_slice(&length_submessage(u32::try_from(total).ok()?));
    Some((head, rest))
}

fn length_submessage(total: u32) -> [u8; LENGTH_LEN] {
    let [a, b, c, d] = total.to_le_bytes();
    [KIND_LENGTH, LITTLE_ENDIAN, 4, 0, a, b, c, d]
}

/// How many octets the message at the start of `bytes` has; `None` while that much has not come.
///
/// # Errors
/// As soon as the octets cannot be the start of a message.
pub(super) fn scan(bytes: &[u8]) -> Result<Option<usize>, FrameFault> {
    let Some(head) = bytes.first_chunk::<HEAD_LEN>() else {
        let is_rtps = bytes.iter().zip(b"RTPS").all(|(byte, expected)| byte == expected);
        return if is_rtps { Ok(None) } else { Err(foreign(bytes)) };
    };
    let (header, length) = head.split_at(HEADER_LEN);
    if !header.starts_with(b"RTPS") {
        return Err(foreign(bytes));
    }
    let [KIND_LENGTH, LITTLE_ENDIAN, 4, 0, a, b, c, d] = *length else { return Err(FrameFault::NoLength) };
    let claimed = u32::from_le_bytes([a, b, c, d]);
    let total = usize::try_from(claimed).unwrap_or(usize::MAX);
    if !(HEAD_LEN..=FRAME_BYTES_MAX).contains(&total) {
        return Err(FrameFault::Length(claimed));
    }
    Ok((bytes.len() >= total).then_some(total))
}

/// What a peer speaks instead. TLS begins with the type of a record: an alert or a handshake (RFC 8446 section 5.1).
fn foreign(bytes: &[u8]) -> FrameFault {
    if matches!(bytes, [0x15 | 0x16, 3, ..]) { FrameFault::Tls } else { FrameFault::NotRtps }
}

/// The message of a whole frame as it was before framing; moves the header in place.
pub(super) fn message(frame: &mut [u8]) -> &[u8] {
    if frame.len() < HEAD_LEN {
        return &[];
    }
    frame.copy_within(..HEADER_LEN, LENGTH_LEN);
    frame.split_at(LENGTH_LEN).1
}

/// The first message of a connection.
pub(super) fn hello(identity: [u8; 16]) -> Vec<u8> {
    let mut message = b"RTPS".to_vec();
    message.extend(PROTOCOL_VERSION);
    message.extend(VENDOR_STILLWATT.0);
    // It speaks for a process, not for one of its participants.
    message.extend([0; 12]);
    message.extend([KIND_HELLO, LITTLE_ENDIAN, HELLO_LEN, 0]);
    message.extend(VERSION.to_le_bytes());
    message.extend(identity);
    message
}

const HELLO_LEN: u8 = 20;

/// The identity in a hello.
///
/// # Errors
/// When the message is not one, or of another version.
pub(super) fn read_hello(message: &[u8]) -> Result<[u8; 16], FrameFault> {
    let body = message.get(HEADER_LEN..).unwrap_or_default();
    let Some(([KIND_HELLO, LITTLE_ENDIAN, _, 0], body)) = body.split_first_chunk::<4>() else {
        return Err(FrameFault::NoHello);
    };
    let (version, rest) = body.split_first_chunk::<4>().ok_or(FrameFault::NoHello)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(FrameFault::Version(version));
    }
    let identity = rest.first_chunk::<16>().ok_or(FrameFault::NoHello)?;
    // No process is nobody, or everybody.
    if *identity == [0; 16] || *identity == [0xff; 16] { Err(FrameFault::NoHello) } else { Ok(*identity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        let (head, rest) = head(message).unwrap();
        [&head[..], rest].concat()
    }

    /// A message comes out of the stream as it went in, whatever came before and wherever the stream is cut.
    #[test]
    fn messages_survive_the_stream() {
        let messages = [hello([7; 16]), [b"RTPS".as_slice(), &[2; 16]].concat(), {
            let mut big = hello([9; 16]);
            big.resize(65_507, 5);
            big
        }];
        let stream: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        for cut in [1, 19, 27, 28, 29, 1000, stream.len()] {
            let (mut pending, mut found) = (Vec::new(), Vec::new());
            for chunk in stream.chunks(cut) {
                pending.extend_from_slice(chunk);
                while let Some(length) = scan(&pending).unwrap() {
                    let mut frame: Vec<u8> = pending.drain(..length).collect();
                    found.push(message(&mut frame).to_vec());
                }
            }
            assert!(found == messages, "cut every {cut}");
        }
    }

    /// A framed message is an RTPS message whose submessages are those of the original, after one to skip.
    #[test]
    fn a_frame_is_an_rtps_message() {
        let frame = framed(&hello([7; 16]));
        let (_, messages) = rtps::message::MessageReader::new(&frame).unwrap();
        let kinds: Vec<_> = messages.map(|one| one.unwrap()).collect();
        assert_eq!(kinds, [0x91, 0x92].map(rtps::message::Submessage::Unknown));
    }

    /// What is not the framing is refused at the first octet that shows it, and lengths before anything is kept for
    /// them.
    #[test]
    fn garbage_is_refused_early() {
        assert_eq!(scan(b"GET / HTTP/1.1"), Err(FrameFault::NotRtps));
        assert_eq!(scan(&[0x16, 3, 1]), Err(FrameFault::Tls));
        assert_eq!(scan(b"RT"), Ok(None));
        assert_eq!(scan(&hello([7; 16])), Err(FrameFault::NoLength));
        let mut frame = framed(&hello([7; 16]));
        for (claimed, answer) in [(27, Err(FrameFault::Length(27))), (28, Ok(Some(28))), (1000, Ok(None))] {
            frame[24..28].copy_from_slice(&u32::to_le_bytes(claimed));
            assert_eq!(scan(&frame), answer);
        }
        frame[24..28].copy_from_slice(&[0xff; 4]);
        assert_eq!(scan(&frame), Err(FrameFault::Length(u32::MAX)));
        assert!(head(b"RTPX").is_none() && head(&[0; 40]).is_none());
        assert!(head(&[&b"RTPS"[..], &vec![0; FRAME_BYTES_MAX]].concat()).is_none());
    }

    /// Streams with octets flipped, cut out and doubled at random are read to their end or refused: nothing panics, and
    /// no message is longer than was sent or than the bound.
    #[test]
    fn damaged_streams_end_somewhere() {
        use super::super::backoff::random;
        let mut state = 7;
        let good: Vec<u8> = [hello([7; 16]), b"RTPS0123456789abcdef".to_vec()]
            .iter()
            .cycle()
            .take(10)
            .flat_map(|message| framed(message))
            .collect();
        let (mut whole, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut stream = good.clone();
            for _ in 0..random(&mut state) % 4 {
                let at = random(&mut state) as usize % stream.len();
                match random(&mut state) % 3 {
                    0 => stream[at] = random(&mut state) as u8,
                    1 => drop(stream.drain(at..stream.len().min(at + 5))),
                    _ => stream.insert(at, random(&mut state) as u8),
                }
            }
            let mut start = 0;
            loop {
                match scan(&stream[start..]) {
                    Ok(Some(length)) => {
                        assert!((HEAD_LEN..=FRAME_BYTES_MAX.min(stream.len())).contains(&length));
                        let read = message(&mut stream[start..start + length]).to_vec();
                        assert_eq!(read.len(), length - 8);
                        let _ = read_hello(&read);
                        start += length;
                    }
                    Ok(None) => break whole += 1,
                    Err(_) => break refused += 1,
                }
            }
        }
        assert!(whole > 5000 && refused > 1000, "{whole} {refused}");
    }

    /// A hello gives the identity; another version, a cut one or another message does not.
    #[test]
    fn a_hello_names_the_process() {
        let good = hello([7; 16]);
        assert_eq!(read_hello(&good), Ok([7; 16]));
        assert_eq!(read_hello(&good[..43]), Err(FrameFault::NoHello));
        assert_eq!(read_hello(&good[..10]), Err(FrameFault::NoHello));
        assert_eq!(read_hello(&hello([0xff; 16])), Err(FrameFault::NoHello));
        let mut later = good;
        later[24] = 2;
        assert_eq!(read_hello(&later), Err(FrameFault::Version(2)));
    }
}
