//! What every node manager must do.

use std::time::Duration;

use super::{BrokenPromise, kept, promise};
use crate::device::Device;
use crate::lease::{Authority, BootId, ClampedBy};
use crate::message::{NmSetting, Status};
use crate::metric::{MetricId, Unit};
use crate::node_manager::{Call, NodeManager, RestoreLeases, Select, SetConf};

/// A node manager under test, with the means to ask it and to let time pass.
pub trait NodeManagerSubject {
    /// The node manager. Its allow list must let `operator` and `operator2` set every knob as administrator, and give
    /// `stranger` nothing.
    fn node(&mut self) -> &mut dyn NodeManager;

    /// A call of this principal now.
    fn call(&mut self, principal: &str) -> Call;

    /// Lets this much time pass; the node manager must get its ticks meanwhile.
    fn wait(&mut self, time: Duration);
}

/// Runs the suite. Every knob that lowers something is set and put back.
///
/// # Errors
/// The first promise that was not kept.
pub fn node_manager(subject: &mut dyn NodeManagerSubject) -> Result<(), BrokenPromise> {
    reads(subject)?;
    let knobs = read(subject, &Select::ALL)?;
    for knob in knobs {
        let control = MetricId::new(knob.control);
        let is_upper = [
            MetricId::NODE_POWER_LIMIT_CONTROL,
            MetricId::CPU_POWER_LIMIT_CONTROL,
            MetricId::CPU_FREQUENCY_MAX_CONTROL,
        ]
        .contains(&control);
        let Some(device) = knob.device.device().filter(|_| is_upper) else { continue };
        let mut check = Check { subject, control, device, former: knob.applied, sequence: 0 };
        check.sets_and_restores()?;
        check.refuses()?;
        check.expires()?;
        check.lowest_wins()?;
    }
    Ok(())
}

fn reads(subject: &mut dyn NodeManagerSubject) -> Result<(), BrokenPromise> {
    let call = subject.call("operator");
    let info = kept("get_info answers", subject.node().get_info(&call))?;
    promise("info names the tool", !info.tool_name.is_empty(), || "no name".into())?;
    promise("all five operations are answered", info.operations == 0b1_1111, || {
        format!("{:#b}", info.operations)
    })?;
    let metrics = kept("get_metric answers", subject.node().get_metric(&call, &Select::ALL))?;
    for sample in &metrics.samples {
        let is_sound = sample.value.is_finite()
            && (sample.min..=sample.max).contains(&sample.value)
            && sample.device.device().is_some()
            && sample.count > 0;
        promise("a sample is a finite value within its bounds", is_sound, || format!("{sample:?}"))?;
        let select = Select { device: sample.device.device(), metric: Some(sample.metric_id()) };
        let one = kept("a metric can be asked for alone", subject.node().get_metric(&call, &select))?;
        let is_one = one.samples.len() + one.absent.len() == 1;
        promise("a selection selects", is_one, || format!("{select}: {one:?}"))?;
    }
    for absent in &metrics.absent {
        promise("a missing reading has a reason", !absent.reason.is_empty(), || format!("{absent:?}"))?;
    }
    let nothing = Select::metric(MetricId::new(MetricId::CUSTOM_FIRST - 1));
    let status = subject.node().get_metric(&call, &nothing).err().map(|error| error.status());
    promise("an unknown metric is unsupported", status == Some(Status::Unsupported), || {
        format!("{status:?}")
    })?;
    let status = subject.node().get_current_conf(&call, &nothing).err().map(|error| error.status());
    promise("an unknown control is unsupported", status == Some(Status::Unsupported), || {
        format!("{status:?}")
    })
}

fn read(subject: &mut dyn NodeManagerSubject, select: &Select) -> Result<Vec<NmSetting>, BrokenPromise> {
    let call = subject.call("operator");
    match subject.node().get_current_conf(&call, select) {
        // A machine without knobs conforms with what it has.
        Err(error) if *select == Select::ALL && error.status() == Status::Unsupported => Ok(Vec::new()),
        result => kept("get_current_conf answers", result),
    }
}

struct Check<'a> {
    subject: &'a mut dyn NodeManagerSubject,
    control: MetricId,
    device: Device,
    former: f64,
    sequence: u64,
}

impl Check<'_> {
    fn wish(&mut self, share: f64, ttl: Duration) -> SetConf {
        self.sequence += 1;
        SetConf {
            control: self.control,
            device: self.device,
            value: self.former * share,
            ttl,
            authority: Authority::Administrator,
            job: 0,
            term: 0,
            boot_id: BootId::UNKNOWN,
            sequence: self.sequence,
            is_dry_run: false,
        }
    }

    fn set(&mut self, principal: &str, wish: &SetConf) -> Result<NmSetting, BrokenPromise> {
        let call = self.subject.call(principal);
        let settings = kept("set_conf answers", self.subject.node().set_conf(&call, wish))?;
        match <[NmSetting; 1]>::try_from(settings) {
            Ok([setting]) => Ok(setting),
            Err(settings) => {
                Err(BrokenPromise { promise: "one knob gives one setting", found: format!("{settings:?}") })
            }
        }
    }

    fn release(&mut self, principal: &str) -> Result<(), BrokenPromise> {
        self.sequence += 1;
        let select = Select::one(self.control, self.device);
        let (sequence, authority) = (self.sequence, Authority::Administrator);
        let wish = RestoreLeases { select, sequence, authority, every_holder: false };
        let call = self.subject.call(principal);
        kept("restore answers", self.subject.node().restore(&call, &wish)).map(|_| ())
    }

    fn value(&mut self) -> Result<f64, BrokenPromise> {
        let settings = read(self.subject, &Select::one(self.control, self.device))?;
        settings.first().map(|setting| setting.applied).ok_or_else(|| BrokenPromise {
            promise: "a knob that was listed can be read",
            found: format!("{} of {}", self.control, self.device),
        })
    }

    fn is_former(&mut self, what: &'static str) -> Result<(), BrokenPromise> {
        let (value, former) = (self.value()?, self.former);
        promise(what, value.total_cmp(&former).is_eq(), || format!("{value}, it was {former}"))
    }

    fn sets_and_restores(&mut self) -> Result<(), BrokenPromise> {
        let wish = self.wish(0.8, Duration::from_secs(60));
        let dry = SetConf { is_dry_run: true, ..wish.clone() };
        self.set("operator", &dry)?;
        self.is_former("a dry run changes nothing")?;
        let setting = self.set("operator", &wish)?;
        let is_granted = setting.clamped_by == ClampedBy::None.code() && setting.is_ok();
        promise("a possible wish is granted", is_granted, || format!("{setting:?}"))?;
        let is_below = setting.applied <= wish.value && setting.applied > wish.value * 0.9;
        promise("what is in force is the wish, rounded down", is_below, || format!("{setting:?}"))?;
        let has_end = setting.remaining_ns > 0 && setting.remaining_ns <= 60_000_000_000;
        promise("a lease has an end", has_end, || format!("{setting:?}"))?;
        let value = self.value()?;
        promise("the answer is what the hardware holds", value.total_cmp(&setting.applied).is_eq(), || {
            format!("{value} and {setting:?}")
        })?;
        let again = self.set("operator", &wish)?;
        promise("the same request twice is one lease", again.remaining_ns <= setting.remaining_ns, || {
            format!("{again:?} after {setting:?}")
        })?;
        self.release("operator")?;
        self.is_former("a release restores exactly")?;
        self.release("operator")?;
        self.is_former("a release of nothing changes nothing")
    }

    fn refuses(&mut self) -> Result<(), BrokenPromise> {
        let good = self.wish(0.8, Duration::from_secs(60));
        let cases = [
            ("stranger", good.clone(), Status::Denied),
            ("operator", SetConf { ttl: Duration::ZERO, ..good.clone() }, Status::Range),
            ("operator", SetConf { boot_id: BootId::new([0xee; 16]), ..good.clone() }, Status::Stale),
            ("operator", SetConf { control: MetricId::NODE_POWER, ..good.clone() }, Status::Unsupported),
        ];
        for (principal, wish, expected) in cases {
            let call = self.subject.call(principal);
            let status = self.subject.node().set_conf(&call, &wish).err().map(|error| error.status());
            promise("a wish that cannot be is refused with its reason", status == Some(expected), || {
                format!("{status:?} instead of {expected:?} for {wish:?}")
            })?;
            self.is_former("a refusal changes nothing")?;
        }
        Ok(())
    }

    fn expires(&mut self) -> Result<(), BrokenPromise> {
        let ttl = Duration::from_millis(300);
        let wish = self.wish(0.8, ttl);
        let set = self.set("operator", &wish)?;
        self.subject.wait(ttl * 3);
        let is_power = self.control.canonical().is_some_and(|metric| metric.unit == Unit::Watt);
        if is_power {
            let value = self.value()?;
            promise("an expired power cap is not raised", value <= set.applied, || {
                format!("{value} after {}", set.applied)
            })?;
            self.release("operator")?;
        }
        self.is_former("after its end nothing is left of a lease")
    }

    fn lowest_wins(&mut self) -> Result<(), BrokenPromise> {
        let (low, high) = (self.wish(0.7, Duration::from_secs(60)), self.wish(0.9, Duration::from_secs(60)));
        let first = self.set("operator", &low)?;
        let second = self.set("operator2", &high)?;
        let is_clamped = second.applied.total_cmp(&first.applied).is_eq()
            && second.clamped_by == ClampedBy::Administrator.code();
        promise("the lower bound wins and the answer says who clamped", is_clamped, || {
            format!("{second:?} beside {first:?}")
        })?;
        self.release("operator")?;
        let value = self.value()?;
        promise("the next live lease becomes active by itself", value > first.applied, || {
            format!("{value} after {first:?} was released beside {second:?}")
        })?;
        self.release("operator2")?;
        self.is_former("after the last release nothing is left")
    }
}
