//! `hostmark explain [ID…]`: the pages of probes, and of all of them the contents.

use anyhow::Result;
use clap::Args;
use hostmark_analysis::{constants, lmbench, references, spoken};
use hostmark_engine::plan;
use hostmark_model::{Exit, Lang, ProbeInfo};
use hostmark_present::render::{self, handbook, terms};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::compare::verdict as own;
use super::search::{self, Topic};
use super::tuning;
use crate::language::refuse;
use crate::output;

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Probes, groups, findings, settings or references [default: the contents]
    ///
    /// Names that a report prints work too, e.g. DRAM, "context switch", TRUST, and those of lmbench and its summary, e.g. "null call".
    /// Other words are searched for in titles and pages, e.g. fsync, "huge pages", steal.
    ids: Vec<String>,
    /// Show every value of this reference and where it comes from
    #[arg(long, value_name = "NAME", conflicts_with = "ids")]
    reference: Option<String>,
}

pub fn explain(arguments: &ExplainArguments, lang: Lang) -> Result<Exit> {
    let typed = arguments.reference.iter().chain(&arguments.ids);
    if !arguments.ids.is_empty() || arguments.reference.is_some() {
        own::bring();
    }
    let pages: Option<Vec<_>> = typed.map(|name| references::named(name)).collect();
    match (pages, &arguments.reference) {
        (Some(pages), _) if !pages.is_empty() => {
            let probes: Vec<ProbeInfo> = plan::pick(CATALOGUE, &[])?.iter().map(|entry| entry.info()).collect();
            let options = output::options(lang, false);
            let texts: Vec<String> =
                pages.iter().map(|page| render::references::page(page, &probes, &options)).collect();
            output::print(&texts.join("\n"));
            return Ok(Exit::Fine);
        }
        (_, Some(name)) => refuse!("there is no reference '{name}'; hostmark list --references shows them"),
        _ => {}
    }
    let options = output::options(lang, false);
    let (mut texts, mut wanted) = (Vec::new(), Vec::new());
    for id in &arguments.ids {
        match terms::term(id, &options).or_else(|| Some(search::page(&search::with_id(id)?, &options))) {
            Some(text) => texts.push(text),
            None => match named(id)? {
                Named::Probes(probes) => wanted.extend(probes),
                Named::Several(found) => texts.push(search::list(id, &found, &options)),
            },
        }
    }
    if !texts.is_empty() {
        output::print(&texts.join("\n"));
        if wanted.is_empty() {
            return Ok(Exit::Fine);
        }
    }
    let picked: Vec<ProbeInfo> = plan::pick(CATALOGUE, &wanted)?.iter().map(|entry| entry.info()).collect();
    output::print(&match arguments.ids.as_slice() {
        [] => handbook::contents(&picked, &options),
        _ => {
            let figures: String = picked.iter().map(|probe| render::references::figures(probe, &options)).collect();
            let gap = if figures.is_empty() { "" } else { "\n" };
            handbook::pages(&picked, &options) + gap + figures.trim_end() + gap
        }
    });
    if let [probe] = picked.as_slice() {
        output::print(&trials(&tuning::of_probe(&probe.id), lang));
    }
    Ok(Exit::Fine)
}

/// Commands to try settings with a probe; empty where there are none.
fn trials(settings: &[&str], lang: Lang) -> String {
    let commands: Vec<String> = settings.iter().map(|setting| format!("  hostmark try {setting}\n")).collect();
    match commands.is_empty() {
        true => String::new(),
        false => {
            spoken(&say!("\nSettings that change it, to try here:\n{commands}", commands = commands.concat()), lang)
        }
    }
}

enum Named {
    /// The pages of these.
    Probes(Vec<String>),
    Several(Vec<search::Entry>),
}

/// Finds pages by name: probes by a column of lmbench's summary, a filter or a constant; else entries with these words.
fn named(name: &str) -> Result<Named> {
    let is_filter = |name: &String| plan::pick(CATALOGUE, std::slice::from_ref(name)).is_ok();
    let owned = |probes: Vec<&str>| probes.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let columns = owned(lmbench::probes_of_column(name));
    let filters = || [name.to_owned(), name.to_lowercase()].into_iter().find(is_filter).into_iter().collect();
    let ways: [&dyn Fn() -> Vec<String>; 3] = [&|| columns.clone(), &filters, &|| owned(constants::probes_of(name))];
    if let Some(probes) = ways.iter().map(|way| way()).find(|probes| !probes.is_empty()) {
        return Ok(Named::Probes(probes));
    }
    let found = search::found(name)?;
    match found.as_slice() {
        [first, ..] if first.topic == Topic::Probe && first.title.is_called(name) => {
            Ok(Named::Probes(vec![first.id.clone()]))
        }
        _ => Ok(Named::Several(found)),
    }
}
