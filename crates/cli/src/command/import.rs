//! `hostmark import FORMAT FILE`: what another tool measured, as a run like any other.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_analysis::escape::visible;
use hostmark_analysis::spoken;
use hostmark_engine::sys::regular;
use hostmark_import::{DescribedFormat, FORMATS, KNOWN_BY, LARGEST};
use hostmark_model::{Exit, Lang, Run};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::unsaved;
use crate::language::{refuse, refused, said};
use crate::store::RunFiles;
use crate::{language, output, store};

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct ImportArguments {
    /// Tool that wrote the file
    #[arg(value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)), required_unless_present = "format_file", conflicts_with = "format_file")]
    format: Option<String>,
    /// Results of that tool
    file: PathBuf,
    /// Read the format that this file describes
    #[arg(long, value_name = "FILE")]
    format_file: Option<PathBuf>,
    /// Write the run file here [default: the run store]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn import(arguments: &ImportArguments, lang: Lang) -> Result<Exit> {
    let mut run = read(arguments)?;
    let id = uuid::Uuid::now_v7();
    hostmark_import::complete(&mut run, id.to_string(), &arguments.file, || store::now().to_string());
    let place = match &arguments.out {
        Some(path) => RunFiles::named(path)?,
        None => {
            let stamp: String = run.started.chars().filter(|c| !matches!(c, '-' | ':')).collect();
            // The same file may be imported again.
            let unique = format!("{:04x}", id.as_u64_pair().1 & 0xffff);
            RunFiles::fresh(&stamp, &run.host.hostname, &unique)
                .map_err(|reason| refused!("the run cannot be kept ({reason}); name a file by --out"))?
        }
    };
    run.name.clone_from(&place.name);
    run.findings = hostmark_analysis::findings(&run);
    place.save(&run).map_err(|error| unsaved(&place.file.display().to_string(), &error))?;
    output::print(&done(&run, &place.file, arguments.out.is_some(), lang));
    Ok(Exit::Fine)
}

fn read(arguments: &ImportArguments) -> Result<Run> {
    let described = arguments.format_file.as_deref().map(described).transpose()?;
    let named = || arguments.format.as_deref().and_then(hostmark_import::format_named);
    let format = described.as_ref().map(|described| &described.format).or_else(named);
    let format = format.with_context(|| said!("there is no such format; hostmark import --help names them"))?;
    let (path, shown) = (&arguments.file, arguments.file.display());
    if path.is_dir() {
        refuse!("{shown} is a directory; give a file in it");
    }
    let file =
        regular::open_to_read(path).map_err(|error| refused!("{shown} cannot be read: {error}; give another file"))?;
    let facts = file.metadata().with_context(|| said!("{shown} cannot be read; give another file"))?;
    if facts.len() > LARGEST {
        refuse!("{shown} is too large for a result file; give another file");
    }
    // A pipe has no length: what it brings is limited as well.
    let (mut file, mut start) = (file.take(LARGEST), Vec::new());
    let begun = file.by_ref().take(KNOWN_BY).read_to_end(&mut start);
    begun.map_err(|error| refused!("{shown} cannot be read: {error}; give another file"))?;
    let mut input = BufReader::new(start.as_slice().chain(file));
    let read = match &described {
        Some(described) => described.read(&mut input),
        None => (format.read)(&mut input),
    };
    read.map_err(|error| {
        let (text, name) = (String::from_utf8_lossy(&start), format.name);
        match (hostmark_import::unread_tool(&text), hostmark_import::hint(&text, format)) {
            (Some(tool), _) => refused!("{shown} is a file of {tool}, which cannot be imported as {name}"),
            (None, None) => refused!("{shown}, {error}"),
            (None, Some(hint)) => {
                refused!("{shown} is no file of {name}; by its text it is one for another command: {hint}")
            }
        }
    })
}

/// The format that a file describes.
fn described(path: &Path) -> Result<DescribedFormat> {
    let (shown, mut text) = (path.display(), Vec::new());
    let read = regular::open_to_read(path).and_then(|file| file.take(KNOWN_BY + 1).read_to_end(&mut text));
    read.map_err(|error| refused!("{shown} cannot be read: {error}; give another file"))?;
    let is_own = |name: &str| CATALOGUE.iter().any(|group| group.name == name);
    DescribedFormat::of(&String::from_utf8_lossy(&text), is_own).map_err(|error| refused!("{shown}, {error}"))
}

fn done(run: &Run, file: &Path, is_named: bool, lang: Lang) -> String {
    let (values, from, file) = (run.cases.len(), visible(&run.tool.version), visible(&file.display().to_string()));
    let name = if is_named { file.clone() } else { visible(&run.name) };
    let name = language::quoted(&name).unwrap_or(name);
    // Beside a run of this machine there is a view for lmbench alone.
    let is_lmbench = run.imported.as_ref().is_some_and(|imported| imported.format == "lmbench");
    let show = if is_lmbench { format!("last {name} --format lmbench") } else { name };
    let sentence = match is_lmbench {
        true => say!(
            "imported {values:value} of {from}, saved as {file}\n\
             beside a run of this machine: hostmark report {show}\n"
        ),
        false => say!("imported {values:value} of {from}, saved as {file}\nto see them: hostmark report {show}\n"),
    };
    spoken(&sentence, lang)
}
