//! Files of older versions of the same schema: what was added since may be missing.

use std::collections::HashSet;

use hostmark_model::{LoadError, Run, load_run};
use serde_json::Value;

use crate::redact::marked;

/// Fields that every file has, by their types.
const EVERY_FILE_HAS: &str = include_str!("../../model/src/every_file_has.txt");
/// Keys that say which of several things stands there, and what is in one of these alone.
const VARIANTS: [&str; 6] = ["measured", "skipped", "failed", "bytes", "printed", "reason"];

/// Every key, with the object it stands in.
fn keys(at: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| keys(&format!("{at}/{index}"), value, found));
        }
        Value::Object(map) => {
            for (key, value) in map {
                found.push((at.to_owned(), key.clone()));
                keys(&format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value, found);
            }
        }
        _ => {}
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_file_without_what_later_versions_added_is_a_run() {
    let whole = serde_json::to_value(marked()).unwrap();
    let needed: HashSet<&str> = EVERY_FILE_HAS.split_whitespace().chain(VARIANTS).collect();
    let mut found = Vec::new();
    keys("", &whole, &mut found);
    let mut tried = HashSet::new();
    for (object, key) in found {
        let is_of_list = |part: &&str| part.parse::<usize>().is_err();
        let kind = object.split('/').filter(is_of_list).collect::<Vec<_>>().join("/");
        if needed.contains(key.as_str()) || !tried.insert(format!("{kind}/{key}")) {
            continue;
        }
        let mut without = whole.clone();
        without.pointer_mut(&object).and_then(Value::as_object_mut).unwrap().remove(&key);
        if let Err(error) = serde_json::from_value::<Run>(without) {
            panic!("{object}/{key}: {error}");
        }
    }
    assert!(tried.len() > 60, "{tried:?}");
}

#[test]
fn a_file_that_lacks_what_every_one_has_is_said_to_be_of_another_version() {
    let mut whole = serde_json::to_value(marked()).unwrap();
    whole["host"]["kernel"].as_object_mut().unwrap().remove("release");
    let error = load_run(&whole.to_string()).unwrap_err();
    assert!(matches!(error, LoadError::Lacking(_)) && error.to_string().contains("another version"), "{error}");
    whole["schema"] = "hostmark.run/2".into();
    assert!(matches!(load_run(&whole.to_string()), Err(LoadError::Newer(_))));
}
