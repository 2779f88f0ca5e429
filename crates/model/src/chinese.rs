//! How Chinese is set where parts of a sentence meet.

/// Appends a part: a space between an ideograph and a Latin letter or digit, none beside a full-width mark.
pub fn append_in_chinese(text: &mut String, part: &str) {
    let before = text.trim_end_matches(' ').chars().next_back();
    let behind = part.trim_start_matches(' ').chars().next();
    let (Some(before), Some(behind)) = (before, behind) else {
        *text += part;
        return;
    };
    let is_latin = |c: char| c.is_ascii_alphanumeric();
    let space = if is_mark(before) || is_mark(behind) || is_ideograph(before) && is_ideograph(behind) {
        Some("")
    } else if is_ideograph(before) && is_latin(behind) || is_latin(before) && is_ideograph(behind) {
        Some(" ")
    } else {
        None
    };
    match space {
        Some(space) => {
            text.truncate(text.trim_end_matches(' ').len());
            *text += space;
            *text += part.trim_start_matches(' ');
        }
        None => *text += part,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Full-width punctuation, which brings its own space.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201d}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}')
}
