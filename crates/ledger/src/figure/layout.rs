//! Where everything of a figure goes: title, legend, axes, data, small print. Pure.

use super::axis::{Placed, shown};
use super::font;
use super::mark::{Anchor, Colour, Mark, Stroke, Text, rectangle};
use super::{Axis, Figure, Marker, Plot, Point, Series, Style};

const TITLE_SIZE: f64 = 10.0;
const LABEL_SIZE: f64 = 9.0;
const TICK_SIZE: f64 = 8.0;
const NOTE_SIZE: f64 = 6.5;
const VALUE_SIZE: f64 = 6.0;
const MARGIN: f64 = 8.0;
const LINE_HEIGHT: f64 = 1.3;
const TICK_LENGTH: f64 = 3.0;
const MARKER_RADIUS: f64 = 2.6;
/// Of the space of a group, what its bars take together.
const BARS_SHARE: f64 = 0.82;
/// A bar narrower than this has no number above it: they would run into each other.
const VALUE_BAR_MIN: f64 = 13.0;
const KEY_WIDTH: f64 = 18.0;
const BAR_KEY_WIDTH: f64 = 10.0;

/// The rectangle that data is drawn in.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// All marks of a figure, in the order in which they are drawn.
pub(crate) fn lay_out(figure: &Figure) -> Vec<Mark> {
    let (width, height) = figure.size;
    let mut marks =
        vec![Mark::Shape { points: rectangle(0.0, 0.0, width, height), fill: Colour::WHITE, outline: None }];
    let mut top = MARGIN + TITLE_SIZE;
    for line in wrapped(&figure.title, width - 2.0 * MARGIN, TITLE_SIZE, true) {
        marks.push(text((MARGIN, top), line, TITLE_SIZE, Anchor::Start, Colour::INK, true));
        top += TITLE_SIZE * LINE_HEIGHT;
    }
    top = legend(&mut marks, figure, top);
    let note = wrapped(&figure.note, width - 2.0 * MARGIN, NOTE_SIZE, false);
    let mut bottom = height - MARGIN;
    for line in note.into_iter().rev() {
        marks.push(text((MARGIN, bottom), line, NOTE_SIZE, Anchor::Start, Colour::GREY, false));
        bottom -= NOTE_SIZE * LINE_HEIGHT;
    }
    let label_base = bottom - 2.0;
    let axis_bottom = label_base - LABEL_SIZE * 1.25 - TICK_SIZE - TICK_LENGTH - 2.0;
    let mut area = Area { left: 0.0, top: top + 4.0, right: width - MARGIN, bottom: axis_bottom };
    let y = Placed::new(&figure.y, heights(&figure.plot), (area.bottom, area.top), false);
    let widest = y.ticks.iter().map(|tick| font::width(&shown(*tick), TICK_SIZE, false)).fold(0.0, f64::max);
    area.left = MARGIN + LABEL_SIZE * 1.4 + widest + TICK_LENGTH + 3.0;
    vertical_axis(&mut marks, &figure.y, &y, area);
    marks.push(text(
        (f64::midpoint(area.left, area.right), label_base),
        figure.x.label.clone(),
        LABEL_SIZE,
        Anchor::Middle,
        Colour::INK,
        false,
    ));
    match &figure.plot {
        Plot::Lines(series) => lines(&mut marks, figure, series, &y, area),
        Plot::Bars { groups, series } => bars(&mut marks, groups, series, &y, area),
    }
    let axis = Stroke::solid(Colour::INK, 0.8);
    let corner = vec![(area.left, area.top), (area.left, area.bottom), (area.right, area.bottom)];
    marks.push(Mark::Line { points: corner, stroke: axis });
    marks
}

fn text(at: (f64, f64), text: String, size: f64, anchor: Anchor, colour: Colour, is_bold: bool) -> Mark {
    Mark::Text(Text { at, text, size, is_bold, anchor, colour, is_upright: false })
}

/// Lines no wider than `width`, broken between words.
fn wrapped(text: &str, width: f64, size: f64, is_bold: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer) {
            (Some(line), Some(longer)) if font::width(&longer, size, is_bold) <= width => *line = longer,
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn series(plot: &Plot) -> &[Series] {
    match plot {
        Plot::Lines(series) | Plot::Bars { series, .. } => series,
    }
}

/// All heights that must fit, error bars included.
fn heights(plot: &Plot) -> impl Iterator<Item = f64> + '_ {
    let points = series(plot).iter().flat_map(|series| &series.points);
    points.flat_map(|point| {
        let (low, high) = point.range.unwrap_or((point.y, point.y));
        [low, point.y, high]
    })
}

/// One entry a series, in rows; gives the base line after the last row.
fn legend(marks: &mut Vec<Mark>, figure: &Figure, top: f64) -> f64 {
    let is_lines = matches!(figure.plot, Plot::Lines(_));
    let key_width = if is_lines { KEY_WIDTH } else { BAR_KEY_WIDTH };
    let (mut x, mut y) = (MARGIN, top + 1.0);
    for series in series(&figure.plot) {
        let width = key_width + 4.0 + font::width(&series.label, TICK_SIZE, false) + 12.0;
        if x > MARGIN && x + width > figure.size.0 - MARGIN {
            x = MARGIN;
            y += TICK_SIZE * 1.45;
        }
        key(marks, series, (x, y - TICK_SIZE * 0.33), is_lines);
        let label = (x + key_width + 4.0, y);
        marks.push(text(label, series.label.clone(), TICK_SIZE, Anchor::Start, Colour::INK, false));
        x += width;
    }
    y + TICK_SIZE * 0.6
}

/// A line with its marker, or a piece of bar.
fn key(marks: &mut Vec<Mark>, series: &Series, (x, y): (f64, f64), is_lines: bool) {
    if is_lines {
        let points = vec![(x, y), (x + KEY_WIDTH, y)];
        marks.push(Mark::Line { points, stroke: line_stroke(series.style) });
        marker(marks, series.style, (x + KEY_WIDTH / 2.0, y));
    } else {
        bar(marks, series.style, (x, y - 3.2, x + BAR_KEY_WIDTH, y + 3.2));
    }
}

fn line_stroke(style: Style) -> Stroke {
    Stroke { colour: style.colour, width: 1.4, is_dashed: style.is_open }
}

fn bar(marks: &mut Vec<Mark>, style: Style, (left, top, right, bottom): (f64, f64, f64, f64)) {
    let outline = Some(Stroke::solid(style.colour, 0.8));
    let fill = if style.is_open { Colour::WHITE } else { style.colour };
    marks.push(Mark::Shape { points: rectangle(left, top, right, bottom), fill, outline });
}

fn marker(marks: &mut Vec<Mark>, style: Style, (x, y): (f64, f64)) {
    let r = MARKER_RADIUS;
    let fill = if style.is_open { Colour::WHITE } else { style.colour };
    let outline = Some(Stroke::solid(style.colour, 0.9));
    let points = match style.marker {
        Marker::None => return,
        Marker::Disc => {
            marks.push(Mark::Disc { at: (x, y), radius: r, fill, outline });
            return;
        }
        Marker::Square => rectangle(x - r * 0.9, y - r * 0.9, x + r * 0.9, y + r * 0.9),
        Marker::Triangle => vec![(x, y - r * 1.2), (x + r * 1.1, y + r * 0.8), (x - r * 1.1, y + r * 0.8)],
        Marker::Diamond => vec![(x, y - r * 1.3), (x + r * 1.3, y), (x, y + r * 1.3), (x - r * 1.3, y)],
    };
    marks.push(Mark::Shape { points, fill, outline });
}

/// Grid, ticks, their numbers and the label.
fn vertical_axis(marks: &mut Vec<Mark>, axis: &Axis, placed: &Placed, area: Area) {
    for tick in &placed.ticks {
        let y = placed.place(*tick);
        marks.push(Mark::Line {
            points: vec![(area.left, y), (area.right, y)],
            stroke: Stroke::solid(Colour::LIGHT, 0.5),
        });
        marks.push(Mark::Line {
            points: vec![(area.left - TICK_LENGTH, y), (area.left, y)],
            stroke: Stroke::solid(Colour::INK, 0.8),
        });
        let at = (area.left - TICK_LENGTH - 2.0, y + TICK_SIZE * 0.35);
        marks.push(text(at, shown(*tick), TICK_SIZE, Anchor::End, Colour::INK, false));
    }
    marks.push(Mark::Text(Text {
        at: (MARGIN + LABEL_SIZE, f64::midpoint(area.top, area.bottom)),
        text: axis.label.clone(),
        size: LABEL_SIZE,
        is_bold: false,
        anchor: Anchor::Middle,
        colour: Colour::INK,
        is_upright: true,
    }));
}

fn tick_below(marks: &mut Vec<Mark>, area: Area, x: f64, label: String) {
    let points = vec![(x, area.bottom), (x, area.bottom + TICK_LENGTH)];
    marks.push(Mark::Line { points, stroke: Stroke::solid(Colour::INK, 0.8) });
    let at = (x, area.bottom + TICK_LENGTH + TICK_SIZE);
    marks.push(text(at, label, TICK_SIZE, Anchor::Middle, Colour::INK, false));
}

fn lines(marks: &mut Vec<Mark>, figure: &Figure, all: &[Series], y: &Placed, area: Area) {
    let values = all.iter().flat_map(|series| series.points.iter().map(|point| point.x));
    let x = Placed::new(&figure.x, values, (area.left, area.right), true);
    // Numbers that would run into the one before them are left out; their ticks stay.
    let mut free_from = f64::NEG_INFINITY;
    for tick in &x.ticks {
        let label = shown(*tick);
        let (at, half) = (x.place(*tick), font::width(&label, TICK_SIZE, false) / 2.0);
        let fits = at - half > free_from;
        if fits {
            free_from = at + half + 3.0;
        }
        tick_below(marks, area, at, if fits { label } else { String::new() });
    }
    for series in all {
        let drawn = |point: &&Point| x.has_place(point.x) && y.has_place(point.y);
        let places: Vec<_> =
            series.points.iter().filter(drawn).map(|point| (x.place(point.x), y.place(point.y))).collect();
        for point in series.points.iter().filter(drawn) {
            error_bar(marks, y, point, x.place(point.x), series.style.colour);
        }
        marks.push(Mark::Line { points: places.clone(), stroke: line_stroke(series.style) });
        places.into_iter().for_each(|place| marker(marks, series.style, place));
    }
}

fn error_bar(marks: &mut Vec<Mark>, y: &Placed, point: &Point, x: f64, colour: Colour) {
    let Some((low, high)) = point.range else { return };
    if !y.has_place(low) || !y.has_place(high) || high <= low {
        return;
    }
    let (low, high) = (y.place(low), y.place(high));
    let stroke = Stroke::solid(colour, 0.8);
    for points in [
        vec![(x, low), (x, high)],
        vec![(x - 2.0, low), (x + 2.0, low)],
        vec![(x - 2.0, high), (x + 2.0, high)],
    ] {
        marks.push(Mark::Line { points, stroke });
    }
}

fn bars(marks: &mut Vec<Mark>, groups: &[String], all: &[Series], y: &Placed, area: Area) {
    let space = (area.right - area.left) / groups.len().max(1) as f64;
    for (group, name) in groups.iter().enumerate() {
        let middle = area.left + (group as f64 + 0.5) * space;
        tick_below(marks, area, middle, name.clone());
        let belongs = |point: &Point| is_group(point, group) && y.has_place(point.y);
        let here = |series: &Series| series.points.iter().copied().find(belongs);
        let present: Vec<_> =
            all.iter().filter_map(|series| here(series).map(|point| (series, point))).collect();
        let width = space * BARS_SHARE / all.len().max(1) as f64;
        let left = middle - width * present.len() as f64 / 2.0;
        for (index, (series, point)) in present.iter().enumerate() {
            let start = left + index as f64 * width;
            let (top, centre) = (y.place(point.y), start + width / 2.0);
            bar(marks, series.style, (start + width * 0.06, top, start + width * 0.94, area.bottom));
            error_bar(marks, y, point, centre, Colour::INK);
            if width >= VALUE_BAR_MIN {
                let above = point.range.map_or(top, |(_, high)| y.place(high)).min(top);
                let at = (centre, above - 2.0);
                marks.push(text(at, shown(point.y), VALUE_SIZE, Anchor::Middle, Colour::INK, false));
            }
        }
    }
}

/// Whether a bar's point belongs to that group.
fn is_group(point: &Point, group: usize) -> bool {
    (point.x - group as f64).abs() < 0.5
}
