//! A live participant under a flood of hostile datagrams: no panic, bounded memory, bounded answers, and a bystander
//! that loses nothing.
//!
//! The bus has no authentication: who copies a participant's GUID can disturb that participant's own traffic. What is
//! tested is that nobody else's suffers.
#![allow(unsafe_code, reason = "a counting allocator can only be written with it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the whole file is test code")]

mod flood;
mod puppet;
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use flood::{Flood, LIARS};
use proptest::prelude::*;
use puppet::Puppet;
use rtps::message::{DataFrag, InlineQos, Payload};
use rtps::qos::{History, Qos};
use rtps::{EntityId, FragmentNumber, GuidPrefix, Limits, Locator, ParticipantConfig, SequenceNumber};
use world::{World, best_effort, durable, number, numbers, reliable};

/// The system's allocator with a count of live bytes for each thread: every test runs on its own.
struct Counting;

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    // While a thread ends its count is gone already; nobody reads it then.
    let _gone = LIVE.try_with(|live| live.set(live.get() + sign * bytes));
}

// SAFETY: every call goes to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller keeps `dealloc`'s contract, and the pointer is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn live() -> i64 {
    LIVE.with(Cell::get)
}

/// Bounds that a flood reaches many times over.
fn limits() -> Limits {
    Limits {
        participants_max: 64,
        unconfirmed_max: 16,
        endpoints_per_participant_max: 32,
        endpoints_max: 64,
        reorder_max: 128,
        partial_samples_max: 8,
        sample_bytes_max: 100_000,
        partial_bytes_max: 128 << 10,
        repair_bytes_max: 64 << 10,
        flight_bytes_max: 4 << 10,
        keep_all_max: 128,
        instances_max: 128,
        outbox_max: 2048,
        events_max: 256,
    }
}

/// A target with a peer whose traffic is copied and damaged, a bystander, and a liar, all matched.
struct Siege {
    world: World,
    flood: Flood,
    target: usize,
    peer: usize,
    peer_writer: EntityId,
    bystander: usize,
    /// The target's readers that the liar writes to, and its reader of the bystander's topic.
    readers: [EntityId; 2],
    own: EntityId,
    /// The target's durable writer, which all listen to.
    durable: EntityId,
    /// The bystander's endpoints.
    writer: EntityId,
    reader: EntityId,
    written: u64,
    got: [Vec<Vec<u8>>; 2],
}

impl Siege {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed);
        let config = ParticipantConfig { limits: limits(), fragment_size: 1344, ..world.config(1) };
        let target = world.add_configured(config);
        let (peer, bystander) = (world.add(), world.add());
        world.is_tapped = true;
        // The liar never acknowledges: with keep-all it would be entitled to stop the writer.
        let keep_last = Qos { history: History::KeepLast(40), ..durable() };
        let readers = [
            world.reader(target, "reliable", &reliable()),
            world.reader(target, "best effort", &best_effort()),
        ];
        let own = world.reader(target, "bystander", &reliable());
        let durable = world.writer(target, "durable", &keep_last);
        let spoofed =
            [world.writer(peer, "reliable", &reliable()), world.writer(peer, "best effort", &best_effort())];
        world.reader(peer, "durable", &keep_last);
        let writer = world.writer(bystander, "bystander", &reliable());
        let reader = world.reader(bystander, "durable", &keep_last);
        world.run_for(Duration::from_secs(2));
        for value in 0..20 {
            spoofed.iter().for_each(|writer| world.write(peer, *writer, &number(value)));
            let mut large = number(0);
            large.resize(if value == 7 { 60_000 } else { 500 }, 7);
            world.write(target, durable, &large);
            world.run_for(Duration::from_millis(5));
            world.take_all(bystander, reader);
        }
        world.is_tapped = false;
        let tap = std::mem::take(&mut world.tap);
        let pool = tap.into_iter().filter(|(from, _)| *from != bystander).map(|(_, bytes)| bytes).collect();
        let prefix = world.participant(target).guid().prefix;
        let flood = Flood::new(seed, prefix, durable, pool);
        let got = [Vec::new(), Vec::new()];
        let mut siege = Self {
            world,
            flood,
            target,
            peer,
            peer_writer: spoofed[0],
            bystander,
            readers,
            own,
            durable,
            writer,
            reader,
            written: 0,
            got,
        };
        siege.introduce_liar();
        siege
    }

    /// Whether the target still believes in all that the liar announced.
    fn is_liar_matched(&mut self) -> bool {
        let participant = self.world.participant(self.target);
        let is_liar = |guid: &rtps::Guid| guid.prefix == self.flood.liar.prefix;
        let mut locals = [self.readers[0], self.readers[1], self.durable].into_iter();
        locals.all(|local| participant.matched(local).iter().any(is_liar))
    }

    fn introduce_liar(&mut self) {
        for bytes in self.flood.introduction() {
            self.inject(&bytes);
        }
        assert!(self.is_liar_matched());
    }

    /// Injects a datagram; returns how many the target sent because of it.
    fn inject(&mut self, bytes: &[u8]) -> u64 {
        let before = self.world.participant(self.target).statistics();
        self.world.inject(self.target, bytes);
        let after = self.world.participant(self.target).statistics();
        assert_eq!(after.outbox_dropped, before.outbox_dropped, "no datagram fills the outbox");
        after.datagrams_sent - before.datagrams_sent
    }

    /// The bystander and the target exchange a sample each way; everybody takes what there is.
    fn exchange(&mut self) {
        self.written += 1;
        self.world.write(self.bystander, self.writer, &number(self.written));
        self.world.write(self.target, self.durable, &number(self.written));
        self.world.run_for(Duration::from_millis(2));
        let taken =
            [self.world.take_all(self.target, self.own), self.world.take_all(self.bystander, self.reader)];
        self.got.iter_mut().zip(taken).for_each(|(got, taken)| got.extend(taken));
        for reader in self.readers {
            self.world.take_all(self.target, reader);
        }
        (0..3).for_each(|host| drop(self.world.events(host)));
    }

    /// The bystander has noticed nothing, and a newcomer is served.
    fn check_bystander(&mut self) {
        self.world.run_for(Duration::from_secs(1));
        self.exchange();
        let all: Vec<_> = (1..=self.written).collect();
        assert_eq!(numbers(&self.got[0]), all, "from the bystander");
        assert_eq!(numbers(&self.got[1]), all, "to the bystander");
        let newcomer = self.world.add();
        let writer = self.world.writer(newcomer, "bystander", &reliable());
        self.world.run_for(Duration::from_secs(1));
        self.world.write(newcomer, writer, &number(77));
        self.world.run_for(Duration::from_millis(10));
        assert_eq!(numbers(&self.world.take_all(self.target, self.own)), [77], "from a newcomer");
    }
}

/// What one hostile datagram may make the target send at most: what a reader's credit buys, and an answer for each of
/// the questions that fit in a datagram.
const ANSWERS_MAX: u64 = 600;

/// Twenty thousand hostile datagrams: bounded memory at every moment, bounded answers to each, no effect on others.
#[test]
fn a_flood_does_no_harm() {
    let mut siege = Siege::new(20_000);
    siege.exchange();
    let before = live();
    let (mut growth_max, mut answers_max, mut answers, mut received, mut matched) = (0, 0, 0, 0, 0);
    for index in 1..=20_000 {
        let bytes = siege.flood.next();
        let sent = siege.inject(&bytes);
        (answers_max, answers, received) = (answers_max.max(sent), answers + sent, received + bytes.len());
        drop(bytes);
        siege.world.run_for(Duration::from_millis(1));
        if index % 20 == 0 {
            siege.exchange();
        }
        if siege.is_liar_matched() {
            matched += 1;
        }
        if index % 200 == 0 {
            let goodbye = siege.flood.goodbye();
            siege.inject(&goodbye);
            siege.introduce_liar();
        }
        let kept: usize = siege.got.iter().flatten().map(Vec::capacity).sum::<usize>()
            + siege.got.iter().map(|got| got.capacity() * size_of::<Vec<u8>>()).sum::<usize>();
        growth_max = growth_max.max(live() - before - i64::try_from(kept).unwrap());
    }
    println!(
        "{received} octets: {growth_max} octets more at most, {answers} answers, {answers_max} at most to one"
    );
    assert!(matched > 10_000, "the liar was matched for {matched} datagrams only");
    assert!(growth_max < 1 << 20, "{growth_max} octets");
    assert!(answers_max <= ANSWERS_MAX, "{answers_max} datagrams in answer to one");
    assert!(siege.world.participant(siege.target).statistics().malformed > 1000);
    siege.check_bystander();
}

/// A writer that never completes what it sends makes a reader keep a bounded part of it, however small the pieces, and
/// does not keep another writer's large sample out.
#[test]
fn hoarding_is_bounded() {
    let mut siege = Siege::new(3);
    let before = live();
    let octets = [7; 1000];
    let mut most = 0;
    for round in 0..1000_u32 {
        let early = siege.flood.liar.message(|message| {
            let sequence = SequenceNumber(u64::from(100 + round));
            message.data(
                EntityId::UNKNOWN,
                LIARS[0],
                sequence,
                &InlineQos::default(),
                Payload::Data(&octets),
            );
        });
        let fragment = DataFrag {
            reader: EntityId::UNKNOWN,
            writer: LIARS[0],
            sequence: SequenceNumber(u64::from(1 + round % 16)),
            first_fragment: FragmentNumber(1 + (round / 16) * 1000),
            fragment_count: 1000,
            fragment_size: 1,
            sample_size: 100_000,
            inline_qos: None,
            is_key: false,
            bytes: &octets,
        };
        let fragments =
            siege.flood.liar.message(|message| message.data_frag(&fragment, &InlineQos::default()));
        siege.inject(&early);
        siege.inject(&fragments);
        most = most.max(live() - before);
    }
    // Without a bound it would be a million octets and the overhead of as many fragments.
    assert!(most < 512 << 10, "{most} octets kept");
    let mut large = vec![9; 90_000];
    large[0] = 0;
    siege.world.write(siege.peer, siege.peer_writer, &large);
    siege.world.run_for(Duration::from_secs(1));
    let taken = siege.world.take_all(siege.target, siege.readers[0]);
    assert!(taken.contains(&large), "the other writer's sample arrives");
    siege.check_bystander();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Other floods, shorter: any seed, any mix of time between the datagrams.
    #[test]
    fn short_floods_do_no_harm(seed: u64, pauses in prop::collection::vec(0_u64..30_000, 1..150)) {
        let mut siege = Siege::new(seed);
        for pause in pauses {
            let bytes = siege.flood.next();
            prop_assert!(siege.inject(&bytes) <= ANSWERS_MAX);
            siege.world.run_for(Duration::from_micros(pause));
            siege.exchange();
        }
        siege.check_bystander();
    }

    /// Datagrams of noise with a real header do nothing but get counted.
    #[test]
    fn noise_does_no_harm(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..40)) {
        let mut siege = Siege::new(1);
        for body in bodies {
            let mut bytes = siege.flood.liar.message(|_| {});
            bytes.extend(body);
            siege.inject(&bytes);
        }
        siege.exchange();
        siege.check_bystander();
    }
}

/// Whoever forges announcements does not make us flood the address that they name: at most three times what was
/// received on its behalf, and one reply a second, for as long as nobody there answers.
#[test]
fn forged_announcements_do_not_amplify() {
    let victim = Locator::udp_v4([203, 0, 113, 7], 7410);
    let mut world = World::new(14);
    let host = world.add();
    world.writer(host, "t", &durable());
    world.run_for(Duration::from_secs(1));
    let group = Locator::udp_v4([239, 255, 0, 1], 7400);
    let (mut received, mut sent, mut replies) = (0, 0, 0);
    for second in 0..60_u8 {
        for forged in 0..5_u8 {
            let mut prefix = [forged; 12];
            prefix[11] = second;
            let announcement = Puppet::new(GuidPrefix(prefix)).announce(victim);
            received += announcement.len();
            let now = world.now;
            world.participant(host).handle_datagram(
                now,
                Locator::udp_v4([10, 0, 0, 66], 40_000),
                &announcement,
            );
        }
        for tick in 0..20_u32 {
            let now = world.now + Duration::from_millis(50) * tick;
            let participant = world.participant(host);
            participant.handle_timeout(now);
            let mut in_this_tick = 0;
            while let Some(datagram) = participant.poll_transmit() {
                assert!(datagram.to.iter().all(|to| *to == victim || *to == group));
                if datagram.to.contains(&victim) {
                    sent += datagram.bytes.len();
                    replies += 1;
                    in_this_tick += 1;
                }
            }
            assert!(in_this_tick <= 1);
        }
        world.now = world.now + Duration::from_secs(1);
    }
    assert!(sent <= 3 * received, "{sent} octets for {received}");
    assert!((1..=61).contains(&replies), "{replies} replies in a minute");
    assert!(world.participant(host).statistics().replies_withheld > 0);
}

/// Datagrams from other networks than those allowed are ignored and counted, whatever they say.
#[test]
fn other_networks_are_not_heeded() {
    let mut world = World::new(15);
    let allowed_networks = vec!["10.0.0.0/30".parse().unwrap()];
    let config = ParticipantConfig { allowed_networks, ..world.config(1) };
    let (host, near) = (world.add_configured(config), world.add());
    let config = world.config(9);
    let far = world.add_configured(config);
    world.run_for(Duration::from_secs(5));
    let known = |world: &mut World, of: usize| -> Vec<GuidPrefix> {
        world.participant(of).remote_participants().map(|remote| remote.data.guid.prefix).collect()
    };
    let near_prefix = world.participant(near).guid().prefix;
    assert_eq!(known(&mut world, host), [near_prefix]);
    assert!(world.participant(host).statistics().network_refused > 0);
    assert_eq!(known(&mut world, far).len(), 2, "it hears the announcements of both");
}

/// Participants that announced themselves and never answered cost little memory, whatever they say of themselves, and
/// are bounded: under a thousand of them memory grows by less than a third of a MiB.
#[test]
fn silent_participants_cost_little() {
    let mut world = World::new(16);
    let host = world.add();
    world.run_for(Duration::from_secs(1));
    let announce = |world: &mut World, number: u32| {
        let mut prefix = [7; 12];
        prefix[8..].copy_from_slice(&number.to_le_bytes());
        let [_, _, a, b] = number.to_be_bytes();
        let announcement = Puppet::new(GuidPrefix(prefix)).announce(Locator::udp_v4([203, 0, a, b], 7410));
        let now = world.now;
        let participant = world.participant(host);
        participant.handle_datagram(now, Locator::udp_v4([10, 0, 0, 66], 40_000), &announcement);
        while participant.poll_event().is_some() {}
        while let Some(datagram) = participant.poll_transmit() {
            participant.recycle_datagram(datagram);
        }
    };
    announce(&mut world, 0);
    let before = live();
    (1..1000).for_each(|number| announce(&mut world, number));
    let grown = live() - before;
    assert!(grown < 320 << 10, "{grown} bytes");
    assert_eq!(world.participant(host).remote_participants().count(), Limits::default().unconfirmed_max);
}
