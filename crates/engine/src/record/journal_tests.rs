//! A journal reads back as it was written.

use hostmark_model::{Event, Histogram, PathBytes, Profile, RoundNoise};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{CATALOGUE, planned, resumed};

impl Journal {
    /// A journal on a device that is always full.
    pub(crate) fn on_full_device() -> Journal {
        let path = Path::new("/dev/full");
        let file = OpenOptions::new().write(true).open(path).unwrap();
        Journal { file, path: path.to_owned(), entry: Place::entry(path).unwrap() }
    }
}

fn round(number: u32, ns: f64) -> RoundResult {
    let samples = Event::Samples {
        ns: vec![ns, 0.1 + 0.2],
        iterations: vec![1, u64::MAX],
        amount: 0,
        disturbance_flags: vec![0, 3],
    };
    let note = Event::Note { key: "pages".into(), value: "pmd, \"half\"\nbase 大页".into() };
    let also = Event::Also { name: "loss".into(), values: vec![0.1 + 0.2, 1e-300] };
    let histogram = Event::Histogram(Histogram { values: vec![1, u64::MAX], counts: vec![u64::MAX, 1] });
    RoundResult {
        round: number,
        cpus: vec![1, 3],
        events: vec![note, samples, histogram, also, Event::Done { noise: RoundNoise::default() }],
        others: None,
    }
}

fn origin() -> Origin {
    Origin { binary: "0.1.0 abc".into(), file: PathBytes(b"x\n \xff.json".to_vec()), elsewhere: None }
}

fn took(number: u64) -> Took {
    let time = |ms: u64| Duration::from_millis(ms) + Duration::from_nanos(number);
    Took { until: time(700), spent: time(20), granted: time(10) }
}

#[test]
fn the_header_comes_first_and_the_rounds_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let mut journal = Journal::create(&path, &json!({ "id": "abc" }), &PlanLine::of(&plan), &origin()).unwrap();
    let written = [("net.tcp", round(0, 1.5)), ("net.tcp_connect", round(0, 2.5)), ("net.tcp", round(1, -0.25))];
    let written: Vec<PastRound> = (0..)
        .zip(written)
        .map(|(number, (case, round))| PastRound { case: case.to_owned(), round, took: took(number) })
        .collect();
    for past in &written {
        journal.append(&past.case, &past.round, &past.took).unwrap();
    }
    assert_eq!(journal.path(), path);
    assert!(Journal::read::<Value>(&path).unwrap().2, "its run is under way");
    assert!(matches!(Journal::resume::<Value>(&path), Err(ResumeError::UnderWay)));
    drop(journal);
    drop(resumed::<Value>(&path).unwrap());

    let (header, rounds, is_under_way) = Journal::read::<Value>(&path).unwrap();
    let cases = vec!["net.tcp".to_owned(), "net.tcp_connect".to_owned()];
    assert_eq!(header, Header { run: json!({ "id": "abc" }), cases, origin: origin(), damaged: 0 });
    assert_eq!((&rounds, is_under_way), (&written, false));

    // Killed while it wrote a line: what is whole stays, and the next line follows it.
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 9]).unwrap();
    let (mut journal, _, rounds) = resumed::<Value>(&path).unwrap();
    assert_eq!(rounds, written[..2]);
    journal.append(&written[2].case, &written[2].round, &written[2].took).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), text);
    journal.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn what_is_no_journal_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        resumed::<Value>(&path).map(drop).unwrap_err().to_string()
    };
    for text in ["", "{\"run\":1", "{}\n", "no\n"] {
        let sentence = refused(text);
        assert!(sentence.starts_with("is no journal that this version can go on with ("), "{sentence}");
        assert!(sentence.ends_with("); measure anew"), "{sentence}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn every_whole_line_is_kept_whatever_lies_between() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let mut journal = Journal::create(&path, &json!({}), &PlanLine::of(&plan), &origin()).unwrap();
    (0..4).for_each(|number| journal.append("net.tcp", &round(number, 1.0), &took(0)).unwrap());
    drop(journal);
    let text = std::fs::read(&path).unwrap();
    let ends: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').map(|at| at + 1).collect();
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let (header, rounds, _) = Journal::read::<Value>(&path).unwrap();
        (header.damaged, rounds.iter().map(|past| past.round.round).collect::<Vec<_>>())
    };
    // A page of zeros over the end of a line and the start of the next.
    let mut zeroed = text.clone();
    zeroed[ends[2] - 20..ends[2] + 20].fill(0);
    assert_eq!(read(&zeroed), (1, vec![0, 3]));
    for line in &ends[..4] {
        assert_eq!(read(&[&text[..*line], &[0; 4096], &text[*line..]].concat()), (1, vec![0, 1, 2, 3]));
    }
    let torn = [&text[..ends[1]], &text[ends[1] + 5..]].concat();
    assert_eq!(read(&torn), (1, vec![0, 2, 3]));
    assert_eq!(read(&[&text[..ends[4]], &[0; 4096]].concat()), (1, vec![0, 1, 2, 3]));
    for end in ends[0]..text.len() {
        let whole = ends[1..].iter().filter(|&&line| line <= end).count() as u32;
        assert_eq!(read(&text[..end]), (usize::from(!ends.contains(&end)), (0..whole).collect()), "{end}");
    }
    // What goes on writes behind the last whole line.
    std::fs::write(&path, [&text[..ends[3]], &[0; 4096]].concat()).unwrap();
    let (mut journal, header, _) = resumed::<Value>(&path).unwrap();
    journal.append("net.tcp", &round(3, 1.0), &took(0)).unwrap();
    assert_eq!((header.damaged, std::fs::read(&path).unwrap()), (1, text));
}

#[test]
fn a_journal_never_takes_the_place_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    std::fs::write(&path, "mine").unwrap();
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let error = Journal::create(&path, &"run", &PlanLine::of(&plan), &origin()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_full_disk_is_an_error() {
    assert_eq!(
        Journal::on_full_device().append("net.tcp", &round(0, 1.0), &took(0)).unwrap_err().kind(),
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
    assert!(Journal::create(&path, &Unspeakable, &PlanLine::of(&plan), &origin()).is_err());
    assert!(!path.exists());
}

#[test]
fn what_was_ended_inside_its_header_does_not_keep_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let create = || Journal::create(&path, &json!({ "id": "abc" }), &PlanLine::of(&plan), &origin());
    for left in
        ["", "{", "{\"run\":", "{\"run\":{\"id\":\"old\",\"long\":\"............................................."]
    {
        std::fs::write(&path, left).unwrap();
        // A process that another test is starting has the last one's lock until it executes its program.
        let created = (0..400).find_map(|_| create().map_err(|_| std::thread::sleep(Duration::from_millis(5))).ok());
        drop(created.expect("the name is free again"));
        let (header, rounds, _) = Journal::read::<Value>(&path).unwrap();
        assert_eq!((header.run, rounds.len()), (json!({ "id": "abc" }), 0), "{left}");
    }
    // A header, and what is none of ours, stays.
    let whole = std::fs::read_to_string(&path).unwrap();
    for other in [whole.as_str(), "{}\n", "mine", "{\"run\":\n"] {
        std::fs::write(&path, other).unwrap();
        assert_eq!(create().unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{other}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
    }
}

#[test]
fn a_journal_under_way_keeps_its_name_before_its_header_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.partial.jsonl");
    let plan = planned(CATALOGUE, &["net"], Profile::Quick);
    let create = |path: &Path| Journal::create(path, &json!({}), &PlanLine::of(&plan), &origin());
    let begun = File::create(&path).unwrap();
    begun.lock().unwrap();
    assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    // Nothing is emptied through a link.
    let (target, link) = (directory.path().join("target"), directory.path().join("l.partial.jsonl"));
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(create(&link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}

#[test]
fn a_journal_that_others_may_have_written_is_not_gone_on_with() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    let header = r#"{"run":1,"plan":{"seed":1,"cases":[]},"origin":{"binary":"b","file":[102]}}"#;
    std::fs::write(&path, format!("{header}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(resumed::<Value>(&path).is_ok());
    let refused = |path: &Path| resumed::<Value>(path).map(drop).unwrap_err().to_string();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(refused(&path).starts_with("belongs to another user, or others may write to it"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::hard_link(&path, directory.path().join("y")).unwrap();
    assert!(refused(&path).starts_with("belongs to another user"));
    // What has no end, or is waited for, is no journal.
    let zero = directory.path().join("z");
    symlink("/dev/zero", &zero).unwrap();
    assert!(refused(&zero).contains("it is a device"), "{}", refused(&zero));
    assert!(Journal::read::<Value>(&zero).is_err());
}
