//! Figures as files: what every reader of SVG and PDF relies on, not the bytes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure in a helper is a failed test")]

use ledger::figure::{Axis, Colour, Figure, Marker, ONE_COLUMN, Plot, Point, Series, Style};

fn style(colour: Colour, marker: Marker) -> Style {
    Style { colour, marker, is_open: false }
}

fn lines() -> Figure {
    let points = |scale: f64| {
        [1.0, 2.0, 8.0, 40.0]
            .map(|x| Point { x, y: x * scale, range: Some((x * scale * 0.9, x * scale * 1.2)) })
            .to_vec()
    };
    Figure {
        title: "Latency & <rate> over \"nodes\"".into(),
        note: "Median of 5 runs; bars from the lowest to the highest run.".into(),
        x: Axis::log("Subscribers").with_ticks([1.0, 2.0, 8.0, 40.0]),
        y: Axis::log("Half round trip [µs]"),
        plot: Plot::Lines(vec![
            Series {
                label: "Stillwatt".into(),
                style: style(Colour::BLUE, Marker::Disc),
                points: points(5.0),
            },
            Series {
                label: "quoted".into(),
                style: Style { is_open: true, ..style(Colour::GREY, Marker::Diamond) },
                points: points(40.0),
            },
        ]),
        size: ONE_COLUMN,
    }
}

fn bars() -> Figure {
    let points = |values: [f64; 2]| {
        values
            .iter()
            .enumerate()
            .map(|(at, y)| Point { x: at as f64, y: *y, range: None })
            .collect::<Vec<_>>()
    };
    Figure {
        plot: Plot::Bars {
            groups: vec!["UDP".into(), "TCP".into()],
            series: vec![
                Series {
                    label: "a".into(),
                    style: style(Colour::BLUE, Marker::None),
                    points: points([5.0, 8.0]),
                },
                Series {
                    label: "b".into(),
                    style: style(Colour::GREEN, Marker::None),
                    points: points([7.5, f64::NAN]),
                },
            ],
        },
        ..lines()
    }
}

/// The SVG is well-formed XML, has one line and one marker set for each series, and says every text escaped.
#[test]
fn svg_is_well_formed() {
    for figure in [lines(), bars()] {
        let svg = figure.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "svg");
        assert_eq!(root.attribute("viewBox"), Some("0 0 340 250"));
        let texts: Vec<_> = root
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
            .collect();
        let says = |text: &str| texts.iter().any(|node| node.text() == Some(text));
        assert!(says("Latency & <rate> over \"nodes\"") && says("Half round trip [µs]"), "{svg}");
    }
    let svg = lines().to_svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.tag_name().name() == name).count();
    // Four points and the legend's key.
    assert_eq!(count("circle"), 5);
    assert!(svg.contains("stroke-dasharray"));
}

/// A value that cannot be drawn leaves its bar out and nothing else.
#[test]
fn bars_without_value_are_left_out() {
    let svg = bars().to_svg();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    // Two bars and a key of the first series, one bar and a key of the second.
    let of = |colour: &str| svg.matches(&format!("fill=\"{colour}\" stroke")).count();
    assert_eq!((of("#0072b2"), of("#009e73")), (3, 2));
}

/// The PDF begins and ends as one, its cross-reference table points at its objects, and both fonts are named.
#[test]
fn pdf_is_readable() {
    for figure in [lines(), bars()] {
        let pdf = figure.to_pdf();
        assert!(pdf.starts_with(b"%PDF-1."));
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.trim_end().ends_with("%%EOF"));
        // Offsets count bytes, so they are looked up in the bytes.
        let start = text.rsplit("startxref").next().unwrap();
        let start: usize = start.split_whitespace().next().unwrap().parse().unwrap();
        let table = String::from_utf8_lossy(&pdf[start..]).into_owned();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("xref"));
        let count: usize = lines.next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
        for (number, line) in lines.take(count).enumerate().skip(1) {
            let offset: usize = line.split_whitespace().next().unwrap().parse().unwrap();
            assert!(pdf[offset..].starts_with(format!("{number} 0 obj").as_bytes()), "object {number}");
        }
        assert!(
            text.contains("/Helvetica")
                && text.contains("/Helvetica-Bold")
                && text.contains("WinAnsiEncoding")
        );
    }
}

/// The same figure gives the same bytes.
#[test]
fn drawing_is_repeatable() {
    assert_eq!(lines().to_svg(), lines().to_svg());
    assert_eq!(bars().to_pdf(), bars().to_pdf());
}
