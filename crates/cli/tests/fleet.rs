//! `hostmark fleet report` of directories that hold other things beside runs.

use hostmark_analysis::fleet::planted::MadeUp;

use crate::prelude::*;

fn written(made_up: &MadeUp, directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for host in 0..made_up.hosts {
        fs::write(directory.join(format!("{}.json", MadeUp::name(host))), made_up.run(host, 0)).unwrap();
    }
}

fn report(home: &Home, directory: &Path, further: &[&str]) -> (i32, String, String) {
    let mut words = vec!["fleet", "report", directory.to_str().unwrap()];
    words.extend(further);
    home.says(&words)
}

#[test]
fn whatever_lies_in_the_directory_is_a_row_and_never_the_end() {
    let (home, root) = (Home::new(), tempfile::tempdir().unwrap());
    let made_up = MadeUp::usual(6, 2);
    written(&made_up, &root.path().join("below/further"));
    let at = |name: &str| root.path().join(name);
    let whole = made_up.run(0, 1);
    fs::write(at("torn.json"), &whole[..whole.len() / 3]).unwrap();
    fs::write(at("newer.json"), whole.replace("hostmark.run/1", "hostmark.run/7")).unwrap();
    fs::write(at("foreign.json"), r#"{"hello": 1}"#).unwrap();
    fs::write(at("\u{1b}[31mred\n.json"), "{").unwrap();
    // Hidden files are nobody's runs, and a journal beside its run is of a run that has ended.
    for name in ["cut.partial.jsonl", ".hidden.json", "torn.partial.jsonl"] {
        fs::write(at(name), "{}").unwrap();
    }
    fs::create_dir(at("directory.json")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe.json")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", at("zero.json")).unwrap();
    std::os::unix::fs::symlink(root.path(), at("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling.json")).unwrap();
    let out = succeeded(report(&home, root.path(), &["--check"]));
    assert!(out.starts_with("6 hosts, 6 runs, 1 kind"), "{out}");
    for part in [
        "torn.json is truncated",
        "newer.json was written by a newer hostmark",
        "foreign.json is not a hostmark run",
        "\\u{1b}[31mred\\n.json is truncated",
        "cut.partial.jsonl was cut short",
        "pipe.json cannot be read",
        "zero.json cannot be read",
        "dangling.json cannot be read",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(!["\u{1b}", ".hidden", "torn.partial"].iter().any(|part| out.contains(part)), "{out}");
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_directory_of_a_hundred_thousand_entries_ends() {
    let (home, root) = (Home::new(), tempfile::tempdir().unwrap());
    written(&MadeUp::usual(5, 3), root.path());
    for number in 0..100_000 {
        let ending = if number % 10 == 0 { "json" } else { "log" };
        fs::File::create(root.path().join(format!("x{number}.{ending}"))).unwrap();
    }
    let out = succeeded(report(&home, root.path(), &[]));
    assert!(out.contains("5 hosts, 5 runs") && out.contains("9990 more; show them by --verbose"), "{out}");
}
