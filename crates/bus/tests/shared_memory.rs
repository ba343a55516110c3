#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "I/O shell: starts processes; a failure in a helper is a failed test"
)]
//! Processes of one machine that share memory: exchange, loss and repair, death, strangers.

mod process;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use peers::{Namespace, Skip, skip};
use process::{Process, program, topic};

/// Samples of every size cross by shared memory, reliably and not, whole and in order.
#[test]
fn samples_of_every_size_cross() {
    for (domain, reliable) in [(91, true), (92, false)] {
        let topic = topic("every-size");
        let mut common = vec!["--topic", topic.as_str()];
        if reliable {
            common.extend(["--reliable", "--all"]);
        }
        let mut publisher = Process::start("pub", domain, &common);
        let mut subscriber = Process::start("sub", domain, &common);
        publisher.share_with(&mut [&mut subscriber], 1);
        for size in [0, 1, 7, 8, 64, 1000, 64_000, 70_000, 500_000] {
            // What is best effort must fit the ring, or the rest is lost.
            let count = if size > 100_000 { 1 } else { 3 };
            let first = publisher.write(count, size);
            for number in first..first + count {
                let sample = subscriber.line();
                assert_eq!(
                    (&sample["number"], &sample["size"], &sample["whole"], &sample["by"]),
                    (&number.into(), &size.into(), &true.into(), &"SharedMemory".into()),
                );
            }
        }
        if reliable {
            assert_eq!(publisher.ask("acknowledge")["acknowledged"], true);
        }
    }
}

/// A process that looks before it sleeps hears what comes while it looks, and what comes while it sleeps.
#[test]
fn readers_may_look_before_they_sleep() {
    let topic = topic("spin");
    let common = ["--topic", topic.as_str(), "--spin", "30000"];
    let mut publisher = Process::start("pub", 103, &common);
    let mut subscriber = Process::start("sub", 103, &common);
    publisher.share_with(&mut [&mut subscriber], 1);
    for pause in [0, 0, 0, 10, 10, 100, 100] {
        std::thread::sleep(Duration::from_millis(pause));
        let number = publisher.write(1, 100);
        assert_eq!(subscriber.sample(number)["by"], "SharedMemory");
    }
}

/// A subscriber that is stopped for a while is overrun, and gets everything nevertheless, in order: what it lost is
/// repaired. One that keeps up loses nothing to it.
#[test]
fn overrun_readers_are_repaired() {
    let topic = topic("overrun");
    let common = ["--topic", topic.as_str(), "--reliable"];
    let mut publisher = Process::start("pub", 93, &common);
    let mut quick = Process::start("sub", 93, &common);
    let mut slow = Process::start("sub", 93, &common);
    publisher.share_with(&mut [&mut quick, &mut slow], 2);
    slow.signal("STOP");
    // 4 MiB, through rings of 1 MiB.
    let mut first = 0;
    for batch in 0..40 {
        let number = publisher.write(10, 10_000);
        first = if batch == 0 { number } else { first };
        quick.sample(number + 9);
    }
    slow.signal("CONT");
    for number in first..first + 400 {
        let sample = slow.line();
        assert_eq!((&sample["number"], &sample["whole"]), (&number.into(), &true.into()));
    }
    assert_eq!(publisher.ask("acknowledge")["acknowledged"], true);
    slow.tell("statistics");
    let statistics = slow.find(|line| !line["overruns"].is_null());
    assert!(statistics["overruns"].as_u64().unwrap() > 0, "{statistics}");
    assert_eq!(statistics["lost"], 0);
}

/// A subscriber that joins late gets the past, and then shares memory.
#[test]
fn late_joiners_get_the_past() {
    let topic = topic("late");
    let common = ["--topic", topic.as_str(), "--reliable", "--durable"];
    let mut publisher = Process::start("pub", 94, &common);
    publisher.write(20, 100);
    let mut subscriber = Process::start("sub", 94, &common);
    for number in 1..=20 {
        assert_eq!(subscriber.line()["number"], number);
    }
    publisher.share_with(&mut [&mut subscriber], 1);
}

/// A publisher that is killed leaves nothing, and what it had written is delivered; one in its place is found and shares
/// memory again. The same for a subscriber: the publisher goes on undisturbed.
#[test]
fn killed_processes_are_replaced() {
    let topic = topic("killed");
    let common = ["--topic", topic.as_str(), "--reliable", "--all"];
    let mut subscriber = Process::start("sub", 95, &common);
    for _ in 0..3 {
        let mut publisher = Process::start("pub", 95, &common);
        publisher.share_with(&mut [&mut subscriber], 1);
        // What is in the dead process's memory is read nevertheless. The pause is for its threads: a write may leave the
        // sending to one that is sending already.
        subscriber.signal("STOP");
        let first = publisher.write(20, 1000);
        std::thread::sleep(Duration::from_millis(100));
        publisher.kill();
        subscriber.signal("CONT");
        for number in first..first + 20 {
            assert_eq!(subscriber.line()["number"], number);
        }
    }
    drop(subscriber);
    let mut publisher = Process::start("pub", 95, &common);
    for _ in 0..3 {
        let mut subscriber = Process::start("sub", 95, &common);
        publisher.share_with(&mut [&mut subscriber], 1);
        subscriber.kill();
        // The dead one's acknowledgements are missing until its lease ends, so nothing may wait for them here.
        publisher.write(10, 10);
    }
}

/// Neither a stopped subscriber nor one that reads nothing delays the publisher or the other subscribers.
#[test]
fn stopped_readers_delay_nobody() {
    let topic = topic("stopped");
    let common = ["--topic", topic.as_str()];
    let mut publisher = Process::start("pub", 96, &common);
    let mut quick = Process::start("sub", 96, &common);
    let mut stopped = Process::start("sub", 96, &common);
    publisher.share_with(&mut [&mut quick, &mut stopped], 2);
    stopped.signal("STOP");
    for _ in 0..20 {
        let number = publisher.write(1, 200_000);
        assert_eq!(quick.sample(number)["by"], "SharedMemory");
    }
    // What matters most to a reader that was overrun is there still: the newest sample.
    let number = publisher.write(1, 10);
    stopped.signal("CONT");
    assert_eq!(stopped.sample(number)["by"], "SharedMemory");
}

/// 40 subscribers, of which one leaves, share one publisher's memory.
#[test]
fn forty_processes_share() {
    let topic = topic("forty");
    let common = ["--topic", topic.as_str(), "--reliable", "--all"];
    let mut publisher = Process::start("pub", 97, &common);
    let mut subscribers: Vec<Process> = (0..40).map(|_| Process::start("sub", 97, &common)).collect();
    let mut all: Vec<&mut Process> = subscribers.iter_mut().collect();
    publisher.share_with(&mut all, 40);
    subscribers.pop().unwrap().kill();
    let first = publisher.write(10, 5000);
    for subscriber in &mut subscribers {
        for number in first..first + 10 {
            let sample = subscriber.line();
            assert_eq!((&sample["number"], &sample["by"]), (&number.into(), &"SharedMemory".into()));
        }
    }
}

/// Two participants of one process read one ring, and the process says so for each.
#[test]
fn both_ways_at_once() {
    let (there, back) = (topic("there"), topic("back"));
    let mut processes: Vec<Process> = [("pub", &there), ("sub", &there), ("sub", &back), ("pub", &back)]
        .into_iter()
        .map(|(verb, topic)| Process::start(verb, 98, &["--topic", topic, "--reliable", "--all"]))
        .collect();
    let [there_out, there_in, back_in, back_out] = &mut processes[..] else { unreachable!() };
    there_out.share_with(&mut [there_in], 1);
    back_out.share_with(&mut [back_in], 1);
}

fn is_root(test: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    if !is_root {
        skip(test, &Skip::new("needs root, to start processes of several users"));
    }
    is_root
}

fn as_user(user: u32) -> Command {
    let mut command = Command::new(program());
    command.uid(user).gid(user);
    command
}

/// Whether what `publisher` writes reaches `subscriber` by shared memory within a second, and always by some way.
fn shares(publisher: &mut Process, subscriber: &mut Process) -> bool {
    assert_eq!(publisher.ask("match 1")["matched"], true);
    subscriber.tell("match 1");
    assert_eq!(subscriber.find(|line| !line["matched"].is_null())["matched"], true);
    (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let number = publisher.write(1, 10);
        subscriber.sample(number)["by"] == "SharedMemory"
    })
}

/// Processes of different users exchange data, but no memory, unless both sides allow the other user by number.
#[test]
fn other_users_share_only_when_allowed() {
    if !is_root("other_users_share_only_when_allowed") {
        return;
    }
    let topic = topic("users");
    let common = ["--topic", topic.as_str(), "--reliable"];
    let allow = |user: &'static str| [&common[..], &["--user", user]].concat();
    let cases = [
        (common.to_vec(), common.to_vec(), false),
        (allow("4002"), common.to_vec(), false),
        (common.to_vec(), allow("4001"), false),
        (allow("4003"), allow("4003"), false),
        (allow("4002"), allow("4001"), true),
    ];
    for (publisher, subscriber, expected) in cases {
        let mut publisher = Process::start_by(as_user(4001), "pub", 99, &publisher);
        let mut subscriber = Process::start_by(as_user(4002), "sub", 99, &subscriber);
        assert_eq!(shares(&mut publisher, &mut subscriber), expected);
    }
    // The same user needs no permission, whoever that is; nobody's number means users that are not known here.
    for (user, expected) in [(4001, true), (65_534, false)] {
        let mut publisher = Process::start_by(as_user(user), "pub", 99, &common);
        let mut subscriber = Process::start_by(as_user(user), "sub", 99, &common);
        assert_eq!(shares(&mut publisher, &mut subscriber), expected, "user {user}");
    }
}

/// Case A31: two containers that share the network but nothing else, each with a process of the same number, have
/// different identities, find each other, and share memory, as it really is shared: the kernel hands it over. In
/// different networks, even with the same addresses, processes do not take each other for neighbours.
#[test]
fn containers_share_what_is_shared() {
    const TEST: &str = "containers_share_what_is_shared";
    let network = match Namespace::create() {
        Ok(network) => network,
        Err(reason) => return skip(TEST, &reason),
    };
    let contained = || {
        let mut command = network.command("unshare");
        command.args(["--pid", "--ipc", "--mount", "--fork", "--kill-child", "--"]).arg(program());
        command
    };
    let common = ["--topic", "containers", "--reliable"];
    let mut publisher = Process::start_by(contained(), "pub", 1, &common);
    let mut subscriber = Process::start_by(contained(), "sub", 1, &common);
    assert_eq!(publisher.ask("whoami")["pid"], 1);
    let identity = publisher.ask("whoami")["guid"].clone();
    subscriber.tell("whoami");
    let other = subscriber.find(|line| !line["guid"].is_null());
    assert_eq!(other["pid"], 1);
    assert!(identity.is_string() && identity != other["guid"]);
    assert!(shares(&mut publisher, &mut subscriber));
}

/// Processes in different network namespaces of one machine exchange data by the network.
#[test]
fn networks_are_apart() {
    let link = match peers::Link::create(2) {
        Ok(link) => link,
        Err(reason) => return skip("networks_are_apart", &reason),
    };
    let common = ["--topic", "apart", "--reliable"];
    let mut publisher = Process::start_by(link.hosts()[0].command(program()), "pub", 1, &common);
    let mut subscriber = Process::start_by(link.hosts()[1].command(program()), "sub", 1, &common);
    assert!(!shares(&mut publisher, &mut subscriber));
}

/// A program that the publisher starts inherits nothing of the bus: when the publisher is killed, its subscribers know.
#[test]
fn started_programs_inherit_nothing() {
    let topic = topic("inherit");
    let common = ["--topic", topic.as_str(), "--reliable"];
    let mut publisher = Process::start("pub", 100, &common);
    let mut subscriber = Process::start("sub", 100, &common);
    publisher.share_with(&mut [&mut subscriber], 1);
    let child = publisher.ask("start")["pid"].as_u64().unwrap();
    let files: Vec<String> = std::fs::read_dir(format!("/proc/{child}/fd"))
        .unwrap()
        // What the program closes meanwhile, it did not keep.
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.display().to_string()))
        .collect();
    assert!(files.iter().all(|file| !file.contains("stillwatt") && !file.contains("socket:")), "{files:?}");
    let maps = std::fs::read_to_string(format!("/proc/{child}/maps")).unwrap();
    assert!(!maps.contains("stillwatt-bus"), "{maps}");
}

/// What shared memory or a socket of ours could leave behind on this machine, by name.
fn left_overs() -> Vec<String> {
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().display().to_string()).collect()
    };
    let mut found: Vec<String> =
        ["/dev/shm", "/run/lock", "/run/stillwatt"].into_iter().flat_map(names).collect();
    found.sort();
    found
}

/// The names of the bus's sockets that exist in a network.
fn socket_names(network: &Namespace) -> Vec<String> {
    let sockets = network.command("cat").arg("/proc/net/unix").output().unwrap();
    let sockets = String::from_utf8(sockets.stdout).unwrap();
    let names = sockets.lines().filter_map(|line| line.split_whitespace().nth(7));
    names.filter(|name| name.starts_with("@stillwatt-bus-")).map(str::to_string).collect()
}

/// Lays out what a case describes: files that crashed processes of some stack left, some of them still in use.
fn lay_out(files: &serde_json::Value, prefix: &str) -> Vec<(std::path::PathBuf, std::fs::File)> {
    let files = files.as_array().unwrap().iter();
    files
        .map(|file| {
            let path =
                std::path::Path::new("/dev/shm").join(format!("{prefix}{}", file["name"].as_str().unwrap()));
            std::fs::write(&path, path.as_os_str().as_encoded_bytes()).unwrap();
            let open = std::fs::File::open(&path).unwrap();
            if file["lock_held"] == true {
                open.lock().unwrap();
            }
            (path, open)
        })
        .collect()
}

/// Kills and starts processes that share memory, at every stage of their life, among other programs' left-overs. Starting
/// always works, nothing is left, and nothing that is not ours is touched.
fn kill_and_restart(network: &Namespace, files: &serde_json::Value, domain: u32, cycles: usize) {
    let prefix = topic("case");
    let laid_out = lay_out(files, &prefix);
    let before = left_overs();
    let topic = topic(&format!("cycles-{domain}"));
    let common = ["--topic", topic.as_str(), "--reliable"];
    let mut subscriber = Process::start_by(network.command(program()), "sub", domain, &common);
    for cycle in 0..cycles {
        let mut publisher = Process::start_by(network.command(program()), "pub", domain, &common);
        match cycle % 4 {
            0 => {}
            1 => publisher.share_with(&mut [&mut subscriber], 1),
            2 => {
                publisher.tell("match 1");
                publisher.tell("write 100000 1000");
                subscriber.find(|line| line["size"] == 1000);
            }
            _ => {
                publisher.tell("match 1");
                std::thread::sleep(Duration::from_millis(cycle as u64 % 30));
            }
        }
        publisher.kill();
    }
    assert_eq!(left_overs(), before);
    // The subscriber's own, and its end of the last connection as long as that takes.
    let names = socket_names(network);
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
    let files = std::fs::read_dir(format!("/proc/{}/fd", subscriber.child.id())).unwrap().count();
    assert!(files < 40, "the survivor holds {files} files");
    for (path, open) in laid_out {
        assert_eq!(std::fs::read(&path).unwrap(), path.as_os_str().as_encoded_bytes());
        drop(open);
        std::fs::remove_file(&path).unwrap();
    }
}

/// Case A33: other stacks keep segments, ports and locks as files, and have to clean up after killed processes without
/// harming live ones. We make no files, so that after any number of kills there is nothing to clean, what is there is
/// kept (in use or not, it is not ours), and starting succeeds. With the case's files and with others.
#[test]
fn killed_processes_leave_nothing() {
    let network = match Namespace::create() {
        Ok(network) => network,
        Err(reason) => return skip("killed_processes_leave_nothing", &reason),
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/A33/shm.json");
    let case: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(folder).unwrap()).unwrap();
    let cycles = std::env::var("STILLWATT_KILL_CYCLES").map_or(48, |cycles| cycles.parse().unwrap());
    kill_and_restart(&network, &case["files"], 1, cycles);
    let mut others = case["files"].clone();
    for file in others.as_array_mut().unwrap() {
        file["lock_held"] = (file["lock_held"] != true).into();
        file["name"] = format!("stillwatt-bus-{}", file["name"].as_str().unwrap()).into();
    }
    kill_and_restart(&network, &others, 2, 8);
}
