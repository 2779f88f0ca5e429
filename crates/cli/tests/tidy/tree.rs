//! The repository's files, read once, or made up for a bad example.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::sources::{code_of, packed};

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

    /// Its code ([`code_of`]).
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

    /// Every file whose name ends so.
    pub fn with_ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.0.iter().filter(move |file| file.path.ends_with(ending))
    }

    /// The file at `path`.
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
