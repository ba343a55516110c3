//! The study's figures. Pure.

use ledger::figure::{
    Axis, Colour, Figure, Marker, ONE_COLUMN, Plot, Point as Dot, Series, Style, TWO_COLUMNS,
};

use super::paper;
use super::plan::{Part, Point};
use super::transports::{Cells, delivered_per_second, latency_seconds};
use crate::bench::contestant::Contestant;
use crate::bench::spread::Spread;
use crate::bench::transport::BenchTransport;

/// All figures with the names of their files; those without data are left out.
pub(super) fn all(cells: &[Cells], note: &str) -> Vec<(String, Figure)> {
    let mut figures = Vec::new();
    let counts: Vec<u32> =
        sorted(cells.iter().filter(|cell| cell.condition.part == Part::Table2), |point| point.per_node);
    for per_node in counts {
        figures.push((format!("table2-{per_node}"), transports(cells, per_node, note)));
    }
    let nodes = |point: &Point| point.nodes;
    figures.push((
        "figure5".into(),
        latency_over(cells, Part::Figure5, nodes, "one subscriber on each node", note),
    ));
    let each = cells
        .iter()
        .find(|cell| cell.condition.part == Part::Figure6)
        .map_or(0, |cell| cell.condition.per_node);
    let what = format!("{each} subscribers on each node");
    figures.push(("figure6".into(), latency_over(cells, Part::Figure6, nodes, &what, note)));
    figures.push(("figure7".into(), rate_over_subscribers(cells, note)));
    figures.retain(|(_, figure)| match &figure.plot {
        Plot::Lines(series) | Plot::Bars { series, .. } => {
            series.iter().any(|series| !series.points.is_empty())
        }
    });
    figures
}

fn sorted<'a>(cells: impl Iterator<Item = &'a Cells>, key: impl Fn(&Point) -> u32) -> Vec<u32> {
    let mut all: Vec<u32> = cells.map(|cell| key(&cell.condition)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn colour(contestant: Contestant) -> Colour {
    match contestant {
        Contestant::Floor => Colour::GREY,
        Contestant::Stillwatt => Colour::BLUE,
        Contestant::StillwattBatched => Colour::SKY,
        Contestant::Fastdds => Colour::VERMILION,
        Contestant::Fastdds3 => Colour::PURPLE,
        Contestant::Cyclone => Colour::GREEN,
        Contestant::CycloneTuned => Colour::ORANGE,
    }
}

fn dot(x: f64, spread: Spread, scale: f64) -> Dot {
    Dot { x, y: spread.median * scale, range: Some((spread.lowest * scale, spread.highest * scale)) }
}

/// Those who took part, in the order of their names here.
fn contestants(cells: &[Cells]) -> Vec<Contestant> {
    let mut all: Vec<_> = cells.iter().map(|cell| cell.contestant).collect();
    all.sort_unstable();
    all.dedup();
    all
}

const TRANSPORTS: [BenchTransport; 4] =
    [BenchTransport::Udp, BenchTransport::Udpm, BenchTransport::Tcp, BenchTransport::Shm];
const MICROS: f64 = 1e6;

/// The paper's table 2 as bars: what one message costs on each transport of one node.
fn transports(cells: &[Cells], per_node: u32, note: &str) -> Figure {
    let here = |cell: &&Cells| cell.condition.part == Part::Table2 && cell.condition.per_node == per_node;
    let mut all: Vec<Series> = contestants(cells)
        .into_iter()
        .map(|contestant| {
            let points = TRANSPORTS.iter().enumerate().filter_map(|(index, transport)| {
                let mut of = cells.iter().filter(here);
                let cell =
                    of.find(|cell| cell.condition.transport == *transport && cell.contestant == contestant)?;
                Some(dot(index as f64, latency_seconds(cell)?, MICROS))
            });
            Series {
                label: contestant.title().to_owned(),
                style: Style { colour: colour(contestant), marker: Marker::None, is_open: false },
                points: points.collect(),
            }
        })
        .collect();
    if per_node != 1 {
        let quoted = |(index, transport): (usize, &BenchTransport)| {
            let row = paper::table_2(*transport)?;
            Some(Dot { x: index as f64, y: row.latency_seconds * MICROS, range: None })
        };
        all.push(Series {
            label: "quoted: Fast DDS on 48 cores".to_owned(),
            style: Style { colour: Colour::VERMILION, marker: Marker::None, is_open: true },
            points: TRANSPORTS.iter().enumerate().filter_map(quoted).collect(),
        });
    }
    let subscribers =
        if per_node == 1 { "one subscriber".to_owned() } else { format!("{per_node} subscribers") };
    Figure {
        title: format!("Half round trip on one node, {subscribers} (table 2)"),
        note: note.to_owned(),
        x: Axis::linear("Transport"),
        y: Axis::log("Half round trip [µs]"),
        plot: Plot::Bars {
            groups: TRANSPORTS.map(|transport| transport.title().to_owned()).to_vec(),
            series: all,
        },
        size: TWO_COLUMNS,
    }
}

/// One line for each contestant and transport: UDP solid, multicast with open markers and dashes.
fn line_series(
    cells: &[Cells],
    part: Part,
    x: impl Fn(&Cells) -> f64,
    y: impl Fn(&Cells) -> Option<Spread>,
    scale: f64,
) -> Vec<Series> {
    let mut all = Vec::new();
    for contestant in contestants(cells) {
        for (transport, marker) in
            [(BenchTransport::Udp, Marker::Disc), (BenchTransport::Udpm, Marker::Square)]
        {
            let here = |cell: &&Cells| {
                let point = &cell.condition;
                point.part == part && point.transport == transport && cell.contestant == contestant
            };
            let mut points: Vec<Dot> =
                cells.iter().filter(here).filter_map(|cell| Some(dot(x(cell), y(cell)?, scale))).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            if points.is_empty() {
                continue;
            }
            let is_open = transport == BenchTransport::Udpm;
            all.push(Series {
                label: format!("{} {}", contestant.title(), transport.title()),
                style: Style { colour: colour(contestant), marker, is_open },
                points,
            });
        }
    }
    all
}

fn latency_over(cells: &[Cells], part: Part, x: fn(&Point) -> u32, what: &str, note: &str) -> Figure {
    let ticks = sorted(cells.iter().filter(|cell| cell.condition.part == part), x);
    let number = if part == Part::Figure5 { 5 } else { 6 };
    Figure {
        title: format!("Half round trip over nodes, {what} (figure {number})"),
        note: note.to_owned(),
        x: Axis::log("Nodes").with_ticks(ticks.into_iter().map(f64::from)),
        y: Axis::log("Half round trip [µs]"),
        plot: Plot::Lines(line_series(
            cells,
            part,
            |cell| f64::from(x(&cell.condition)),
            latency_seconds,
            MICROS,
        )),
        size: ONE_COLUMN,
    }
}

fn rate_over_subscribers(cells: &[Cells], note: &str) -> Figure {
    let here = || cells.iter().filter(|cell| cell.condition.part == Part::Figure7);
    let ticks = sorted(here(), |point| point.per_node);
    let nodes = here().next().map_or(0, |cell| cell.condition.nodes);
    let kilobytes = f64::from(paper::SIZE_BYTES) / 1e3;
    let x = |cell: &Cells| f64::from(cell.condition.per_node);
    Figure {
        title: format!("Payload delivered on {nodes} nodes (figure 7)"),
        note: note.to_owned(),
        x: Axis::log("Subscribers on each node").with_ticks(ticks.into_iter().map(f64::from)),
        y: Axis::log("Delivered [kB/s]"),
        plot: Plot::Lines(line_series(cells, Part::Figure7, x, delivered_per_second, kilobytes)),
        size: ONE_COLUMN,
    }
}
