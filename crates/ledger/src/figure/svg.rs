//! A drawing as SVG 1.1.

use std::fmt::Write;

use super::mark::{Anchor, Colour, Mark, Stroke, Text};

/// The drawing as the text of a file.
pub(crate) fn write(marks: &[Mark], (width, height): (f64, f64), title: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{width}pt\" height=\"{height}pt\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>{}</title>\n",
        escaped(title)
    );
    for mark in marks {
        // Writing to a string does not fail.
        let _ = writeln!(svg, "{}", element(mark));
    }
    svg.push_str("</svg>\n");
    svg
}

fn element(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, stroke } => {
            format!("<polyline points=\"{}\" fill=\"none\"{}/>", places(points), stroked(Some(*stroke)))
        }
        Mark::Shape { points, fill, outline } => {
            format!(
                "<polygon points=\"{}\" fill=\"{}\"{}/>",
                places(points),
                colour(*fill),
                stroked(*outline)
            )
        }
        Mark::Disc { at: (x, y), radius, fill, outline } => {
            let (fill, outline) = (colour(*fill), stroked(*outline));
            format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" fill=\"{fill}\"{outline}/>",
                place(*x),
                place(*y)
            )
        }
        Mark::Text(text) => text_element(text),
    }
}

fn text_element(text: &Text) -> String {
    let (x, y) = (place(text.at.0), place(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if text.is_bold { " font-weight=\"bold\"" } else { "" };
    let turned = if text.is_upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{bold}{anchor}{turned}>{}</text>",
        text.size,
        colour(text.colour),
        escaped(&text.text)
    )
}

fn stroked(stroke: Option<Stroke>) -> String {
    let Some(stroke) = stroke else { return String::new() };
    let dashes = if stroke.is_dashed { " stroke-dasharray=\"4 2.5\"" } else { "" };
    format!(
        " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dashes}",
        colour(stroke.colour),
        stroke.width
    )
}

fn colour(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Hundredths of a point are enough.
fn place(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn places(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", place(*x), place(*y))).collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML 1.0 has no way to say the other control characters.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
