//! What of a Rust file is code: comments, strings and characters are blanked out, so that a rule reads no prose.

/// `text` with everything inside comments, strings and character literals replaced by blanks; lines stay lines.
pub fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if next_is(&chars, at + 1, '/') => end_of_line(&chars, at),
            '/' if next_is(&chars, at + 1, '*') => end_of_comment(&chars, at),
            '"' => end_of_string(&chars, at + 1),
            'r' if !is_inside_word(&chars, at) => end_of_raw_string(&chars, at).unwrap_or(at),
            '\'' => end_of_character(&chars, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

/// The words of a code: names and keywords.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A code without its white space, so that a rule need not guess how it was laid out.
pub fn packed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

fn next_is(chars: &[char], at: usize, wanted: char) -> bool {
    chars.get(at) == Some(&wanted)
}

/// Whether the character before belongs to the same word (`br"…"` and `cr"…"` begin strings all the same).
fn is_inside_word(chars: &[char], at: usize) -> bool {
    let is_word = |at: usize| chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    match at.checked_sub(1) {
        None => false,
        Some(before) if matches!(chars[before], 'b' | 'c') => before > 0 && is_word(before - 1),
        Some(before) => is_word(before),
    }
}

fn end_of_line(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |length| at + length)
}

fn end_of_comment(chars: &[char], begin: usize) -> usize {
    let (mut at, mut depth) = (begin, 0_u32);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], begin: usize) -> usize {
    let mut at = begin;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn end_of_raw_string(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |&quote: &usize| chars[quote] == '"' && (1..=hashes).all(|hash| next_is(chars, quote + hash, '#'));
    let quote = (open + 1..chars.len()).find(closes);
    Some(quote.map_or(chars.len(), |quote| quote + 1 + hashes))
}

/// The end of `'x'`, `'\n'`, `'\u{…}'`; none for the mark of a lifetime.
fn end_of_character(chars: &[char], at: usize) -> Option<usize> {
    if chars.get(at + 1) == Some(&'\\') {
        let quote = (at + 3..chars.len()).find(|&quote| chars[quote] == '\'')?;
        return Some(quote + 1);
    }
    (chars.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

#[test]
fn prose_is_no_code() {
    let text =
        "// one unsafe\nlet a = \"two \\\" unsafe\"; /* three /* unsafe */ unsafe */ let b = r#\"four \" unsafe\"#;";
    assert!(words(&code_of(text)).all(|word| word != "unsafe"), "{}", code_of(text));
    assert_eq!(code_of(text).lines().count(), 2);
}

#[test]
fn code_between_literals_is_code() {
    let text = "fn f<'a>(c: &'a char) -> bool { *c == '\"' || *c == '\\'' || br\"\\\".len() == 1 } unsafe {}";
    let code = code_of(text);
    assert!(words(&code).any(|word| word == "unsafe"), "{code}");
    assert!(code.contains("&'a char") && !code.contains('"'), "{code}");
}
