//! What the study measures: which transports, how many nodes and subscribers, how often. Pure.

use super::paper;
use crate::bench::contestant::Contestant;
use crate::bench::transport::BenchTransport;

/// One point: a master on the first node, subscribers on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// The part of the study that it belongs to.
    pub(super) part: Part,
    /// How data travels.
    pub(super) transport: BenchTransport,
    /// Nodes, here network namespaces joined by a bridge.
    pub(super) nodes: u32,
    /// Subscribers on each.
    pub(super) per_node: u32,
}

/// The parts of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Transports on one node.
    Table2,
    /// One subscriber a node, more and more nodes.
    Figure5,
    /// Many subscribers a node, more and more nodes.
    Figure6,
    /// Ten nodes, more and more subscribers each.
    Figure7,
}

impl Part {
    /// The name of its files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Table2 => "table2",
            Self::Figure5 => "figure5",
            Self::Figure6 => "figure6",
            Self::Figure7 => "figure7",
        }
    }
}

impl Point {
    /// Subscribers on all nodes.
    pub(super) fn subscribers(&self) -> u32 {
        self.nodes * self.per_node
    }

    /// Processes that run at once.
    fn processes(&self) -> u32 {
        self.subscribers() + 1
    }
}

/// How much is measured.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// All points, in the order of the parts.
    pub(super) points: Vec<Point>,
    /// Points left out, since they need too many processes.
    pub(super) left_out: Vec<Point>,
    /// Runs of each.
    pub(super) runs: u32,
    /// Rounds of a run with one subscriber.
    samples: u32,
}

const TABLE_2: [BenchTransport; 4] =
    [BenchTransport::Udp, BenchTransport::Udpm, BenchTransport::Shm, BenchTransport::Tcp];
/// The paper's figures are about these.
const SCALED: [BenchTransport; 2] = [BenchTransport::Udp, BenchTransport::Udpm];
/// The least rounds of a run.
const SAMPLES_MIN: u32 = 100;
/// Answers of a run, about: more subscribers make fewer rounds.
const ANSWERS_OF_SAMPLE: u32 = 4;

impl Plan {
    /// The whole study, or a quick one.
    pub(super) fn new(is_quick: bool, runs: Option<u32>, processes_max: u32) -> Self {
        let forty = paper::SUBSCRIBERS_PER_NODE;
        let (nodes, per_node, many, few): (&[u32], &[u32], u32, u32) = if is_quick {
            (&[1, 2, 4], &[1, 2, 4], 10, 4)
        } else {
            (&[1, 2, 4, 8, 16, 32], &[1, 2, 4, 8, 16], forty, paper::NODES_OF_FIGURE_7)
        };
        let mut all = Vec::new();
        for per_node in [1, if is_quick { many } else { forty }] {
            let point = |transport| Point { part: Part::Table2, transport, nodes: 1, per_node };
            all.extend(TABLE_2.map(point));
        }
        for transport in SCALED {
            let point = |part, nodes, per_node| Point { part, transport, nodes, per_node };
            all.extend(nodes.iter().map(|nodes| point(Part::Figure5, *nodes, 1)));
            all.extend(nodes.iter().map(|nodes| point(Part::Figure6, *nodes, many)));
            all.extend(per_node.iter().map(|per_node| point(Part::Figure7, few, *per_node)));
        }
        let (points, left_out) = all.into_iter().partition(|point| point.processes() <= processes_max);
        Self {
            points,
            left_out,
            runs: runs.unwrap_or(if is_quick { 2 } else { 5 }),
            samples: if is_quick { 1000 } else { 10_000 },
        }
    }

    /// Rounds of a run at that point.
    pub(super) fn samples(&self, point: &Point) -> u32 {
        (self.samples * ANSWERS_OF_SAMPLE / (point.subscribers() + ANSWERS_OF_SAMPLE - 1)).max(SAMPLES_MIN)
    }
}

/// Whether it takes part at that point: some know only some transports.
pub(super) fn takes_part(point: &Point, contestant: Contestant) -> bool {
    contestant.speaks(point.transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole study has the paper's table and figures; what needs too many processes is named, not dropped.
    #[test]
    fn study_is_the_papers() {
        let plan = Plan::new(false, None, 200);
        let count = |part| plan.points.iter().filter(|point| point.part == part).count();
        assert_eq!((count(Part::Table2), count(Part::Figure5), plan.runs), (8, 12, 5));
        let largest = plan.points.iter().map(Point::subscribers).max();
        assert_eq!(largest, Some(160));
        assert!(plan.left_out.iter().any(|point| point.subscribers() == 1280));
        assert!(Plan::new(false, None, 2000).left_out.is_empty());
    }

    /// Fewer rounds with more subscribers, but enough for a median.
    #[test]
    fn rounds_fall_with_subscribers() {
        let plan = Plan::new(false, Some(1), 2000);
        let samples = |nodes, per_node| {
            let part = Part::Figure6;
            plan.samples(&Point { part, transport: BenchTransport::Udp, nodes, per_node })
        };
        assert_eq!(samples(1, 1), 10_000);
        assert!(samples(1, 40) < 1000 && samples(32, 40) == 100);
    }
}
