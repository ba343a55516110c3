//! Appendable and mutable types, XCDR2, type information and older versions of types: what must arrive.

use std::fmt;

use peers::{Durability, Kind, Namespace, Peer, Reliability};

use super::cell::Program;

/// One exchange of an extensible type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) writer: Program,
    pub(crate) reader: Program,
    pub(crate) kind: Kind,
    pub(crate) representation: &'static str,
    /// Whether our program announces its type's hashes; Cyclone DDS always does.
    pub(crate) announces_type: bool,
    /// Whether our program has an older version of the type.
    pub(crate) is_old: bool,
}

impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}, {}", self.writer, self.reader, self.what())
    }
}

/// Everything that is exchanged: each type both ways, with and without type information, and by an older version.
pub(crate) fn exchanges() -> Vec<Exchange> {
    let kinds = [
        (Kind::Item, "xcdr2"),
        (Kind::Item, "xcdr1"),
        (Kind::Appendable, "xcdr2"),
        (Kind::Mutable, "xcdr2"),
        (Kind::Flat, "xcdr2"),
        (Kind::Flat, "xcdr1"),
    ];
    let mut exchanges = Vec::new();
    for (writer, reader) in [
        (Program::Stillwatt, Program::Cyclone),
        (Program::Cyclone, Program::Stillwatt),
        (Program::Stillwatt, Program::Stillwatt),
    ] {
        for (kind, representation) in kinds {
            for announces_type in [false, true] {
                let is_old = false;
                exchanges.push(Exchange { writer, reader, kind, representation, announces_type, is_old });
            }
        }
        for kind in [Kind::Appendable, Kind::Mutable] {
            let (representation, announces_type, is_old) = ("xcdr2", false, true);
            exchanges.push(Exchange { writer, reader, kind, representation, announces_type, is_old });
        }
    }
    exchanges
}

/// Samples that a publisher writes.
const WRITTEN: u32 = 7;

impl Exchange {
    /// What is exchanged, whoever does.
    pub(crate) fn what(&self) -> String {
        let announced = if self.announces_type { ", type announced" } else { "" };
        let old = if self.is_old { ", older version" } else { "" };
        format!("{:?} in {}{announced}{old}", self.kind, self.representation)
    }

    /// Runs it in a network of its own.
    pub(crate) fn run(&self) -> Result<(), String> {
        let namespace = Namespace::create().map_err(|reason| reason.to_string())?;
        let peer = |program: Program| {
            let peer = program.peer(&namespace).map_err(|reason| reason.to_string())?;
            Ok::<Peer, String>(self.configure(program, peer))
        };
        let topic = "interop/extensible";
        let subscriber = peer(self.reader)?.subscribe(33, topic, self.kind, WRITTEN);
        let publisher = peer(self.writer)?.publish(33, topic, self.kind, WRITTEN).gate();
        let mut subscriber = subscriber.start().map_err(|error| error.to_string())?;
        let mut publisher = publisher.start().map_err(|error| error.to_string())?;
        let is_matched = publisher.wait_for_match() && subscriber.wait_for_match();
        publisher.open_gate();
        let (subscriber, publisher) = (subscriber.finish(), publisher.stop());
        let told = || format!("\n  publisher {publisher:?}\n  subscriber {subscriber:?}");
        if !is_matched {
            return Err(format!("no match{}", told()));
        }
        let mut expected: Vec<_> =
            (0..WRITTEN).map(|k| self.expected(publisher.name, k).to_string()).collect();
        let mut came: Vec<_> = subscriber.samples().into_iter().map(ToString::to_string).collect();
        // Cyclone DDS hands out one instance after the other.
        expected.sort();
        came.sort();
        let mut disposed = subscriber.disposed();
        disposed.sort_unstable();
        match came == expected && disposed == [0, 1, 2] {
            true => Ok(()),
            false => Err(format!("other samples or disposals than expected{}", told())),
        }
    }

    fn configure(&self, program: Program, peer: Peer) -> Peer {
        let peer = peer.reliability(Reliability::Reliable).durability(Durability::Volatile).dispose();
        let peer = peer.argument("--representation").argument(self.representation);
        match program {
            Program::Stillwatt => {
                let peer = if self.announces_type { peer.argument("--announce-type") } else { peer };
                if self.is_old { peer.argument("--old") } else { peer }
            }
            _ => peer,
        }
    }

    /// What a subscriber prints. An older version has not all members; the others then have their default.
    fn expected(&self, publisher: &str, k: u32) -> serde_json::Value {
        let mut sample = self.kind.expected(publisher, k);
        if self.is_old {
            sample["note"] = serde_json::Value::Null;
            for list in ["parts", "grades", "grid"] {
                sample[list] = serde_json::json!([]);
            }
        }
        sample
    }
}
