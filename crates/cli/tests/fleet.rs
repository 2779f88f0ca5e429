//! `hostmark fleet report` as a person or a nightly job meets it: exit codes, hostile directories, both languages.

use hostmark_analysis::fleet::planted::{MadeUp, Planted};

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
fn a_nightly_job_learns_of_an_odd_host_by_the_exit_code() {
    let (home, root) = (Home::new(), tempfile::tempdir().unwrap());
    let odd = MadeUp { odd: 1, shift: 0.5, planted: Planted::Quota, ..MadeUp::usual(8, 1) };
    written(&odd, &root.path().join("odd"));
    written(&MadeUp::usual(8, 1), &root.path().join("usual"));
    let (code, out, errors) = report(&home, &root.path().join("odd"), &["--check"]);
    assert_eq!((code, errors.as_str()), (1, ""), "{out}");
    assert!(out.contains("node00000") && out.contains("CPU quota: 4, usually none; 0 of 7 others have it"), "{out}");
    let (code, out, errors) = report(&home, &root.path().join("usual"), &["--check"]);
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    assert!(out.contains("no host differs from the others of its kind"), "{out}");
    let (code, out, _) = report(&home, &root.path().join("odd"), &["--lang", "zh"]);
    assert_eq!(code, 0);
    assert!(out.contains("8 台主机中有 1 台与同机型的其他主机不同") && out.contains("CPU 配额：4，通常为无"), "{out}");
    let page = root.path().join("fleet.html");
    let (code, out, errors) =
        report(&home, &root.path().join("odd"), &["--format", "html", "--out", page.to_str().unwrap(), "--check"]);
    assert_eq!((code, out.as_str(), errors.as_str()), (1, "", ""));
    assert!(fs::read_to_string(page).unwrap().ends_with("</html>\n"));
    // Nothing is left beside the runs.
    assert_eq!(files(&root.path().join("odd")).len(), 8);
}

#[test]
fn each_cause_is_named_beside_its_host() {
    let (home, root) = (Home::new(), tempfile::tempdir().unwrap());
    for (planted, cause) in [
        (Planted::Modules, "memory: 224 GiB, usually 256 GiB"),
        (Planted::HugePages, "transparent huge pages: never, usually madvise"),
        (Planted::Mitigations, "mitigations (spectre_v2): Mitigation: Retpolines, usually Not affected"),
    ] {
        let directory = root.path().join(format!("{planted:?}"));
        written(&MadeUp { odd: 1, shift: 0.5, planted, ..MadeUp::usual(12, 5) }, &directory);
        let (code, out, _) = report(&home, &directory, &["--check"]);
        assert!(code == 1 && out.contains(cause), "{cause}: {out}");
    }
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
    fs::write(at("cut.partial.jsonl"), "{}").unwrap();
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
    assert!(!out.contains('\u{1b}'));
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

#[test]
fn errors_say_what_to_do() {
    let (home, root) = (Home::new(), tempfile::tempdir().unwrap());
    let (_, errors) = with_code(2, report(&home, root.path(), &[]));
    assert!(errors.contains("there is no run (*.json) in") && errors.contains("give the directory"), "{errors}");
    fs::write(root.path().join("a.json"), "{}").unwrap();
    let (_, errors) = with_code(2, report(&home, root.path(), &[]));
    assert!(errors.contains("none of the 1 files") && errors.lines().count() == 1, "{errors}");
    let (_, errors) = with_code(2, report(&home, &root.path().join("nowhere"), &[]));
    assert!(errors.contains("cannot be read") && errors.contains("give a directory"), "{errors}");
    written(&MadeUp::usual(5, 4), root.path());
    let (_, errors) = with_code(4, report(&home, root.path(), &["memroy"]));
    assert!(errors.contains("no run there has a case of memroy"), "{errors}");
}
