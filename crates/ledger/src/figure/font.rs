//! How wide text is in Helvetica, in thousandths of its size (Adobe's metrics of the base 14 fonts).

const FIRST: char = ' ';

#[rustfmt::skip]
const REGULAR: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

#[rustfmt::skip]
const BOLD: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611,
    556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389,
    280, 389, 584,
];

/// Of a character that is in neither table: that of most letters.
const OTHER: u16 = 556;

/// The width of `text` in points.
pub(crate) fn width(text: &str, size: f64, is_bold: bool) -> f64 {
    let table = if is_bold { &BOLD } else { &REGULAR };
    let of = |c: char| {
        let index = (c as u32).checked_sub(FIRST as u32)?;
        table.get(usize::try_from(index).ok()?).copied()
    };
    let thousandths: u32 = text.chars().map(|c| u32::from(of(c).unwrap_or(OTHER))).sum();
    f64::from(thousandths) * size / 1000.0
}

/// The text in WinAnsi, the encoding of the PDF's fonts; what it lacks becomes `?`.
pub(crate) fn win_ansi(text: &str) -> Vec<u8> {
    let of = |c: char| match c {
        '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{ff}' => u8::try_from(c as u32).unwrap_or(b'?'),
        '–' => 0x96,
        '—' => 0x97,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '…' => 0x85,
        'μ' => 0xb5,
        _ => b'?',
    };
    text.chars().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known widths; unknown characters count as letters.
    #[test]
    fn widths() {
        assert!((width("iii", 10.0, false) - 6.66).abs() < 1e-9);
        assert!((width("WW", 10.0, true) - 18.88).abs() < 1e-9);
        assert!((width("µ", 10.0, false) - 5.56).abs() < 1e-9);
    }

    /// Signs of our units survive, others are visible as missing.
    #[test]
    fn encoding() {
        assert_eq!(win_ansi("2 µs ×–"), b"2 \xb5s \xd7\x96");
        assert_eq!(win_ansi("μ水"), b"\xb5?");
    }
}
