//! UDP datagrams of packet captures: pcap and pcapng, Ethernet, Linux cooked, loopback and raw IP.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// A datagram and how it travelled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packet<'a> {
    pub(super) bytes: &'a [u8],
    /// When it was captured, in seconds of Unix time.
    pub(super) seconds: Option<f64>,
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    /// Whether the capture or an IP fragment holds its start only.
    pub(super) is_cut: bool,
}

/// What a capture holds: datagrams in order, and how many packets were left out and why.
#[derive(Debug, Default)]
pub(super) struct Capture<'a> {
    pub(super) packets: Vec<Packet<'a>>,
    pub(super) skipped: BTreeMap<&'static str, u64>,
}

/// A capture that cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the capture ends or breaks at octet {at}: {what}")]
pub(super) struct CaptureError {
    at: usize,
    what: &'static str,
}

/// Whether this is the start of a capture.
pub(super) fn is_capture(bytes: &[u8]) -> bool {
    matches!(bytes.first_chunk(), Some(&PCAPNG)) || byte_order(bytes).is_some()
}

/// The datagrams of a capture, up to where it breaks.
pub(super) fn read(bytes: &[u8]) -> (Capture<'_>, Option<CaptureError>) {
    let mut capture = Capture::default();
    let result = if bytes.first_chunk() == Some(&PCAPNG) {
        capture.read_blocks(bytes)
    } else {
        capture.read_records(bytes)
    };
    (capture, result.err())
}

const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Byte order and ticks a second, by the magic number of a pcap file.
fn byte_order(bytes: &[u8]) -> Option<(bool, f64)> {
    match bytes.first_chunk()? {
        [0xd4, 0xc3, 0xb2, 0xa1] => Some((true, 1e6)),
        [0x4d, 0x3c, 0xb2, 0xa1] => Some((true, 1e9)),
        [0xa1, 0xb2, 0xc3, 0xd4] => Some((false, 1e6)),
        [0xa1, 0xb2, 0x3c, 0x4d] => Some((false, 1e9)),
        _ => None,
    }
}

/// Numbers of a file in its byte order.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl Numbers<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let octets = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.is_little { u16::from_le_bytes(octets) } else { u16::from_be_bytes(octets) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let octets = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.is_little { u32::from_le_bytes(octets) } else { u32::from_be_bytes(octets) })
    }

    fn length(&self, at: usize) -> Option<usize> {
        self.u32(at).and_then(|number| usize::try_from(number).ok())
    }
}

/// An interface of a pcapng file.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    ticks: f64,
}

/// One captured frame.
struct Frame<'a> {
    link: u32,
    seconds: Option<f64>,
    bytes: &'a [u8],
    is_cut: bool,
}

impl<'a> Capture<'a> {
    fn read_records(&mut self, bytes: &'a [u8]) -> Result<(), CaptureError> {
        let (is_little, ticks) = byte_order(bytes).ok_or(CaptureError { at: 0, what: "no pcap header" })?;
        let numbers = Numbers { bytes, is_little };
        let link = numbers.u32(20).ok_or(CaptureError { at: bytes.len(), what: "the header is short" })?;
        let mut at = 24;
        while at < bytes.len() {
            let short = CaptureError { at, what: "a record is short" };
            let kept = numbers.length(at + 8).ok_or(short)?;
            let whole = numbers.length(at + 12).ok_or(short)?;
            let (seconds, fraction) = (numbers.u32(at).ok_or(short)?, numbers.u32(at + 4).ok_or(short)?);
            let frame = bytes.get(at + 16..).and_then(|rest| rest.get(..kept)).ok_or(short)?;
            let seconds = Some(f64::from(seconds) + f64::from(fraction) / ticks);
            // The upper half of the link type has other uses.
            self.frame(Frame { link: link & 0xffff, seconds, bytes: frame, is_cut: kept < whole });
            at += 16 + kept;
        }
        Ok(())
    }

    fn read_blocks(&mut self, bytes: &'a [u8]) -> Result<(), CaptureError> {
        let mut interfaces: Vec<Interface> = Vec::new();
        let mut is_little = true;
        let mut at = 0;
        while at < bytes.len() {
            let short = CaptureError { at, what: "a block is short" };
            if bytes.get(at..).and_then(<[u8]>::first_chunk) == Some(&PCAPNG) {
                is_little = bytes.get(at + 8) == Some(&0x4d);
                interfaces.clear();
            }
            let numbers = Numbers { bytes, is_little };
            let (kind, length) = (numbers.u32(at).ok_or(short)?, numbers.length(at + 4).ok_or(short)?);
            if length < 12 || length % 4 != 0 {
                return Err(CaptureError { at, what: "a block has an impossible length" });
            }
            let block = bytes.get(at..).and_then(|rest| rest.get(..length)).ok_or(short)?;
            let numbers = Numbers { bytes: block, is_little };
            match kind {
                1 if interfaces.len() < INTERFACES_MAX => {
                    let link = numbers.u16(8).ok_or(short)?;
                    interfaces.push(Interface { link: link.into(), ticks: ticks(numbers) });
                }
                6 => {
                    let interface = numbers.length(8).and_then(|index| interfaces.get(index)).copied();
                    let (high, low) = (numbers.u32(12).ok_or(short)?, numbers.u32(16).ok_or(short)?);
                    let (kept, whole) = (numbers.length(20).ok_or(short)?, numbers.length(24).ok_or(short)?);
                    let frame = block.get(28..).and_then(|rest| rest.get(..kept)).ok_or(short)?;
                    let Some(interface) = interface else {
                        self.skip("packets of an unknown interface");
                        at += length;
                        continue;
                    };
                    let seconds =
                        Some((f64::from(high) * 4_294_967_296.0 + f64::from(low)) / interface.ticks);
                    self.frame(Frame { link: interface.link, seconds, bytes: frame, is_cut: kept < whole });
                }
                3 => {
                    let whole = numbers.length(8).ok_or(short)?;
                    let kept = whole.min(length - 16.min(length));
                    let frame = block.get(12..).and_then(|rest| rest.get(..kept)).ok_or(short)?;
                    if let Some(interface) = interfaces.first().copied() {
                        self.frame(Frame {
                            link: interface.link,
                            seconds: None,
                            bytes: frame,
                            is_cut: kept < whole,
                        });
                    }
                }
                _ => {}
            }
            at += length;
        }
        Ok(())
    }

    fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    fn frame(&mut self, frame: Frame<'a>) {
        match datagram(&frame) {
            Ok(packet) => self.packets.push(packet),
            Err(why) => self.skip(why),
        }
    }
}

/// Interfaces of one section of a pcapng file; packets of further ones are skipped.
const INTERFACES_MAX: usize = 1024;

/// Ticks a second of an interface: option 9 of its block, a microsecond by default.
fn ticks(block: Numbers<'_>) -> f64 {
    let mut at = 16;
    while let (Some(code @ 1..), Some(length)) = (block.u16(at), block.u16(at + 2)) {
        if code == 9 {
            let exponent = block.bytes.get(at + 4).copied().unwrap_or(6);
            let power = i32::from(exponent & 0x7f);
            return if exponent & 0x80 == 0 { 10_f64.powi(power) } else { 2_f64.powi(power) };
        }
        at += 4 + usize::from(length).next_multiple_of(4);
    }
    1e6
}

const ETHERTYPE_V4: u16 = 0x0800;
const ETHERTYPE_V6: u16 = 0x86dd;

/// The UDP datagram of a frame.
fn datagram<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, &'static str> {
    const SHORT: &str = "packets that end within a header";
    let bytes = frame.bytes;
    let ethertype = |at: usize| Numbers { bytes, is_little: false }.u16(at).ok_or(SHORT);
    let (mut at, mut kind) = match frame.link {
        1 => (14, ethertype(12)?),
        113 => (16, ethertype(14)?),
        276 => (20, ethertype(0)?),
        0 | 12 | 14 | 101 | 108 | 228 | 229 => {
            let at = if matches!(frame.link, 0 | 108) { 4 } else { 0 };
            let version = bytes.get(at).ok_or(SHORT)? >> 4;
            (at, if version == 6 { ETHERTYPE_V6 } else { ETHERTYPE_V4 })
        }
        _ => return Err("packets of an unknown kind of link"),
    };
    for _ in 0..TAGS_MAX {
        if matches!(kind, 0x8100 | 0x88a8) {
            kind = ethertype(at + 2)?;
            at += 4;
        }
    }
    let ip = bytes.get(at..).ok_or(SHORT)?;
    let (from, to, udp, is_fragment) = match kind {
        ETHERTYPE_V4 => v4(ip)?,
        ETHERTYPE_V6 => v6(ip)?,
        _ => return Err("packets that are not IP"),
    };
    let numbers = Numbers { bytes: udp, is_little: false };
    let (Some(source), Some(target), Some(length)) = (numbers.u16(0), numbers.u16(2), numbers.u16(4)) else {
        return Err(SHORT);
    };
    let payload = udp.get(8..).ok_or(SHORT)?;
    let stated = usize::from(length).saturating_sub(8);
    let is_cut = frame.is_cut || is_fragment || stated > payload.len();
    Ok(Packet {
        bytes: payload.get(..stated).unwrap_or(payload),
        seconds: frame.seconds,
        ends: Some((SocketAddr::new(from, source), SocketAddr::new(to, target))),
        is_cut,
    })
}

/// VLAN tags of a frame.
const TAGS_MAX: usize = 2;
const UDP: u8 = 17;
const NOT_UDP: &str = "packets that are not UDP";
const FRAGMENT: &str = "later fragments of IP packets";
const SHORT_IP: &str = "packets that end within a header";

type Ip<'a> = (IpAddr, IpAddr, &'a [u8], bool);

fn v4(ip: &[u8]) -> Result<Ip<'_>, &'static str> {
    let header: &[u8; 20] = ip.first_chunk().ok_or(SHORT_IP)?;
    let [first, _, length_high, length_low, _, _, fragment_high, fragment_low, _, protocol, ..] = *header;
    let [.., a, b, c, d, e, f, g, h] = *header;
    if protocol != UDP {
        return Err(NOT_UDP);
    }
    let fragment = u16::from_be_bytes([fragment_high, fragment_low]);
    if fragment & 0x1fff != 0 {
        return Err(FRAGMENT);
    }
    let total = usize::from(u16::from_be_bytes([length_high, length_low]));
    // A total of zero is written where the network card does the cutting.
    let whole = if total == 0 { ip } else { ip.get(..total.min(ip.len())).unwrap_or(ip) };
    let udp = whole.get(usize::from(first & 0x0f) * 4..).ok_or(SHORT_IP)?;
    Ok(([a, b, c, d].into(), [e, f, g, h].into(), udp, fragment & 0x2000 != 0))
}

fn v6(ip: &[u8]) -> Result<Ip<'_>, &'static str> {
    let address = |at: usize| -> Result<IpAddr, &'static str> {
        let octets: [u8; 16] = *ip.get(at..).and_then(<[u8]>::first_chunk).ok_or(SHORT_IP)?;
        Ok(octets.into())
    };
    let (from, to) = (address(8)?, address(24)?);
    let mut next = *ip.get(6).ok_or(SHORT_IP)?;
    let mut at = 40;
    let mut is_fragment = false;
    for _ in 0..EXTENSIONS_MAX {
        match next {
            UDP => return Ok((from, to, ip.get(at..).ok_or(SHORT_IP)?, is_fragment)),
            0 | 43 | 60 => {
                next = *ip.get(at).ok_or(SHORT_IP)?;
                let units = *ip.get(at + 1).ok_or(SHORT_IP)?;
                at += 8 + usize::from(units) * 8;
            }
            44 => {
                let place = Numbers { bytes: ip, is_little: false }.u16(at + 2).ok_or(SHORT_IP)?;
                if place & 0xfff8 != 0 {
                    return Err(FRAGMENT);
                }
                is_fragment = place & 1 != 0;
                next = *ip.get(at).ok_or(SHORT_IP)?;
                at += 8;
            }
            _ => return Err(NOT_UDP),
        }
    }
    Err(NOT_UDP)
}

/// Extension headers of an IPv6 packet.
const EXTENSIONS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An Ethernet frame around an IPv4 UDP datagram.
    fn frame(payload: &[u8], tagged: bool, fragment: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        if tagged {
            frame.extend_from_slice(&[0x81, 0x00, 0, 7]);
        }
        frame.extend_from_slice(&[0x08, 0x00]);
        let length = u16::try_from(28 + payload.len()).unwrap();
        frame.extend_from_slice(&[0x45, 0]);
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(&fragment.to_be_bytes());
        frame.extend_from_slice(&[64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend_from_slice(&7410_u16.to_be_bytes());
        frame.extend_from_slice(&7411_u16.to_be_bytes());
        frame.extend_from_slice(&(length - 20).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(payload);
        // Ethernet pads short frames.
        frame.resize(frame.len().max(60), 0);
        frame
    }

    fn pcap(frames: &[Vec<u8>], is_little: bool) -> Vec<u8> {
        let number = |number: u32| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        let mut bytes = number(0xa1b2_c3d4).to_vec();
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(&number(1));
        for frame in frames {
            let length = u32::try_from(frame.len()).unwrap();
            for value in [1_700_000_000, 250_000, length, length] {
                bytes.extend_from_slice(&number(value));
            }
            bytes.extend_from_slice(frame);
        }
        bytes
    }

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap();
        let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.extend_from_slice(body);
        bytes.resize(length as usize - 4, 0);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes
    }

    fn pcapng(frames: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes =
            block(u32::from_le_bytes(PCAPNG), &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255]);
        // Nanoseconds, by option 9.
        bytes.extend(block(1, &[1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
        for frame in frames {
            let ticks = 1_700_000_000_250_000_000_u64;
            let length = u32::try_from(frame.len()).unwrap();
            let mut body = 0_u32.to_le_bytes().to_vec();
            body.extend_from_slice(&u32::try_from(ticks >> 32).unwrap().to_le_bytes());
            body.extend_from_slice(&(ticks as u32).to_le_bytes());
            body.extend_from_slice(&length.to_le_bytes());
            body.extend_from_slice(&length.to_le_bytes());
            body.extend_from_slice(frame);
            bytes.extend(block(6, &body));
        }
        bytes
    }

    /// The same datagrams come out of every form, with their ends and times; what is no whole datagram is counted or
    /// marked.
    #[test]
    fn forms_agree() {
        let frames = [
            frame(b"RTPS1", false, 0),
            frame(b"RTPS22", true, 0),
            frame(b"RTPS333", false, 0x2000),
            frame(b"x", false, 7),
        ];
        for bytes in [pcap(&frames, true), pcap(&frames, false), pcapng(&frames)] {
            assert!(is_capture(&bytes));
            let (capture, error) = read(&bytes);
            assert_eq!(error, None);
            let found: Vec<_> = capture.packets.iter().map(|packet| (packet.bytes, packet.is_cut)).collect();
            assert_eq!(found, [(&b"RTPS1"[..], false), (b"RTPS22", false), (b"RTPS333", true)]);
            assert_eq!(capture.skipped, BTreeMap::from([(FRAGMENT, 1)]));
            let first = &capture.packets[0];
            let (from, to) = first.ends.unwrap();
            assert_eq!(
                (from.to_string(), to.to_string()),
                ("192.0.2.1:7410".into(), "192.0.2.2:7411".into())
            );
            assert!((first.seconds.unwrap() - 1_700_000_000.25).abs() < 1e-5);
        }
    }

    /// A capture that breaks off gives what came before.
    #[test]
    fn broken_captures_give_their_start() {
        let frames = [frame(b"RTPS1", false, 0), frame(b"RTPS2", false, 0)];
        for bytes in [pcap(&frames, true), pcapng(&frames)] {
            let (capture, error) = read(&bytes[..bytes.len() - 9]);
            assert_eq!(capture.packets.len(), 1);
            assert!(error.is_some());
        }
    }

    /// IPv6, also behind extension headers, and raw IP.
    #[test]
    fn ipv6_is_read() {
        let mut ip = vec![0x60, 0, 0, 0, 0, 20, 0, 64];
        ip.extend_from_slice(&[1; 16]);
        ip.extend_from_slice(&[2; 16]);
        ip.extend_from_slice(&[17, 0, 0, 0, 0, 0, 0, 0]);
        ip.extend_from_slice(&[0x1c, 0xf2, 0x1c, 0xf3, 0, 12, 0, 0, b'R', b'T', b'P', b'S']);
        let packet = datagram(&Frame { link: 101, seconds: None, bytes: &ip, is_cut: false }).unwrap();
        assert_eq!((packet.bytes, packet.is_cut), (&b"RTPS"[..], false));
        assert_eq!(packet.ends.unwrap().1.port(), 7411);
    }

    proptest! {
        /// Changed and cut captures are read without harm.
        #[test]
        fn anything_is_read(
            edits in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..32),
            length in 0_usize..700,
            form in 0..3,
        ) {
            let frames = [frame(b"RTPS1", false, 0), frame(b"RTPS22", true, 0x2000)];
            let mut bytes = match form {
                0 => pcap(&frames, true),
                1 => pcap(&frames, false),
                _ => pcapng(&frames),
            };
            bytes.truncate(length);
            for (at, octet) in edits {
                let at = usize::from(at) % bytes.len().max(1);
                bytes.get_mut(at).into_iter().for_each(|place| *place = octet);
            }
            if is_capture(&bytes) {
                let _ = read(&bytes);
            }
        }
    }
}
