//! A fresh clone of the repository with the files that the documents speak of, in which their commands are executed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use hostmark_analysis::fleet::planted::MadeUp;
use tempfile::TempDir;

use crate::support::{Home, PROGRAM, files, said};
use crate::tables::FILE as OF_LMBENCH;

/// Why a command is not executed: it has one of these in it.
const NOT: &[(&str, &[&str])] = &[
    (
        "it needs another host, a cluster or a container",
        &["ssh ", "kubectl", "docker ", "tcp:", "--on ", "--peer", "--hosts", "--slurm", "--kubernetes"],
    ),
    ("it needs root", &["sudo ", "systemctl", "systemd-run", "/sys/fs/cgroup", "/var/lib/", "XDG_DATA_HOME="]),
    ("it compiles, which other steps do", &["cargo ", "make", "buildah", "target/"]),
    ("it needs QEMU and a kernel to boot", &["vm run"]),
    (
        "it serves until it is ended",
        &["hostmark serve", "hostmark agent", "hostmark worker", "hostmark service", "umask"],
    ),
    ("it takes minutes", &["--interleave", "hostmark try "]),
    ("it needs a run that was cut short", &["--resume"]),
];
/// Programs that a machine may lack.
const PROGRAMS: [&str; 8] = ["multichase", "sysbench", "redis-benchmark", "getsummary", "jq", "xz", "taskset", "dd"];
/// What stands in a document for what its reader has, with what is there; and what measures as long as a reader wants, with less.
const STAND_INS: &[(&str, &str)] = &[
    ("'COMMAND'", "true"),
    ("--format FORMAT", "--format csv"),
    ("--format NAME", "--format answer"),
    ("--table NAME", "--table stream"),
    ("RUN --format overhead", "overhead.json --format overhead"),
    ("RUN --format data-path", "data-path.json --format data-path"),
    ("lmbench FILE", "lmbench results/x86_64-linux-gnu/db-17.0"),
    ("FORMAT FILE", "fio fio.json"),
    ("LAYER[,LAYER]", "namespaces,seccomp"),
    ("DIR/", "vm/"),
    ("DIR", "runs"),
    ("OLD", "last-1"),
    ("NEW", "last"),
    ("BASE", "last-1"),
    ("REFERENCE", "base.json"),
    ("RUN", "last"),
    ("NAME", "last-1"),
    ("FILE", "written"),
    ("ID", "syscall.null"),
    ("GROUP.PROBE", "syscall.null"),
    ("/a/directory/on/the/disk", "."),
    ("/mnt/d/f", "f"),
    ("count=1024", "count=8"),
    ("for n in 1 2 3 4 5", "for n in 1 2"),
    ("hostmark watch", "hostmark watch --once --series w"),
    ("ipc net", "ipc.round_trip@by=pipe net.tcp"),
    ("syscall ipc process file net", "syscall.null ipc.round_trip@by=pipe"),
];
/// Programs that print what the documents' commands look for.
const SCRIPTS: [(&str, &str); 3] = [("program", ":"), ("bench", "echo 120 MB/s"), ("latency", "echo avg=12.5")];

/// Why a command is not executed here.
pub fn why_not(line: &str) -> Option<String> {
    if line.starts_with("hostmark ") && line.contains("--dry-run") && !line.contains("vm run") {
        return None;
    }
    let reason = NOT.iter().find(|(_, signs)| signs.iter().any(|sign| line.contains(sign)));
    let lacks = |name: &&&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == **name) && !is_there(name)
    };
    let lacking = || PROGRAMS.iter().find(lacks).map(|name| format!("there is no {name}"));
    reason.map(|(why, _)| (*why).to_owned()).or_else(lacking)
}

fn is_there(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

pub struct FreshClone {
    clone: TempDir,
    programs: TempDir,
    home: Home,
    /// What the store of runs has before each command.
    stored: Vec<(Vec<u8>, PathBuf)>,
}

impl FreshClone {
    /// None where the repository cannot be cloned: this is an archive of it, or there is no git.
    pub fn cloned(root: &Path) -> Option<FreshClone> {
        let [clone, programs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = FreshClone { clone, programs, home: Home::new(), stored: Vec::new() };
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--no-hardlinks"]).arg(root).arg(place.directory());
        git.output().is_ok_and(|output| output.status.success()).then(|| place.prepare())
    }

    pub fn directory(&self) -> &Path {
        self.clone.path()
    }

    /// The program, two runs, and copies of the last where the documents have files.
    fn prepare(mut self) -> FreshClone {
        let at = |name: &str| self.clone.path().join(name);
        symlink(PROGRAM, self.programs.path().join("hostmark")).unwrap();
        for folder in ["runs", "vm", "cloud-a", "cloud-b", "results/x86_64-linux-gnu"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, text) in SCRIPTS {
            fs::write(at(name), format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::copy(at("crates/present/tests/fixtures/import/fio.json"), at("fio.json")).unwrap();
        fs::write(at("results/x86_64-linux-gnu/db-17.0"), OF_LMBENCH).unwrap();
        fs::write(at("big"), "some text").unwrap();
        let fleet = MadeUp::usual(5, 1);
        (0..5).for_each(|host| fs::write(at(&format!("runs/{host}.json")), fleet.run(host, 0)).unwrap());
        let tables = ["overhead", "data-path"].map(|table| format!("hostmark run --table {table} --out {table}.json"));
        // A glance has less to say than the documents show.
        for line in
            ["hostmark run", "hostmark run --profile quick"].into_iter().chain(tables.iter().map(String::as_str))
        {
            let (code, _, errors) = self.execute(line, "C");
            assert_eq!(code, 0, "{line}: {errors}");
        }
        self.stored = files(&self.runs()).into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect();
        // Each copy is a run of its own.
        let copy = |run: &str, name: &str| {
            let id = serde_json::from_str::<serde_json::Value>(run).unwrap()["id"].as_str().unwrap().to_owned();
            fs::write(at(&format!("{name}.json")), run.replace(&id, &uuid::Uuid::now_v7().to_string())).unwrap();
        };
        let run = self.stored.iter().find(|(_, file)| file.extension().is_some_and(|end| end == "json")).unwrap();
        let run = String::from_utf8(run.0.clone()).unwrap();
        ["base", "db-17", "db-18", "before-1", "after-1", "cloud-a/1", "cloud-b/1"]
            .iter()
            .for_each(|name| copy(&run, name));
        let overhead = fs::read_to_string(at("overhead.json")).unwrap();
        ["native-1", "guest-1", "vm/native-1", "vm/guest-1"].iter().for_each(|name| copy(&overhead, name));
        self
    }

    fn runs(&self) -> PathBuf {
        self.home.data.path().join("hostmark/runs")
    }

    /// Executes a command of a document, in a store of the two runs. What it prints, or the file that it writes, and its errors.
    pub fn execute(&self, line: &str, locale: &str) -> (i32, String, String) {
        let mut line = line.to_owned();
        for (word, stands_for) in STAND_INS {
            line = replace_words(&line, word, stands_for);
        }
        // The last in the time of one screen.
        if !line.contains("--profile") {
            line = replace_words(&line, "hostmark run", "hostmark run --profile glance");
        }
        if !self.stored.is_empty() {
            let _ = fs::remove_dir_all(self.runs());
            fs::create_dir_all(self.runs()).unwrap();
            self.stored.iter().for_each(|(bytes, file)| fs::write(file, bytes).unwrap());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs.path().to_owned()].into_iter().chain(std::env::split_paths(&path));
        let mut shell = self.home.start("sh");
        shell.args(["-c", &line]).current_dir(self.directory()).env("LC_ALL", locale);
        let (code, printed, errors) =
            said(&shell.env("PATH", std::env::join_paths(folders).unwrap()).output().unwrap());
        let file = |sign: &str| line.split_once(sign)?.1.split_whitespace().next();
        let written = file(" --out ").or_else(|| file(" > ")).map(|file| self.directory().join(file));
        let written = written
            .and_then(|file| fs::read_to_string(file).ok())
            .filter(|_| printed.is_empty() || line.contains(".json"));
        (code, written.unwrap_or(printed), errors)
    }
}

/// A line in which `word` is another, wherever it stands between others.
fn replace_words(line: &str, word: &str, stands_for: &str) -> String {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let begins = is_edge(before.chars().next_back().or(out.chars().next_back()));
        let ends = word.ends_with('/') || is_edge(after.chars().next());
        out += before;
        out += if begins && ends { stands_for } else { word };
        rest = after;
    }
    out + rest
}
