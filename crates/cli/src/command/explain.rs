//! `hostmark explain [ID…]`: the pages of probes, and of all of them the contents.

use std::cmp::Reverse;

use anyhow::Result;
use clap::{Args, CommandFactory, ValueEnum};
use hostmark_analysis::findings::host::HOST_RULES;
use hostmark_analysis::findings::{Demonstration, RULES, first_thing_to_do};
use hostmark_analysis::references::Reference;
use hostmark_analysis::{constants, lmbench, references, spoken};
use hostmark_engine::plan::PlanError;
use hostmark_engine::{plan, probe};
use hostmark_model::{Exit, Lang, ProbeInfo, Text};
use hostmark_present::render::{handbook, terms};
use hostmark_present::wrap::hanging;
use hostmark_present::{RenderOptions, render};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::compare::verdict as own;
use super::{Arguments, tuning};
use crate::language::refuse;
use crate::{help, output};

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
        match terms::term(id, &options).or_else(|| Some(page(&with_id(id)?, &options))) {
            Some(text) => texts.push(text),
            None => match named(id)? {
                Named::Probes(probes) => wanted.extend(probes),
                Named::Several(found) => texts.push(matches(id, &found, &options)),
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
    Several(Vec<Entry>),
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
    let found = found(name)?;
    match found.as_slice() {
        [first, ..] if first.topic == Topic::Probe && first.title.is_called(name) => {
            Ok(Named::Probes(vec![first.id.clone()]))
        }
        _ => Ok(Named::Several(found)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Groups, probes or lmbench names, or words to search for [default: all]
    filters: Vec<String>,
    /// List the reference machines instead
    #[arg(long, conflicts_with_all = ["filters", "format"])]
    references: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: ListFormat,
}

pub fn list(arguments: &ListArguments, lang: Lang) -> Result<Exit> {
    if arguments.references {
        own::bring();
        output::print(&render::references::list(&output::options(lang, false)));
        return Ok(Exit::Fine);
    }
    let options = output::options(lang, false);
    let (mut filters, mut searched) = (Vec::new(), Vec::new());
    for filter in &arguments.filters {
        match plan::pick(CATALOGUE, std::slice::from_ref(filter)) {
            Err(PlanError::UnknownProbe(..)) => searched.push((filter, found(filter)?)),
            _ => filters.push(filter.clone()),
        }
    }
    if arguments.format == ListFormat::Table && !searched.is_empty() {
        let texts: Vec<String> = searched.iter().map(|(typed, found)| matches(typed, found, &options)).collect();
        output::print(&texts.join("\n"));
        if filters.is_empty() {
            return Ok(Exit::Fine);
        }
    }
    let mut probes: Vec<ProbeInfo> = Vec::new();
    if arguments.filters.is_empty() || !filters.is_empty() {
        probes.extend(plan::pick(CATALOGUE, &filters)?.iter().map(|entry| entry.info()));
    }
    let found = searched.into_iter().flat_map(|(_, found)| found).filter(|entry| entry.topic == Topic::Probe);
    if arguments.format == ListFormat::Json {
        probes.extend(found.filter_map(|entry| Some(probe::find(CATALOGUE, &entry.id)?.info())));
    }
    let text = match arguments.format {
        ListFormat::Json => output::json(&serde_json::to_string_pretty(&probes)?),
        ListFormat::Table => handbook::contents(&probes, &options),
    };
    output::print(&text);
    Ok(Exit::Fine)
}

/// Matches that are listed at most.
const MOST: usize = 12;
/// A shorter word is no beginning of a longer one.
const LEAST_BEGINNING: usize = 3;

/// The field's words for what our texts call otherwise, or speak of everywhere; the ids that answer best come first.
const FIELD_WORDS: &[(&[&str], &[&str])] = &[
    (&["iops"], &["disk.direct_io", "disk.mixed"]),
    (
        &["p99", "p999", "tail latency", term!("tail latency").zh],
        &["disk.fsync", "sched.wakeup", "disk.open_loop", "net.open_loop"],
    ),
    (
        &["noisy neighbour", "noisy neighbor", "noisy neighbours", term!("noisy neighbours").zh],
        &["run.neighbours", "cpu.shared_cores", "host.steal"],
    ),
    (&["steal", "st", term!("overcommit").zh, "overcommit"], &["run.steal", "virt.steal", "host.steal"]),
    (&["throttling", "throttled", term!("throttled").zh], &["run.cpu_quota", "host.cpu_quota", "cpu.frequency"]),
    (
        &["huge pages", "hugepages", "thp", term!("huge pages").zh],
        &["huge-pages", "memory.huge_pages_off", "paging.collapse"],
    ),
    (
        &["mitigations", "spectre", "meltdown", "retpoline", term!("mitigations").zh],
        &["syscall.mitigations", "host.mitigations"],
    ),
    (&["hyper-threading", "hyperthreading", term!("hyper-threading").zh], &["host.smt_siblings", "cpu.shared_cores"]),
    (&["jitter", term!("jitter").zh], &["sched.noise", "sched.timer_latency", "clock.sleep"]),
    (&["rtt", "tcp rtt", "ping"], &["net.round_trip"]),
    (&["copy", "scale", "add", "triad"], &["memory.stream"]),
    (&["description", term!("description").zh], &["host"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    Probe,
    Finding,
    Setting,
    Term,
    Reference,
    Command,
}

impl Topic {
    const fn label(self) -> Text {
        match self {
            Topic::Probe => Text { en: "", zh: "" },
            Topic::Finding => term!("finding: "),
            Topic::Setting => term!("setting to try: "),
            Topic::Term => term!("term: "),
            Topic::Reference => term!("reference: "),
            Topic::Command => term!("command: "),
        }
    }
}

/// One thing that can be found.
#[derive(Debug)]
pub struct Entry {
    pub topic: Topic,
    /// Name to type for its page.
    pub id: String,
    pub title: Text<String>,
    /// Other names: of columns, rows and programs.
    names: Vec<String>,
    /// Id, title and names in lower case.
    titled: String,
    /// Explanation and remedies, in lower case.
    told: String,
}

impl Entry {
    fn new(topic: Topic, id: &str, title: Text<String>, names: Vec<String>, text: &str) -> Entry {
        let both = format!("{} {}", title.en, title.zh);
        // A finding's title is what to do about it: what it is about stands in its id.
        let shown = if topic == Topic::Finding { "" } else { &both };
        let titled = format!("{id} {shown} {}", names.join(" ")).to_lowercase();
        let told = format!("{both} {text}").to_lowercase();
        Entry { topic, id: id.to_owned(), title, names, titled, told }
    }
}

/// Rank of an entry; the least fits best: its class, its place in a list or behind the probes, how often the words stand in its title, and
/// in its text.
type Rank = (u8, usize, Reverse<usize>, Reverse<usize>);

/// The entries that have all words of `typed`, the best first: those that are called so, then those that the field calls so, then those
/// with the words in their title or a name, then those with the words in their text.
fn search(typed: &str, all: Vec<Entry>) -> Vec<Entry> {
    let words = words_of(typed);
    let mut found: Vec<(Rank, Entry)> =
        all.into_iter().filter_map(|entry| Some((rank(&entry, typed, &words)?, entry))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// Finds entries by words that are no filter, at least one; the filter's error where nothing is found.
pub fn found(typed: &str) -> Result<Vec<Entry>, PlanError> {
    let refused = match plan::pick(CATALOGUE, &[typed.to_owned()]) {
        Err(refused @ PlanError::UnknownProbe(..)) => refused,
        Err(other) => return Err(other),
        Ok(_) => return Ok(Vec::new()),
    };
    // Who types the form of an id means one: a script can tell an unknown one by the exit code.
    let is_id = typed.contains(['.', '@']) && !typed.contains(' ');
    let probes: Vec<ProbeInfo> = plan::pick(CATALOGUE, &[])?.iter().map(|entry| entry.info()).collect();
    let found = if is_id { Vec::new() } else { search(typed, entries(&probes)) };
    if found.is_empty() { Err(refused) } else { Ok(found) }
}

/// The finding or the setting of this id; none where a probe is called so as well.
pub fn with_id(id: &str) -> Option<Entry> {
    if probe::find(CATALOGUE, id).is_some() {
        return None;
    }
    findings(&[]).chain(settings()).find(|entry| entry.id == id)
}

/// The page of a finding or a setting.
pub fn page(entry: &Entry, options: &RenderOptions) -> String {
    let (lang, width) = (options.lang, options.width);
    let head = format!("{}   {}{}", entry.id, entry.topic.label().get(lang), entry.title.get(lang));
    let mut parts = vec![hanging("", &head, width)];
    let rule = RULES.iter().find(|rule| rule.id == entry.id);
    let host = HOST_RULES.iter().find(|rule| rule.id == entry.id);
    let cure = rule.and_then(|rule| rule.cure).or(host.map(|rule| rule.cure));
    let setting = tuning::settings().find(|setting| setting.name == entry.id);
    let also = rule.map_or_else(String::new, |rule| rule.probes.join(term!(", ", "list").say(lang)));
    let show = match rule.map(|rule| rule.shown) {
        _ if setting.is_some() => format!("hostmark try {}", entry.id),
        Some(Demonstration::Try(name)) => format!("hostmark try {name}"),
        Some(Demonstration::Explain(probe)) => format!("hostmark explain {probe}"),
        Some(Demonstration::Run) => "hostmark run".to_owned(),
        Some(Demonstration::Host) | None => "hostmark host".to_owned(),
    };
    let cure = cure.or(setting.map(|setting| setting.texts.permanent));
    let cures = setting.map_or_else(String::new, |setting| setting.findings.join(", "));
    let parts_of_page = [(DO, cure.map_or("", |cure| cure.say(lang))), (OF, &also), (CURES, &cures), (SHOW, &show)];
    for (title, text) in parts_of_page {
        if !text.is_empty() {
            parts.push(format!("{}{}", hanging("", title.get(lang), width), hanging("  ", text, width)));
        }
    }
    parts.join("\n")
}

const DO: Text = term!("What to do");
const OF: Text = term!("Drawn from");
const CURES: Text = term!("Findings that it may cure");
const SHOW: Text = term!("Shown by");

/// The best matches, a line each.
pub fn matches(typed: &str, found: &[Entry], options: &RenderOptions) -> String {
    let (lang, width) = (options.lang, options.width);
    let shown = &found[..found.len().min(MOST)];
    let column = shown.iter().map(|entry| entry.id.width()).max().unwrap_or(0).min(width / 3);
    let typed = hostmark_analysis::escape::visible(typed);
    let mut out = spoken(&say!("Best matches for '{typed}':\n"), lang);
    for entry in shown {
        let gap = " ".repeat(column.saturating_sub(entry.id.width()));
        let title = format!("{}{}", entry.topic.label().get(lang), entry.title.get(lang));
        out += &hanging(&format!("  {}{gap}  ", entry.id), &title, width);
    }
    let more = found.len() - shown.len();
    let more = match more {
        0 => say!("hostmark explain NAME prints a page.\n"),
        _ => say!("{more} more; another word narrows them. hostmark explain NAME prints a page.\n"),
    };
    out + &spoken(&more, lang)
}

fn entries(probes: &[ProbeInfo]) -> Vec<Entry> {
    let term = |(called, meaning): (Text, Text)| {
        let title = first_sentence(meaning);
        Entry::new(Topic::Term, called.en, title, vec![called.zh.to_owned()], &both(&meaning.to_owned_text()))
    };
    let reference = |one: &Reference| Entry::new(Topic::Reference, &one.name, one.machine.clone(), Vec::new(), "");
    let command = |(path, about): (String, Text<String>)| Entry::new(Topic::Command, &path, about, Vec::new(), "");
    let all = probes.iter().map(of_probe).chain(findings(probes)).chain(settings()).chain(terms::all().map(term));
    all.chain(references::all().map(reference)).chain(help::abouts(&Arguments::command()).map(command)).collect()
}

fn both(text: &Text<String>) -> String {
    format!("{} {}", text.en, text.zh)
}

fn settings() -> impl Iterator<Item = Entry> {
    tuning::settings().map(|setting| {
        let (what, names) = (setting.texts.what.to_owned_text(), vec![setting.name.replace('-', " ")]);
        Entry::new(Topic::Setting, setting.name, what, names, &both(&setting.texts.permanent.to_owned_text()))
    })
}

fn findings(probes: &[ProbeInfo]) -> impl Iterator<Item = Entry> {
    let of_run = RULES.iter().map(|rule| (rule.id, rule.cure, rule.probes));
    let of_host = HOST_RULES.iter().map(|rule| (rule.id, Some(rule.cure), &[][..]));
    of_run.chain(of_host).map(|(id, cure, of): (&str, Option<Text>, &[&str])| {
        let titles = probes.iter().filter(|probe| of.contains(&probe.id.as_str())).map(|probe| both(&probe.title));
        let text = titles.chain(cure.map(|cure| both(&cure.to_owned_text()))).collect::<Vec<_>>().join(" ");
        // Without a cure, its id as words.
        let title = match cure {
            Some(cure) => first_sentence(cure),
            None => id_in_words(id),
        };
        Entry::new(Topic::Finding, id, title, Vec::new(), &text)
    })
}

fn first_sentence(text: Text) -> Text<String> {
    Text { en: first_thing_to_do(text.en).to_owned(), zh: first_thing_to_do(text.zh).to_owned() }
}

fn id_in_words(id: &str) -> Text<String> {
    let plain = id.split_once('.').map_or(id, |(_, name)| name).replace('_', " ");
    Text { en: plain.clone(), zh: plain }
}

fn of_probe(probe: &ProbeInfo) -> Entry {
    let mut names = probe.replaces.clone();
    let columns = lmbench::TABLES.iter().flat_map(|table| table.columns);
    let of_it = columns.filter(|column| column.ours.points().iter().any(|point| point.probe == probe.id));
    names.extend(of_it.flat_map(|column| [column.head.en, column.head.zh]).map(|head| head.replace('\n', " ")));
    let rows = constants::cases().filter(|constant| constant.probe == probe.id).filter_map(|constant| constant.name);
    names.extend(rows.flat_map(|row| [row.en.to_owned(), row.zh.to_owned()]));
    let explain = &probe.explain;
    let texts = [&explain.what, &explain.why, &explain.reading, &explain.typical, &explain.causes, &probe.section];
    let also = probe.also.iter().map(|quantity| &quantity.title).chain(probe.differs.as_ref());
    let axes = probe.axes.iter().map(|axis| axis.name.clone()).chain(probe.needs.iter().cloned());
    let text = texts.into_iter().chain(also).map(both).chain(axes).collect::<Vec<_>>().join(" ");
    Entry::new(Topic::Probe, &probe.id, probe.title.clone(), names, &text)
}

fn rank(entry: &Entry, typed: &str, words: &[String]) -> Option<Rank> {
    let same = |text: &str| words_of(text) == *words && !words.is_empty();
    let fits = |class: u8, at: usize, titled: usize, told: usize| Some((class, at, Reverse(titled), Reverse(told)));
    if entry.id == typed || entry.title.is_called(typed) || same(&entry.id) || entry.names.iter().any(|name| same(name))
    {
        return fits(0, 0, 0, 0);
    }
    let known = FIELD_WORDS.iter().find(|(called, _)| called.iter().any(|one| same(one)));
    if let Some(at) = known.and_then(|(_, ids)| ids.iter().position(|id| *id == entry.id)) {
        return fits(1, at, 0, 0);
    }
    match (times(words, &entry.titled), times(words, &entry.told)) {
        (0, 0) => None,
        (0, told) => fits(3, 0, 0, told),
        (titled, told) => fits(2, usize::from(entry.topic != Topic::Probe), titled, told),
    }
}

/// Number of times that a text has the rarest of the words; a whole word counts double.
fn times(words: &[String], text: &str) -> usize {
    let of_word = |word: &String| {
        let stem = stem(word);
        let weight = |(at, _): (usize, &str)| {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric()) && word.is_ascii();
            let rest = text[at..].strip_prefix(word.as_str());
            match () {
                () if is_part(text[..at].chars().next_back()) => 0,
                () if rest.is_some_and(|rest| !is_part(rest.chars().next())) => 2,
                () => usize::from(stem.len() >= LEAST_BEGINNING),
            }
        };
        text.match_indices(stem).map(weight).sum()
    };
    words.iter().map(of_word).min().unwrap_or(0)
}

/// A word without its ending.
fn stem(word: &str) -> &str {
    let long_enough = |rest: &&str| rest.len() >= LEAST_BEGINNING;
    ["ing", "ed", "s"].iter().find_map(|end| word.strip_suffix(end).filter(long_enough)).unwrap_or(word)
}

/// The words of a text in lower case: letters and digits of ASCII, or of other scripts.
fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in text.chars() {
        let kind = c.is_alphanumeric().then(|| c.is_ascii());
        match words.last_mut() {
            Some(word) if kind.is_some() && kind == before => word.extend(c.to_lowercase()),
            _ if kind.is_some() => words.push(c.to_lowercase().collect()),
            _ => {}
        }
        before = kind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_words_lead_to_what_there_is_and_findings_are_found_by_theirs() {
        let probes: Vec<ProbeInfo> = plan::pick(CATALOGUE, &[]).unwrap().iter().map(|entry| entry.info()).collect();
        let known = entries(&probes);
        let findings = known.iter().filter(|entry| entry.topic == Topic::Finding).map(|entry| &entry.id);
        for id in findings {
            let words = words_of(id_in_words(id).en.as_str());
            let mut hits = known.iter().filter(|entry| rank(entry, id, &words).is_some());
            assert!(hits.any(|entry| entry.id == *id), "{id}");
        }
        let mut words: Vec<&str> = FIELD_WORDS.iter().flat_map(|(words, _)| *words).copied().collect();
        for id in FIELD_WORDS.iter().flat_map(|(_, ids)| *ids) {
            assert!(known.iter().any(|entry| entry.id == *id), "{id}");
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn words_fit_with_other_endings_and_not_by_their_beginning_alone() {
        for (word, text) in [("throttling", "is throttled"), ("pages", "a huge page"), ("页表", "页表遍历")] {
            assert!(times(&words_of(word), text) > 0, "{word}");
        }
        for (word, text) in [("L2", "l20"), ("steal", "stale"), ("st", "stat"), ("huge pages", "huge")] {
            assert_eq!(times(&words_of(word), text), 0, "{word}");
        }
    }
}
