//! Holds the repository to its own rules. Each rule is a function over a tree of files; beside it stands a bad example
//! that it must find.

/// Tests of rules that find so much in files that are bad on purpose.
macro_rules! finds {
    ($($name:ident: $rule:ident finds $count:literal in [$($file:expr,)*];)*) => {
        $(#[test]
        fn $name() {
            let found = $rule(&Tree::of(&[$($file),*]));
            assert_eq!(found.len(), $count, "{found:?}");
        })*
    };
}

mod documents;
mod example;
mod layout;
mod modules;
mod sources;
mod texts;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use hostmark_analysis::findings::RULES;
use hostmark_engine::probe::{Catalogue, Group};
use hostmark_engine::{sys, worker};
use hostmark_model::{Event, Job};
use hostmark_probes::CATALOGUE;
use hostmark_texts::Page;
use nix::errno::Errno;
use sources::{code_of, packed};

use crate::golden;

/// Fails with everything that a rule found.
#[track_caller]
fn nothing(found: Vec<String>) {
    assert!(found.is_empty(), "{} against the rule:\n  {}", found.len(), found.join("\n  "));
}

/// Tests of rules that find nothing in the repository.
macro_rules! rules {
    ($($name:ident: $rule:path;)*) => {
        $(#[test]
        fn $name() {
            nothing($rule(Tree::of_repository()));
        })*
    };
}

rules! {
    every_source_file_is_a_module: layout::orphans;
    unsafe_code_stands_in_its_folders_alone: sources::unsafe_elsewhere;
    no_probe_reads_a_clock_by_itself: sources::clocks_in_probes;
    what_people_read_is_the_leading_value: sources::beside_the_leading_value;
    nothing_that_is_called_panics_where_the_kernel_refuses: sources::panics_on_refusal;
    no_file_of_people_is_written_by_its_name: sources::written_by_name;
    no_probe_maps_memory_that_nobody_was_asked_for: sources::memory_unasked;
    every_file_says_first_what_it_is_for: sources::without_purpose;
    every_failed_call_is_named_where_it_is_made: sources::unnamed;
    nothing_is_left_undone: sources::unfinished;
    every_test_that_is_skipped_is_counted: sources::skips_unprepared;
    no_test_passes_without_a_word_where_it_could_not_look: sources::silent;
    every_test_of_the_second_tier_says_whether_others_may_run_beside_it: sources::disturbed;
    no_lint_is_switched_off_without_a_reason: sources::lints_off;
    every_link_between_documents_leads_to_a_file: documents::dead_links;
    no_text_names_a_path_of_the_machine_it_was_written_on: documents::machine_paths;
    every_error_is_reported_in_both_languages: texts::in_one_language;
    every_text_file_has_its_chinese: texts::untranslated;
    every_reason_has_a_code_and_every_code_a_reason: texts::without_a_code;
    chinese_has_punctuation_of_its_own: texts::half_width;
    no_crate_imports_what_it_may_not: layout::imports;
    every_dependency_has_its_version_in_the_workspace: layout::own_versions;
    the_program_has_nothing_that_is_for_tests_alone: layout::tests_in_the_program;
    no_modules_of_a_crate_import_each_other_in_a_circle: modules::circles;
    probes_know_of_the_engine_only_its_prelude: layout::past_the_prelude;
    no_file_has_a_name_that_says_nothing: layout::empty_names;
}

#[test]
fn every_comment_says_what_its_item_is() {
    let code = "//! A.\n/// How long it waits.\nfn f() {}\n/// Time.\n/// What.\n/// Who may enter\nfn g() {}\n";
    assert_eq!(sources::comments_without_a_subject(&Tree::of(&[("crates/a/src/a.rs", code)])).len(), 1);
    nothing(sources::comments_without_a_subject(Tree::of_repository()));
}

#[test]
fn every_text_of_a_probe_and_of_a_finding_is_there_in_both_languages() {
    let mut all = texts::of_probes(CATALOGUE);
    all.extend(texts::of_rules(RULES));
    assert!(all.len() > 40, "only {} texts were found", all.len());
    nothing(texts::wrong(&all));
}

#[test]
fn the_handbook_reports_every_finding() {
    let tree = Tree::of_repository();
    let document = tree.file("docs/measuring.md").map(|file| file.text.as_str()).unwrap_or_default();
    nothing(documents::findings_apart(document, RULES));
}

#[test]
fn every_sentence_of_the_program_has_its_chinese() {
    let known = hostmark_texts::catalogue(concat!(env!("CARGO_MANIFEST_DIR"), "/../analysis/zh.po").as_ref());
    nothing(texts::without_counterpart(Tree::of_repository(), &known));
}

#[test]
fn every_error_of_the_system_has_its_own_name_in_chinese() {
    for number in (1..=133).filter(|&number| Errno::from_raw(number) != Errno::UnknownErrno) {
        let error = std::io::Error::from_raw_os_error(number);
        let text = hostmark_analysis::reasons::localized(&error, hostmark_model::Lang::Zh);
        assert_eq!(text.split('；').next(), Some(&*format!("{:?} ({number})", Errno::from_raw(number))));
    }
}

#[test]
fn the_picture_of_crates_and_modules_is_what_the_code_says() {
    let wanted = documents::drawn(Tree::of_repository()).unwrap();
    let again = "cargo test -p hostmark --test fast tidy::";
    golden::holds(env!("CARGO_MANIFEST_DIR"), &format!("../../{}", documents::DOCUMENT), &wanted, again);
}

#[test]
fn every_crate_keeps_to_its_lines() {
    let tree = Tree::of_repository();
    nothing(modules::exceeded(tree));
    let again = "cargo test -p hostmark --test fast tidy::";
    golden::holds(env!("CARGO_MANIFEST_DIR"), &format!("../../{}", modules::BUDGET), &modules::lowered(tree), again);
}

#[test]
fn every_field_that_programs_read_is_described() {
    let tree = Tree::of_repository();
    let document = tree.file("docs/schema.md").map(|file| file.text.as_str()).unwrap_or_default();
    let schema = tree.file("docs/hostmark.run.schema.json").map(|file| file.text.as_str()).unwrap_or_default();
    nothing(documents::undescribed(document, &serde_json::from_str(schema).unwrap(), &documents::examples()));
}

static EXAMPLE: Group = Group { name: "file", shares_worker: false, probes: &[("lookup", &example::PROBE)] };
static WITH_THE_EXAMPLE: Catalogue = &[&EXAMPLE];

#[test]
fn the_example_of_the_handbook_is_the_code_that_is_compiled_here() {
    let tree = Tree::of_repository();
    let text = |path: &str| tree.file(path).map(|file| file.text.clone()).unwrap_or_default();
    let code = text("crates/cli/tests/tidy/example.rs");
    let page = text("crates/cli/tests/tidy/example.md");
    let document = text("docs/adding-a-probe.md");
    assert!(!code.is_empty() && document.contains(&format!("```rust\n{code}```\n")));
    assert!(document.contains(&format!("````markdown\n{page}````\n")));
    let page = Page::parsed("example.md".as_ref(), &page).unwrap();
    assert!(page.sections.len() == 5 && page.title.en == WITH_THE_EXAMPLE[0].probes[0].1.title.en);
}

#[test]
fn the_example_of_the_handbook_measures() {
    let base = tempfile::tempdir().unwrap();
    let run = sys::scratch::Private::make(base.path()).unwrap();
    let job = Job::bare("file.lookup@depth=2", Vec::new()).with(|job| {
        (job.budget_ns, job.memory_bytes) = (5_000_000, 0);
        job.environment.scratch = run.entry().unwrap();
    });
    let events = worker::answer(WITH_THE_EXAMPLE, job);
    assert!(matches!(events.last(), Some(Event::Done { .. })), "{events:?}");
}

/// Directories that hold no source: what the compiler and the version control put there.
const NOT_OURS: [&str; 2] = ["target", ".git"];

/// A file: its path from the repository's root, and its text (empty where it is no UTF-8).
#[derive(Debug, Clone)]
pub struct File {
    pub path: String,
    pub text: String,
    code: OnceLock<String>,
    packed: OnceLock<String>,
}

impl File {
    fn new(path: String, text: String) -> File {
        File { path, text, code: OnceLock::new(), packed: OnceLock::new() }
    }

    /// The path of the folder it lies in; empty at the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The name without folder and extension.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    pub fn code(&self) -> &str {
        self.code.get_or_init(|| code_of(&self.text))
    }

    /// Its code without white space.
    pub fn packed(&self) -> &str {
        self.packed.get_or_init(|| packed(self.code()))
    }

    /// A line of a report about it.
    pub fn says(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", self.path)
    }
}

/// A tree of files, by ascending path.
#[derive(Debug, Clone, Default)]
pub struct Tree(Vec<File>);

impl Tree {
    /// The repository that this test was built in.
    pub fn of_repository() -> &'static Tree {
        static TREE: OnceLock<Tree> = OnceLock::new();
        TREE.get_or_init(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let mut files = Vec::new();
            read(&root, "", &mut files);
            assert!(files.len() > 100, "the repository was not found at {}", root.display());
            files.sort_by(|one: &File, other| one.path.cmp(&other.path));
            Tree(files)
        })
    }

    pub fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File::new(path.to_owned(), text.to_owned());
        Tree(files.iter().map(file).collect())
    }

    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.0.iter()
    }

    pub fn sources(&self) -> impl Iterator<Item = &File> {
        self.with_ending(".rs")
    }

    pub fn with_ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.0.iter().filter(move |file| file.path.ends_with(ending))
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.0.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or a folder at `path`; the root is there.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty() || self.0.iter().any(|file| file.path == path || file.path.starts_with(&inside))
    }
}

fn read(folder: &Path, path: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be read") {
        let entry = entry.expect("an entry of a folder can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read(&entry.path(), &path, files);
        } else {
            // A file may vanish while others work in the tree: then it is not there.
            let Ok(bytes) = fs::read(entry.path()) else { continue };
            files.push(File::new(path, String::from_utf8(bytes).unwrap_or_default()));
        }
    }
}
