//! What a drawing is made of, whatever file it goes into. Points from the upper left corner, y down.

/// A colour, as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// Black.
    pub const BLACK: Self = Self(0, 0, 0);
    /// White.
    pub const WHITE: Self = Self(255, 255, 255);
    /// Text and axes.
    pub const INK: Self = Self(0x22, 0x22, 0x22);
    /// Small print, the floor.
    pub const GREY: Self = Self(0x6e, 0x6e, 0x6e);
    /// Grid lines.
    pub const LIGHT: Self = Self(0xdd, 0xdd, 0xdd);
    // What follows can be told apart by readers who see colours differently (Okabe and Ito's set).
    /// Blue.
    pub const BLUE: Self = Self(0x00, 0x72, 0xb2);
    /// Vermilion.
    pub const VERMILION: Self = Self(0xd5, 0x5e, 0x00);
    /// Green.
    pub const GREEN: Self = Self(0x00, 0x9e, 0x73);
    /// Sky blue.
    pub const SKY: Self = Self(0x56, 0xb4, 0xe9);
    /// Orange.
    pub const ORANGE: Self = Self(0xe6, 0x9f, 0x00);
    /// Purple.
    pub const PURPLE: Self = Self(0xcc, 0x79, 0xa7);
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    pub(crate) is_dashed: bool,
}

impl Stroke {
    pub(crate) const fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, is_dashed: false }
    }
}

/// Where a text's point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text on its base line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) at: (f64, f64),
    pub(crate) text: String,
    pub(crate) size: f64,
    pub(crate) is_bold: bool,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    /// Reads from bottom to top.
    pub(crate) is_upright: bool,
}

/// One thing drawn; later ones cover earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// An open line.
    Line { points: Vec<(f64, f64)>, stroke: Stroke },
    /// A filled shape, with an outline where it has one.
    Shape { points: Vec<(f64, f64)>, fill: Colour, outline: Option<Stroke> },
    /// A filled disc.
    Disc { at: (f64, f64), radius: f64, fill: Colour, outline: Option<Stroke> },
    /// Text.
    Text(Text),
}

/// A rectangle's corners.
pub(crate) fn rectangle(left: f64, top: f64, right: f64, bottom: f64) -> Vec<(f64, f64)> {
    vec![(left, top), (right, top), (right, bottom), (left, bottom)]
}
