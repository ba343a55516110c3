//! Figures drawn from measurements: lines with markers and error bars, grouped bars, linear and logarithmic axes.
//!
//! One [`Figure`] gives the same drawing as SVG 1.1 and as PDF 1.7. Nothing of the machine goes into it: no font files,
//! no clock, so that the same numbers give the same bytes. Text is set in Helvetica, one of the fonts that every PDF
//! reader has; SVG readers take Helvetica, Arial or what they have without serifs.

mod axis;
mod font;
mod layout;
mod mark;
mod pdf;
mod svg;

pub use axis::{Axis, Scale};
pub use mark::Colour;

/// A measured point: where, how much, and between what the runs lay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis. For bars: the group's index.
    pub x: f64,
    /// The value, often a median.
    pub y: f64,
    /// The lowest and the highest run; drawn as an error bar where they differ.
    pub range: Option<(f64, f64)>,
}

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Of lines, markers and bars.
    pub colour: Colour,
    /// At each point of a line.
    pub marker: Marker,
    /// Whether a line is dashed, its markers open and a bar only outlined.
    pub is_open: bool,
}

/// The shape at each point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// Nothing.
    None,
}

/// One line, or one bar in every group.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// For the legend.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// In the order of `x`.
    pub points: Vec<Point>,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Lines through points.
    Lines(Vec<Series>),
    /// Bars side by side in groups, each with its value above it.
    Bars {
        /// The groups' names, left to right.
        groups: Vec<String>,
        /// One bar of each series in every group that it has a point in.
        series: Vec<Series>,
    },
}

/// A figure: fills one column of a paper, 90 mm wide, or two.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows, in one line.
    pub title: String,
    /// How it was measured, in small print below.
    pub note: String,
    /// The horizontal axis; of bars only its label is used.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub plot: Plot,
    /// Width and height in points (1/72 inch).
    pub size: (f64, f64),
}

/// Width and height of a figure in one column, in points.
pub const ONE_COLUMN: (f64, f64) = (340.0, 250.0);
/// Width and height of a figure over two columns, in points.
pub const TWO_COLUMNS: (f64, f64) = (520.0, 270.0);

impl Figure {
    /// As SVG 1.1 text.
    pub fn to_svg(&self) -> String {
        svg::write(&layout::lay_out(self), self.size, &self.title)
    }

    /// As the bytes of a one-page PDF.
    pub fn to_pdf(&self) -> Vec<u8> {
        pdf::write(&layout::lay_out(self), self.size, &self.title)
    }
}
