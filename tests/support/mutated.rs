//! What is nearly right: documents that are changed at a few places, by a seed.

use serde_json::{Number, Value};

/// Numbers at the edges of their types.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "-0.0",
    "0.5",
    "1",
    "127",
    "128",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "-1e308",
    "1e-308",
    "5e-324",
    "1e20",
    "1e999",
    "18446744073709551616",
];
/// Texts that steer, that are long or empty, and that other places take for something.
const TEXTS: &[&str] = &[
    "",
    "\u{1b}[31m\u{9b}2J",
    "\n\r\t\u{0}",
    "\u{202e}\u{2066}\u{feff}",
    "../../../etc/passwd",
    "-rf",
    "=1+1",
    "字",
    "a@b=c,d=e",
    "x@y",
    "@",
    "last",
    "{}",
    "<script>",
    "memory.read@size=18446744073709551615",
    "0-999999999",
    "NaN",
];
pub struct Mutator(u64);

/// How many are tried: so many, or as many as `HOSTMARK_FUZZ` asks for.
pub fn trials(usual: usize) -> usize {
    std::env::var("HOSTMARK_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator(seed)
    }

    /// A number below this (splitmix64).
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Changes some of its values, mostly by others of their type.
    pub fn document(&mut self, value: &mut Value) {
        for _ in 0..=self.below(4) {
            let at = self.below(count(value));
            self.change(value, &mut { at });
        }
    }

    /// Goes to the node of this number, and changes it.
    fn change(&mut self, value: &mut Value, at: &mut usize) -> bool {
        if *at == 0 {
            self.replace(value);
            return true;
        }
        *at -= 1;
        match value {
            Value::Array(values) => values.iter_mut().any(|value| self.change(value, at)),
            Value::Object(map) => map.values_mut().any(|value| self.change(value, at)),
            _ => false,
        }
    }

    fn replace(&mut self, value: &mut Value) {
        let way = self.below(12);
        match value {
            _ if way == 0 => *value = Value::Null,
            _ if way == 1 => *value = self.number(),
            Value::Number(_) => *value = self.number(),
            Value::String(text) if way == 2 && text.len() < 1000 => *text = text.repeat(1000),
            Value::String(text) => *text = self.one(TEXTS).to_owned(),
            Value::Bool(is) => *is = !*is,
            Value::Array(values) if way < 5 => values.truncate(values.len() / 2),
            Value::Array(values) if way < 7 => values.clear(),
            Value::Array(values) => {
                let again = values.iter().take(200).cloned().collect::<Vec<_>>();
                values.extend(again);
            }
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                let key = if keys.is_empty() { String::new() } else { keys[self.below(keys.len())].clone() };
                let old = map.remove(&key);
                if way > 6 {
                    map.insert(self.one(TEXTS).to_owned(), old.unwrap_or_default());
                }
            }
            Value::Null => *value = self.number(),
        }
    }

    fn number(&mut self) -> Value {
        let text = self.one(NUMBERS);
        // What is beyond all types comes as a text would have it, by bytes.
        text.parse().map(Value::Number).unwrap_or_else(|_| Value::Number(Number::from(u64::MAX)))
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum::<usize>(),
        _ => 0,
    }
}
