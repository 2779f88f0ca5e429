//! A journal reads back as it was written.

use hostmark_model::{Profile, RoundNoise};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{CATALOGUE, planned};

impl Journal {
    /// A journal on a device that is always full.
    pub(crate) fn on_full_device() -> Journal {
        let path = Path::new("/dev/full");
        Journal { file: OpenOptions::new().write(true).open(path).unwrap(), path: path.to_owned() }
    }
}

fn round(number: u32, ns: f64) -> RoundResult {
    let samples =
        Event::Samples { ns: vec![ns, 0.1 + 0.2], iterations: vec![1, u64::MAX], amount: 0, taints: vec![0, 3] };
    let note = Event::Note { key: "pages".into(), value: "pmd, \"half\"\nbase 大页".into() };
    RoundResult {
        round: number,
        cpus: vec![1, 3],
        events: vec![note, samples, Event::Done { noise: RoundNoise::default() }],
    }
}

/// What a reader makes of a journal: the header and the rounds, without a last line that has no end.
fn read(text: &str) -> (Value, Vec<(String, RoundResult)>) {
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let mut lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let of = |line: &Value, key: &str| line[key].clone();
    let rounds = lines.map(|line| {
        let round = RoundResult {
            round: serde_json::from_value(of(&line, "round")).unwrap(),
            cpus: serde_json::from_value(of(&line, "cpus")).unwrap(),
            events: serde_json::from_value(of(&line, "events")).unwrap(),
        };
        (line["case"].as_str().unwrap().to_owned(), round)
    });
    let rounds = rounds.collect();
    (header, rounds)
}

#[test]
fn the_header_comes_first_and_the_rounds_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let mut journal = Journal::create(&path, &json!({ "id": "abc" }), &plan).unwrap();
    let written = [("net.tcp", round(0, 1.5)), ("net.tcp_connect", round(0, 2.5)), ("net.tcp", round(1, -0.25))];
    for (case, round) in &written {
        journal.append(case, round).unwrap();
    }
    assert_eq!(journal.path(), path);
    let mut text = std::fs::read_to_string(&path).unwrap();
    let (header, rounds) = read(&text);
    assert_eq!(header["run"]["id"], "abc");
    assert_eq!(header["plan"], json!({ "seed": 7, "cases": ["net.tcp", "net.tcp_connect"] }));
    assert_eq!(rounds, written.map(|(case, round)| (case.to_owned(), round)));
    // Killed while it wrote a line.
    text.truncate(text.len() - 9);
    assert_eq!(read(&text).1, rounds[..2]);
    journal.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_journal_never_takes_the_place_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    std::fs::write(&path, "mine").unwrap();
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let error = Journal::create(&path, &"run", &plan).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_full_disk_is_an_error() {
    assert_eq!(
        Journal::on_full_device().append("net.tcp", &round(0, 1.0)).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}

#[test]
fn a_header_that_cannot_be_written_leaves_nothing() {
    struct Unspeakable;
    impl Serialize for Unspeakable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    assert!(Journal::create(&path, &Unspeakable, &plan).is_err());
    assert!(!path.exists());
}
