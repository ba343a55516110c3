//! Energy counters: unwrapped joules from readings that wrap, stand still, start again or come too late.
//! Pure: touches nothing. RAPL counters are described in the Intel SDM, volume 3B, section 16.10.

use std::time::Duration;

use units::{Instant, Joules, Watts};

use crate::reading::{Bounded, Flags};

/// What is known about a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSpec {
    /// When the counter wraps.
    pub range: Range,
    /// What one count is worth, in joules (10^-6 for powercap, the scale file for perf).
    pub joules_per_count: f64,
    /// The most that the metered part can draw for longer than the update period.
    pub power_max: Watts,
    /// How often the hardware moves the counter on.
    pub update_period: Duration,
}

/// When a counter wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// It goes from this count to zero.
    Wraps(u64),
    /// It should wrap, and where is not readable: a step back is dropped.
    Unreadable,
    /// It does not wrap in practice: a step back is a fresh start.
    Endless,
}

/// One counter with what it has counted since the tracker began.
#[derive(Clone, Debug)]
pub struct EnergyCounter {
    spec: CounterSpec,
    last: Option<(Instant, u64)>,
    counted: u128,
    hidden_max: u128,
    epoch: u32,
}

/// What a reading told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The first reading of an epoch: nothing to compare with.
    First,
    /// No time has passed since the last reading, or it went back: the reading is merged with the next one.
    NoTime,
    /// The interval is lost, for the reason in the flags (`reset` or `no-range`).
    Dropped(Flags),
    /// Energy was counted.
    Counted(Increment),
}

/// Energy between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Increment {
    /// The earlier reading's time.
    pub start: Instant,
    /// The later reading's time.
    pub end: Instant,
    /// Counts between the two, at least one wrap assumed only where the counter went back.
    pub counts: u64,
    /// The energy. `high` holds the wraps that the interval could hide.
    pub energy: Bounded<Joules>,
    /// `wrap`, `gap` or nothing.
    pub flags: Flags,
}

impl Increment {
    /// Mean power over the interval, which is longer than zero.
    pub fn power(&self) -> Bounded<Watts> {
        let time = self.end - self.start;
        self.energy.map(|energy| energy / time)
    }
}

impl CounterSpec {
    /// The time in which the counter wraps at full power; [`Duration::MAX`] when it does not wrap.
    pub fn wrap_time(&self) -> Duration {
        match self.range {
            Range::Wraps(range) => {
                let seconds = range as f64 * self.joules_per_count / self.power_max.get();
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
            Range::Unreadable | Range::Endless => Duration::MAX,
        }
    }

    /// The longest pause between readings that is safe by a factor of four.
    pub fn poll_interval_max(&self) -> Duration {
        self.wrap_time() / 4
    }

    /// The step in which the counter moves: a 32-bit register's unit where the range shows it, else one count.
    pub fn quantum(&self) -> Joules {
        let counts = match self.range {
            Range::Wraps(range) => (range as f64 / f64::from(u32::MAX)).max(1.0),
            Range::Unreadable | Range::Endless => 1.0,
        };
        Joules::new(counts * self.joules_per_count)
    }

    /// More counts than this in `time` are impossible: 1.5 times the most that can be drawn, with one late update
    /// and one step of the register granted.
    fn counts_max(&self, time: Duration) -> f64 {
        let energy = self.power_max * 1.5 * (time + self.update_period) + self.quantum();
        energy.get() / self.joules_per_count
    }
}

impl EnergyCounter {
    /// A tracker that has counted nothing.
    pub const fn new(spec: CounterSpec) -> Self {
        Self { spec, last: None, counted: 0, hidden_max: 0, epoch: 0 }
    }

    /// What is known about the counter.
    pub const fn spec(&self) -> &CounterSpec {
        &self.spec
    }

    /// Takes a reading of the counter.
    ///
    /// A step forward counts; a step back is a wrap where the range is known and the energy is possible, else a fresh
    /// start; an interval in which the counter could have wrapped unseen is flagged `gap` and its upper bound holds
    /// the possible wraps.
    pub fn step(&mut self, now: Instant, raw: u64) -> Step {
        let Some((start, before)) = self.last else {
            self.last = Some((now, raw));
            return Step::First;
        };
        let time = now.saturating_since(start);
        if time.is_zero() {
            return Step::NoTime;
        }
        self.last = Some((now, raw));
        let (counts, mut flags) = match (raw.checked_sub(before), self.spec.range) {
            (Some(counts), _) => (counts, Flags::NONE),
            (None, Range::Wraps(range)) if before <= range => {
                ((range - before).saturating_add(raw), Flags::WRAP)
            }
            (None, Range::Wraps(_) | Range::Endless) => return self.restart(),
            (None, Range::Unreadable) => return Step::Dropped(Flags::NO_RANGE),
        };
        if counts as f64 > self.spec.counts_max(time) {
            return self.restart();
        }
        let mut hidden = 0;
        if let Range::Wraps(range) = self.spec.range {
            let wrap_time = self.spec.wrap_time();
            let wraps = (time.as_secs_f64() / wrap_time.as_secs_f64()).floor() as u64;
            if time > wrap_time / 2 {
                flags = flags.with(Flags::GAP);
            }
            hidden = u128::from(wraps) * u128::from(range);
        }
        self.counted += u128::from(counts);
        self.hidden_max += hidden;
        let energy = Bounded {
            value: self.joules(u128::from(counts)),
            low: self.joules(u128::from(counts)),
            high: self.joules(u128::from(counts) + hidden),
        };
        Step::Counted(Increment { start, end: now, counts, energy, flags })
    }

    /// Forgets the last reading because the machine or the driver started again. What was counted stays.
    pub fn begin_epoch(&mut self) {
        self.last = None;
        self.restart();
    }

    /// Begins an epoch at the reading that was just taken.
    fn restart(&mut self) -> Step {
        self.epoch = self.epoch.saturating_add(1);
        Step::Dropped(Flags::RESET)
    }

    /// Forgets the last reading without a new epoch, for a sensor that went away and came back.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// All energy counted since the tracker began; it never falls. `high` holds wraps that gaps could hide.
    pub fn total(&self) -> Bounded<Joules> {
        let low = self.joules(self.counted);
        Bounded { value: low, low, high: self.joules(self.counted + self.hidden_max) }
    }

    /// How often the counter started again. Totals of two epochs have a lost interval between them.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    fn joules(&self, counts: u128) -> Joules {
        Joules::new(counts as f64 * self.spec.joules_per_count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MICRO: f64 = 1e-6;
    const PERF_SCALE: f64 = 2.328_306_436_538_696_3e-10;

    fn spec(range: Range, joules_per_count: f64, power_max: f64) -> CounterSpec {
        let update_period = Duration::from_millis(1);
        CounterSpec { range, joules_per_count, power_max: Watts::new(power_max), update_period }
    }

    fn seconds(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    /// One step of a fresh tracker from `before` to `after` over `time`.
    fn step(spec: CounterSpec, before: u64, after: u64, time: f64) -> (Step, EnergyCounter) {
        let mut counter = EnergyCounter::new(spec);
        assert_eq!(counter.step(Instant::ZERO, before), Step::First);
        (counter.step(seconds(time), after), counter)
    }

    /// The table of test vectors: wrap, equal, reset, gap, one-joule units, unreadable range, perf, a fresh start.
    #[test]
    fn vectors() {
        let package = Range::Wraps(262_143_328_850);
        let counted =
            |range, per, max, before, after, time| match step(spec(range, per, max), before, after, time).0 {
                Step::Counted(increment) => increment,
                other => panic!("{other:?}"),
            };
        let wrap = counted(package, MICRO, 165.0, 262_143_300_000, 21_000, 1.0);
        assert_eq!((wrap.counts, wrap.flags), (49_850, Flags::WRAP));

        let equal = counted(package, MICRO, 165.0, 5_000_000, 5_000_000, 1.0);
        assert_eq!((equal.counts, equal.flags), (0, Flags::NONE));

        let (reset, counter) = step(spec(package, MICRO, 165.0), 200_000_000_000, 5_000_000, 1.0);
        assert_eq!((reset, counter.epoch()), (Step::Dropped(Flags::RESET), 1));

        let amd = Range::Wraps(65_532_610_987);
        let gap = counted(amd, MICRO, 200.0, 10_000_000_000, 30_000_000_000, 900.0);
        assert_eq!(gap.flags, Flags::GAP);
        assert_eq!(gap.energy.low, Joules::new(20_000.0));
        assert!((gap.energy.high.get() - 151_065.2).abs() < 0.1, "{gap:?}");

        let psys = spec(Range::Wraps(4_294_967_295_000_000), MICRO, 1500.0);
        assert!((psys.quantum().get() - 1.0).abs() < 1e-9);
        let (one, _) = step(psys, 60_293_987_000_000, 60_293_988_000_000, 1.0);
        assert!(matches!(one, Step::Counted(i) if i.energy.value == Joules::new(1.0)));

        let (dropped, _) = step(spec(Range::Unreadable, MICRO, 200.0), 65_532_000_000, 1_000_000, 2.0);
        assert_eq!(dropped, Step::Dropped(Flags::NO_RANGE));

        let perf = counted(Range::Endless, PERF_SCALE, 165.0, 1 << 33, (1 << 33) + (1 << 32), 0.01);
        assert!((perf.energy.value.get() - 1.0).abs() < 1e-12);

        let (restart, counter) = step(spec(Range::Endless, 1e-3, 400.0), 9_000_000, 120, 1.0);
        assert_eq!((restart, counter.epoch()), (Step::Dropped(Flags::RESET), 1));
    }

    /// After a reset counting goes on from the new reading, and the total keeps what was counted before.
    #[test]
    fn counting_goes_on_after_a_reset() {
        let mut counter = EnergyCounter::new(spec(Range::Endless, MICRO, 100.0));
        for (time, raw) in [(0.0, 0), (1.0, 50_000_000), (2.0, 1_000), (3.0, 10_001_000)] {
            counter.step(seconds(time), raw);
        }
        assert_eq!(counter.total().value, Joules::new(60.0));
        assert_eq!(counter.epoch(), 1);
    }

    /// A new epoch from outside has no reading to compare with: the counter of another boot says nothing.
    #[test]
    fn an_epoch_begins_with_nothing() {
        let mut counter = EnergyCounter::new(spec(Range::Endless, MICRO, 100.0));
        counter.step(seconds(0.0), 1_000);
        counter.begin_epoch();
        assert_eq!((counter.step(seconds(1.0), 2_000), counter.epoch()), (Step::First, 1));
    }

    /// A last reading beyond the stated range is damage, not a wrap.
    #[test]
    fn a_reading_beyond_the_range_is_a_reset() {
        let (step, _) = step(spec(Range::Wraps(1_000), 1.0, 1e9), 5_000, 10, 1.0);
        assert_eq!(step, Step::Dropped(Flags::RESET));
    }

    proptest! {
        /// Whatever is read, energy is never negative, power never infinite or NaN, and the total never falls.
        #[test]
        fn never_negative_never_nan(
            readings in prop::collection::vec((0_u64..10_000_000_000, any::<u64>()), 1..40),
            range in prop_oneof![
                Just(Range::Endless), Just(Range::Unreadable), any::<u64>().prop_map(Range::Wraps)
            ],
        ) {
            let mut counter = EnergyCounter::new(spec(range, MICRO, 300.0));
            let mut total = Joules::ZERO;
            for (time, raw) in readings {
                if let Step::Counted(increment) = counter.step(Instant::from_nanos(time), raw) {
                    let power = increment.power();
                    prop_assert!(increment.energy.low >= Joules::ZERO && increment.energy.high.is_finite());
                    prop_assert!(power.low >= Watts::ZERO && power.high.is_finite());
                }
                prop_assert!(counter.total().value >= total);
                total = counter.total().value;
            }
        }

        /// Equal readings count nothing and raise no wrap, whatever the range.
        #[test]
        fn equal_readings_give_zero(raw in any::<u64>(), range in any::<u64>(), time in 1_u64..1_000_000_000) {
            for range in [Range::Wraps(range), Range::Unreadable, Range::Endless] {
                let mut counter = EnergyCounter::new(spec(range, MICRO, 300.0));
                counter.step(Instant::ZERO, raw);
                let step = counter.step(Instant::from_nanos(time), raw);
                let is_zero = matches!(step, Step::Counted(i) if i.counts == 0 && !i.flags.contains(Flags::WRAP));
                prop_assert!(is_zero, "{:?}", step);
            }
        }

        /// Any sampling finer than half a wrap finds exactly the energy that was used.
        #[test]
        fn fine_sampling_finds_the_truth(
            start in 0_u64..65_532_610_987,
            steps in prop::collection::vec((1_u64..163_000, 0_u64..200_000), 1..60),
        ) {
            let range = 65_532_610_987;
            let mut counter = EnergyCounter::new(spec(Range::Wraps(range), MICRO, 200.0));
            let (mut now, mut raw, mut truth) = (Instant::ZERO, start, 0_u64);
            counter.step(now, raw);
            for (milliseconds, milliwatts) in steps {
                let energy = milliseconds * milliwatts;
                now = now + Duration::from_millis(milliseconds);
                // The counter goes from `range` to 0, so that its modulus is the range.
                raw = (raw + energy) % range;
                truth += energy;
                let step = counter.step(now, raw);
                prop_assert!(matches!(step, Step::Counted(i) if !i.flags.contains(Flags::GAP)), "{:?}", step);
            }
            prop_assert_eq!(counter.total().value, Joules::new(truth as f64 * MICRO));
        }
    }
}
