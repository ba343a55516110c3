//! The smallest program on the bus: run it twice, once with `publish`, once with `subscribe`.
//!
//! Any DDS program with a type of the same name and members can take either part.
#![expect(clippy::disallowed_methods, reason = "I/O shell: a command-line program")]

use std::error::Error;
use std::time::Duration;

use bus::{Data, DdsType, Participant};

#[derive(Clone, Debug, Default, DdsType)]
#[dds(name = "demo::NodePower")]
struct NodePower {
    #[dds(key)]
    host: String,
    power_watts: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let participant = Participant::builder().domain(0).name("power example").build()?;
    match std::env::args().nth(1).as_deref() {
        Some("publish") => {
            let publisher =
                participant.publisher::<NodePower>("demo/power").reliable().transient_local().build()?;
            for step in 0..60 {
                let sample = NodePower { host: "n001".into(), power_watts: 200.0 + f64::from(step) };
                publisher.write(&sample)?;
                println!("{} subscribers, wrote {sample:?}", publisher.matched().current);
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        _ => {
            let subscriber = participant
                .subscriber::<NodePower>("demo/power")
                .reliable()
                .transient_local()
                .keep_last(8)
                .build()?;
            while let Some(sample) = subscriber.recv_timeout(Duration::from_secs(10))? {
                match sample.data {
                    Data::Valid(power) => println!("{}: {} W", power.host, power.power_watts),
                    Data::Disposed(host) | Data::Unregistered(host) => println!("gone: {host:?}"),
                }
            }
            println!("nothing for 10 s; {} samples lost", subscriber.lost());
        }
    }
    Ok(())
}
