//! References as the command line has them: a person's own, in the directory beside the runs, and what `--against` names.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::references::{self, Reference, SCHEMA};
use hostmark_model::{Exit, Run};
use hostmark_present::RenderOptions;
use hostmark_present::render::against::{Against, against};
use hostmark_say::say;

use crate::command::EndsWith;
use crate::language::{refuse, refused, said};
use crate::{output, store};

/// Files that are read of the directory at most: each may be as large as a run.
const MOST_FILES: usize = 64;

/// Where a person's own references lie: beside the runs.
fn directory() -> Option<PathBuf> {
    Some(store::directory()?.parent()?.join("references"))
}

/// A person's own references, each by the name of its file; with a sentence for each file that is none.
fn own() -> (Vec<(Reference, PathBuf)>, Vec<String>) {
    let (mut found, mut complaints) = (Vec::new(), Vec::new());
    let Some(directory) = directory() else { return (found, complaints) };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (found, complaints),
        Err(error) => {
            let at = directory.display();
            complaints.push(said!("the references in {at} cannot be read ({error}); become the directory's owner"));
            return (found, complaints);
        }
    };
    // Neither a pipe, which would be waited for, nor a device.
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    store::only_runs(&mut paths);
    if paths.len() > MOST_FILES {
        let (count, at) = (paths.len(), directory.display());
        complaints.push(said!("of the {count} references in {at} the first {MOST_FILES} are taken; move others away"));
        paths.truncate(MOST_FILES);
    }
    for path in paths {
        match read(&path) {
            Ok(reference) => found.push((reference, path)),
            Err(error) => complaints.push(error.to_string()),
        }
    }
    (found, complaints)
}

/// Reads a file as a reference, whichever of the two kinds it is.
fn read(path: &Path) -> Result<Reference> {
    let text = store::text(path)?;
    let (shown, name) = (path.display(), path.file_name().unwrap_or_default().to_string_lossy());
    let read = Reference::parse(&text, store::stem(&name).unwrap_or(&name), &shown.to_string());
    read.map_err(|error| refused!("{shown} {error}; mend it, or move it away"))
}

/// Brings a person's own references along for what is printed; what is wrong with a file is said and nothing else.
pub fn bring() {
    let (found, complaints) = own();
    complaints.iter().for_each(|sentence| output::complain(sentence));
    references::bring(found.into_iter().map(|(reference, _)| reference).collect());
}

/// What `--against` names.
pub enum NamedReference {
    /// A reference in a file's slim form, or one of the program's.
    Reference(Box<Reference>),
    /// A run, or several in a directory: they are compared as any others.
    Runs(String),
}

/// What a person names: a file or a directory, a reference of their own, one of the program's, or a run that is kept.
pub fn find(name: &str) -> Result<NamedReference> {
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(NamedReference::Runs(name.to_owned()));
    }
    if path.exists() {
        return in_file(path);
    }
    let is_file_name = !name.is_empty() && !name.contains('/');
    let own = directory().filter(|_| is_file_name).map(|at| at.join(format!("{name}.json")));
    if let Some(path) = own.filter(|path| path.is_file()) {
        return in_file(&path);
    }
    if let Some(reference) = references::built_in().iter().find(|reference| reference.name == name) {
        return Ok(NamedReference::Reference(Box::new(reference.clone())));
    }
    match store::find(name) {
        Ok(_) => Ok(NamedReference::Runs(name.to_owned())),
        Err(_) => {
            refuse!("there is no reference '{name}'; hostmark list --references shows them, and a file is one too")
        }
    }
}

fn in_file(path: &Path) -> Result<NamedReference> {
    // A run is compared by all that it has, and what is wrong with its file is told as of any run.
    let text = store::text(path)?;
    if !text.get(..LOOKED_AT.min(text.len())).unwrap_or(&text).contains(SCHEMA) {
        return Ok(NamedReference::Runs(path.display().to_string()));
    }
    Ok(NamedReference::Reference(Box::new(read(path)?)))
}

/// The schema stands among the first bytes of a file.
const LOOKED_AT: usize = 4096;

/// A reference of the program or a person's own, and no run.
pub fn reference(name: &str) -> Result<Reference> {
    match find(name)? {
        NamedReference::Reference(reference) => Ok(*reference),
        NamedReference::Runs(runs) => {
            refuse!("{runs} is a run, and --against of a run takes a reference; give --expect {runs}")
        }
    }
}

/// The values that a run and a reference have in common.
pub fn in_common<'a>(run: &'a Run, reference: &'a Reference) -> Result<Against<'a>> {
    against(run, reference).ok_or_else(|| {
        let (run, name) = (&run.name, &reference.name);
        let sentence =
            say!("the run {run} has none of the values of {name}; measure what hostmark explain {name} lists");
        EndsWith(Exit::BadInput, sentence).into()
    })
}

/// The values that a run and a reference have in common, in words.
pub fn values_in_common(run: &Run, reference: &Reference, options: &RenderOptions) -> Result<String> {
    Ok(in_common(run, reference)?.table(options))
}
