//! A drawing as a one-page PDF, in two of the fonts that every reader has.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::font;
use super::mark::{Anchor, Colour, Mark, Stroke, Text};

const REGULAR: Name<'static> = Name(b"R");
const BOLD: Name<'static> = Name(b"B");
/// A quarter of a circle as a Bézier curve: distance of the handles, as a share of the radius.
const QUARTER: f32 = 0.552_285;

/// The drawing as the bytes of a file.
pub(crate) fn write(marks: &[Mark], (width, height): (f64, f64), title: &str) -> Vec<u8> {
    let [catalog, pages, page, content, regular, bold, info] = [1, 2, 3, 4, 5, 6, 7].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    sheet.parent(pages).media_box(Rect::new(0.0, 0.0, width as f32, height as f32)).contents(content);
    sheet.resources().fonts().pair(REGULAR, regular).pair(BOLD, bold);
    sheet.finish();
    for (id, name) in [(regular, &b"Helvetica"[..]), (bold, b"Helvetica-Bold")] {
        pdf.type1_font(id).base_font(Name(name)).encoding_predefined(Name(b"WinAnsiEncoding"));
    }
    pdf.document_info(info).title(TextStr(title)).producer(TextStr("stillwatt"));
    let mut page = Page { content: Content::new(), height };
    marks.iter().for_each(|mark| page.draw(mark));
    pdf.stream(content, &page.content.finish());
    pdf.finish()
}

/// The page's drawing operators. PDF counts y from below.
struct Page {
    content: Content,
    height: f64,
}

impl Page {
    fn place(&self, (x, y): (f64, f64)) -> (f32, f32) {
        let hundredths = |value: f64| ((value * 100.0).round() / 100.0) as f32;
        (hundredths(x), hundredths(self.height - y))
    }

    fn draw(&mut self, mark: &Mark) {
        match mark {
            Mark::Line { points, stroke } => {
                self.path(points);
                self.stroke(*stroke);
                self.content.stroke();
            }
            Mark::Shape { points, fill, outline } => {
                self.fill(*fill);
                outline.iter().for_each(|outline| self.stroke(*outline));
                self.path(points);
                self.content.close_path();
                self.paint(outline.is_some());
            }
            Mark::Disc { at, radius, fill, outline } => {
                self.fill(*fill);
                outline.iter().for_each(|outline| self.stroke(*outline));
                self.circle(*at, *radius as f32);
                self.paint(outline.is_some());
            }
            Mark::Text(text) => self.text(text),
        }
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        for (index, point) in points.iter().enumerate() {
            let (x, y) = self.place(*point);
            if index == 0 {
                self.content.move_to(x, y);
            } else {
                self.content.line_to(x, y);
            }
        }
    }

    fn circle(&mut self, at: (f64, f64), r: f32) {
        let (x, y) = self.place(at);
        let h = r * QUARTER;
        self.content
            .move_to(x + r, y)
            .cubic_to(x + r, y + h, x + h, y + r, x, y + r)
            .cubic_to(x - h, y + r, x - r, y + h, x - r, y)
            .cubic_to(x - r, y - h, x - h, y - r, x, y - r)
            .cubic_to(x + h, y - r, x + r, y - h, x + r, y)
            .close_path();
    }

    fn paint(&mut self, is_outlined: bool) {
        if is_outlined {
            self.content.fill_nonzero_and_stroke();
        } else {
            self.content.fill_nonzero();
        }
    }

    fn stroke(&mut self, stroke: Stroke) {
        let (red, green, blue) = shares(stroke.colour);
        self.content.set_stroke_rgb(red, green, blue).set_line_width(stroke.width as f32);
        self.content.set_line_join(pdf_writer::types::LineJoinStyle::RoundJoin);
        let dashes: &[f32] = if stroke.is_dashed { &[4.0, 2.5] } else { &[] };
        self.content.set_dash_pattern(dashes.iter().copied(), 0.0);
    }

    fn fill(&mut self, colour: Colour) {
        let (red, green, blue) = shares(colour);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn text(&mut self, text: &Text) {
        let width = font::width(&text.text, text.size, text.is_bold);
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (x, y) = text.at;
        let start = if text.is_upright { (x, y + back) } else { (x - back, y) };
        let (x, y) = self.place(start);
        self.fill(text.colour);
        let matrix = if text.is_upright { [0.0, 1.0, -1.0, 0.0, x, y] } else { [1.0, 0.0, 0.0, 1.0, x, y] };
        self.content
            .begin_text()
            .set_font(if text.is_bold { BOLD } else { REGULAR }, text.size as f32)
            .set_text_matrix(matrix)
            .show(Str(&font::win_ansi(&text.text)))
            .end_text();
    }
}

fn shares(Colour(red, green, blue): Colour) -> (f32, f32, f32) {
    let share = |part: u8| f32::from(part) / 255.0;
    (share(red), share(green), share(blue))
}
