//! The text format of Prometheus, read by its rules.

use std::collections::{HashMap, HashSet};

/// A sample of the text format: its name, its labels, its value.
pub type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text format by its rules, and holds it to those of the textfile collector and of promtool's check.
pub fn prometheus(text: &str) -> Vec<Sample> {
    let (mut samples, mut kinds, mut seen) = (Vec::new(), HashMap::new(), HashSet::new());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut family = String::new();
    let mut closed = HashSet::new();
    for line in text.lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty() && closed.insert(name.to_owned()), "{line}");
            // As promtool's rule is.
            assert!(
                !name.split('_').any(|part| ["s", "ms", "us", "ns", "b", "kb", "mb", "gb"].contains(&part)),
                "{line}"
            );
            family = name.to_owned();
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!((name, kind), (family.as_str(), "gauge"));
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            continue;
        }
        let end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(end);
        // All samples of a family stand below its TYPE.
        assert_eq!(name, family, "{line}");
        let mut labels = Vec::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            loop {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(is_name(label) && !label.starts_with("__"), "{line}");
                let (mut text, mut chars, mut length) = (String::new(), value.chars(), 0);
                loop {
                    let c = chars.next().expect("a label's value ends");
                    length += c.len_utf8();
                    match c {
                        '"' => break,
                        '\\' => {
                            let escaped = chars.next().unwrap();
                            assert!(matches!(escaped, '\\' | '"' | 'n'), "{line}");
                            length += escaped.len_utf8();
                            text.push(escaped);
                        }
                        c => text.push(c),
                    }
                }
                assert!(!labels.iter().any(|(known, _)| known == label), "{line}");
                labels.push((label.to_owned(), text));
                rest = &value[length..];
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap();
        }
        // Those of the run, by which files of several may lie in one folder.
        let own = labels.split_off(labels.len() - 2);
        assert_eq!(own.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["run", "host"], "{line}");
        let number = rest.strip_prefix(' ').unwrap();
        assert!(!number.contains(' '), "a timestamp: {line}");
        let number: f64 = number.parse().unwrap();
        assert!(number.is_finite(), "{line}");
        assert!(seen.insert((name.to_owned(), labels.clone())), "twice: {line}");
        assert!(!["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end)), "{line}");
        samples.push((name.to_owned(), labels, number));
    }
    samples
}
