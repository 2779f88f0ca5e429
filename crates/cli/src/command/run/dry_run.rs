//! `hostmark run --dry-run`: what would be measured, and how long it would take.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::escape::visible;
use hostmark_analysis::reasons::localized;
use hostmark_analysis::{format, spoken};
use hostmark_engine::plan::{Plan, profile_limits};
use hostmark_engine::{Eta, Observer, PlanLine, RoundSink, Wall};
use hostmark_launch::supervise::Supervised;
use hostmark_model::{
    Elsewhere, Exit, HERE, HostFacts, Lang, MemoryLook, PairRun, RoundLine, Run, RunRequest, Text, Unit,
};
use hostmark_present::RenderOptions;
use hostmark_present::wrap::hanging;
use hostmark_say::say;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::{RunArguments, finish, show_plan};
use crate::command::compare::verdict::Expected;
use crate::command::far::on::{Keeper, checked_report, measure_there};
use crate::command::far::peers::{Direct, Pairs, tournament};
use crate::command::far::{Target, peers};
use crate::command::measure;
use crate::command::measure::inputs::settings_set;
use crate::command::measure::ready::Begun;
use crate::command::measure::{catch, ready};
use crate::command::runs::kept::{Author, RunDestination};
use crate::isolate::Outside;
use crate::language::refuse;
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::world::SinceStart;
use crate::{output, store};

/// Number of measured and skipped cases of a probe or group.
#[derive(Default, Clone, Copy)]
struct Count {
    measured: usize,
    skipped: usize,
    expected: Duration,
}

/// Columns of a count and of a time, with what parts them from what stands before.
const COUNTED: usize = 9;

pub fn show((plan, host): &(Plan, HostFacts), of_table: Option<&str>, format: &str, lang: Lang) -> Result<Exit> {
    let look = host.memory_look.as_ref();
    let text = match format {
        "table" => table(plan, look, of_table, &output::options(lang, false)),
        "json" => output::json(&serde_json::to_string_pretty(&value(plan, look, of_table))?),
        _ => refuse!("a plan cannot be shown as {format}; give --format table or json"),
    };
    output::print(&text);
    match measure::of_plan(plan) {
        Some(nothing) => Err(nothing),
        None => Ok(Exit::Fine),
    }
}

/// The selected probes with their groups, in catalogue order.
fn counts(plan: &Plan, eta: &Eta) -> Vec<(&'static str, String, Count)> {
    let count = |id: &String| {
        let of_probe = plan.cases.iter().filter(|case| case.id.probe == *id);
        let mut count = Count { expected: eta.of_cases(plan, of_probe), ..Count::default() };
        for case in plan.cases.iter().filter(|case| case.id.probe == *id) {
            *if case.skip.is_some() { &mut count.skipped } else { &mut count.measured } += 1;
        }
        count
    };
    plan.selected.iter().map(|entry| (entry.group, entry.id(), count(&entry.id()))).collect()
}

fn groups(counts: &[(&'static str, String, Count)]) -> Vec<(&'static str, Count)> {
    let mut groups: Vec<(&str, Count)> = Vec::new();
    for (group, _, count) in counts {
        if groups.last().is_none_or(|(last, _)| last != group) {
            groups.push((group, Count::default()));
        }
        if let Some((_, sum)) = groups.last_mut() {
            sum.measured += count.measured;
            sum.skipped += count.skipped;
            sum.expected += count.expected;
        }
    }
    groups
}

fn value(plan: &Plan, look: Option<&MemoryLook>, of_table: Option<&str>) -> serde_json::Value {
    let eta = Eta::of(plan);
    let counts = counts(plan, &eta);
    let seconds = |time: Duration| time.as_secs_f64();
    let counted = |name: &str, of: &str, count: &Count| {
        json!({ name: of, "cases": count.measured, "skipped": count.skipped,
                "expected_s": seconds(count.expected) })
    };
    let probe = |(_, id, count): &(_, String, Count)| {
        let mut counted = counted("probe", id, count);
        if !plan.brought_by(id).is_empty() {
            counted["brought_by"] = json!(plan.brought_by(id));
        }
        counted
    };
    let case = |case: &hostmark_engine::plan::PlannedCase| {
        let id = case.id.to_string();
        match &case.skip {
            Some(reason) => json!({ "id": id, "skipped": reason }),
            None => json!({ "id": id, "cpus": case.cpus, "rounds": plan.rounds_of(case),
                            "expected_s": seconds(eta.of_cases(plan, [case])) }),
        }
    };
    json!({
        "profile": plan.request.profile,
        "seed": plan.request.seed,
        "filters": plan.request.filters,
        "table": of_table,
        "memory_look": look,
        "set": settings_set(&plan.request),
        "limit_s": seconds(plan.profile_limits().limit),
        "rounds": eta.rounds,
        "least_rounds": eta.least_rounds,
        "expected_s": seconds(eta.in_all()),
        "fits": eta.fits(),
        "groups": groups(&counts).iter().map(|(group, count)| counted("group", group, count)).collect::<Vec<_>>(),
        "probes": counts.iter().map(probe).collect::<Vec<_>>(),
        "derived": plan.derived.iter().map(|entry| entry.id()).collect::<Vec<_>>(),
        "cases": plan.cases.iter().map(case).collect::<Vec<_>>(),
    })
}

fn title(look: Option<&MemoryLook>, lang: Lang) -> String {
    let but = look.map(|look| format::value(look.first_touch_bytes_per_s, Unit::BytesPerSecond, lang));
    let sentence = match but {
        None => say!("Nothing is measured; this would be:"),
        Some(rate) => say!("Nothing is measured but the first touch of memory, {rate}; this would be:"),
    };
    spoken(&sentence, lang)
}

fn table(plan: &Plan, look: Option<&MemoryLook>, of_table: Option<&str>, options: &RenderOptions) -> String {
    const TIGHT: Text = term!("The limit has no room for all rounds: some cases would be skipped.");
    let (lang, width) = (options.lang, options.width);
    let eta = Eta::of(plan);
    let counts = counts(plan, &eta);
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let mut text = hanging("", &title(look, lang), width);
    if let Some(name) = of_table {
        text += &format!("{} {name}\n", term!("table").say(lang));
    }
    let rounds = match (eta.least_rounds, eta.rounds) {
        (least, rounds) if least < rounds => say!("{least} to {rounds} rounds"),
        (_, rounds) => say!("{rounds:round}"),
    };
    let (time, limit, seed) = (seconds(eta.in_all()), plan.profile_limits().limit.as_secs(), plan.request.seed);
    let sentence =
        spoken(&say!("{cases:case} × {rounds}, ≈ {time} of {limit} s   seed {seed:#x}", cases = eta.cases), lang);
    text += &hanging("", &sentence, width);
    if !eta.fits() {
        text += &hanging("", TIGHT.get(lang), width);
    }
    text += "\n";
    let names = counts.iter().map(|(_, id, _)| id.len() + 2).max().unwrap_or_default();
    // Where they do not stand beside each other, a name has a line of its own.
    let row = |name: &str, cells: [String; 3]| {
        let [cases, skips, time] = cells.map(|cell| " ".repeat(COUNTED.saturating_sub(cell.width())) + &cell);
        let lead = if names + 3 * COUNTED > width { format!("{name}\n") } else { format!("{name:<names$}") };
        format!("{}\n", format!("{lead}{cases}{skips}{time}").trim_end())
    };
    let counted = |name: &str, count: &Count| {
        let skips = if count.skipped > 0 { count.skipped.to_string() } else { String::new() };
        row(name, [count.measured.to_string(), skips, seconds(count.expected)])
    };
    text +=
        &row("", [term!("cases").say(lang), term!("skipped").say(lang), term!("time").say(lang)].map(str::to_owned));
    for (group, sum) in groups(&counts) {
        text += &format!("\n{}", counted(group, &sum));
        for (_, id, count) in counts.iter().filter(|(own, ..)| *own == group) {
            if plan.derived.iter().any(|entry| entry.id() == *id) {
                text += &hanging("  ", &format!("{id}   {}", term!("computed from others").say(lang)), width);
                continue;
            }
            text += &counted(&format!("  {id}"), count);
            let brought_by = plan.brought_by(id).join(", ");
            if !brought_by.is_empty() {
                let for_whom = term!("only what is needed for ").say(lang);
                text += &hanging("    ", &format!("{for_whom}{brought_by}"), width);
            }
            for case in plan.cases.iter().filter(|case| case.id.probe == *id) {
                let what = match &case.skip {
                    Some(reason) => format!("{}{}", term!("skipped: ").say(lang), localized(reason, lang)),
                    None => seconds(eta.of_cases(plan, [case])),
                };
                let case = crate::output::case_id(&case.id.to_string());
                text += &hanging("    ", &format!("{case}   {}", visible(&what)), width);
            }
        }
    }
    text
}

/// Measures there, keeps and shows here.
pub(super) fn run(
    arguments: &RunArguments,
    begun: Option<Begun>,
    place: &Target,
    expected: Option<Expected>,
    lang: Lang,
) -> Result<Exit> {
    let mut request = arguments.request()?;
    if arguments.dry_run {
        arguments.check_place()?;
        let (places, stop) = (arguments.peers()?, catch(&Outside::default())?);
        let report = checked_report(place, &request, &stop)?;
        expected.as_ref().map_or(Ok(()), |expected| expected.check(&report.host))?;
        Direct::open(&places, &stop, profile_limits(request.profile).limit)?.finish();
        return show_plan(arguments, &request, &ready::planned(&request, report.host, uuid::Uuid::now_v7())?, lang);
    }
    let places = arguments.peers()?;
    peers::names_of(&places, begun.as_ref())?;
    let fresh = Here { expected: expected.as_ref(), named: None, note: None, kept: None, rounds: 0 };
    let mut keeper = Here { named: arguments.named_file()?, note: arguments.note.clone(), ..fresh };
    let stop = catch(&Outside::default())?;
    let mut past = Vec::new();
    if let Some(begun) = begun {
        // How the peers are reached is said anew, as their places are.
        request = RunRequest { via: request.via, ..begun.request() };
        past = begun.past;
        let (note, rounds) = (begun.header.run.note.clone(), past.len());
        keeper = Here { named: None, note, kept: Some(begun.kept), rounds, ..keeper };
    }
    let peers = Direct::open(&places, &stop, profile_limits(request.profile).limit)?;
    let mut bar = Bar::new();
    let measured = measure_there(place, request, past, &stop, &mut bar, &mut keeper, Some(&peers));
    bar.finish();
    peers.finish();
    match (measured, keeper.kept) {
        (Ok(mut measured), kept) => {
            measured.run.note = keeper.note;
            measured.run.peers = peers::typed(measured.run.peers, &places);
            finish(arguments, measured, kept.unwrap_or_default(), expected, stop.signal(), lang)
        }
        (Err(error), Some(kept)) if keeper.rounds > 0 => Err(kept.goes_on_later(error, keeper.rounds)),
        (Err(error), kept) => {
            kept.unwrap_or_default().forget();
            Err(error)
        }
    }
}

/// Keeps a run as one of this machine is kept.
struct Here<'a> {
    /// Expectation for the run, which must be known of that machine before it measures.
    expected: Option<&'a Expected>,
    named: Option<store::RunFiles>,
    note: Option<String>,
    kept: Option<RunDestination>,
    rounds: usize,
}

impl Keeper for Here<'_> {
    fn begins(&mut self, run: &mut Run, planned: &PlanLine, elsewhere: Elsewhere) -> Result<()> {
        self.expected.map_or(Ok(()), |expected| expected.check(&run.host))?;
        run.note.clone_from(&self.note);
        match self.kept.as_ref().and_then(|kept| kept.place.as_ref()) {
            Some(place) => run.name.clone_from(&place.name),
            None => {
                let author = Author { binary: env!("CARGO_PKG_VERSION").into(), elsewhere: Some(elsewhere) };
                self.kept = Some(RunDestination::begin(run, self.named.as_ref(), planned, author)?);
            }
        }
        Ok(())
    }

    fn round(&mut self, line: &RoundLine) -> io::Result<()> {
        let Some(journal) = self.kept.as_mut().and_then(|kept| kept.journal.as_mut()) else { return Ok(()) };
        journal.append_round(line)?;
        self.rounds += 1;
        journal.sync()
    }
}

const EXPECTED: Duration = Duration::from_secs(6);
/// The hosts of a run, this one first.
pub struct Hosts<'a> {
    pub places: &'a [Target],
    pub names: &'a [String],
    pub token_file: Option<&'a Path>,
}

impl Hosts<'_> {
    fn name(&self, host: usize) -> &str {
        host.checked_sub(1).map_or(HERE, |peer| &self.names[peer])
    }

    /// Measures all pairs, both ways; fewer where the person asked to stop.
    pub fn measure(&self, seed: u64, stop: &StopRequest, observer: &mut dyn Observer) -> Result<Vec<PairRun>> {
        let mut runs = Pairs::new(Some(seed), stop)?;
        let mut measured = Vec::new();
        let rounds = tournament(self.places.len() + 1);
        let (all, begin) = (rounds.iter().map(Vec::len).sum::<usize>(), SinceStart::now());
        for (turn, pairs) in (0..).zip(rounds) {
            let shown: Vec<String> =
                pairs.iter().map(|&(from, to)| format!("{} → {}", self.name(from), self.name(to))).collect();
            let done = measured.len();
            // As long as those before; the first has nobody to learn from.
            let each = begin.elapsed().checked_div(done as u32).unwrap_or(EXPECTED);
            observer.round(&shown.join(", "), done, all, each * (all - done.min(all)) as u32);
            let begun: Vec<_> = pairs.iter().map(|&pair| (pair, self.begin(&mut runs, pair))).collect();
            for (pair, process) in begun {
                let Some(outcome) = runs.collect(process) else { continue };
                let (from, to) = (self.name(pair.0).to_owned(), self.name(pair.1).to_owned());
                let failed = outcome.as_ref().err().cloned();
                measured.push(PairRun { from, to, turn, cases: outcome.unwrap_or_default(), failed });
            }
            if stop.signal().is_some() {
                return Ok(measured);
            }
        }
        Ok(measured)
    }

    /// Starts a run between two of them.
    fn begin(&self, runs: &mut Pairs, (from, to): (usize, usize)) -> Result<Supervised, String> {
        let place = |host: usize| host.checked_sub(1).map(|peer| &self.places[peer]);
        let is_served = [from, to].into_iter().any(|host| place(host).is_some_and(Target::is_served));
        runs.begin(place(from).map(Target::shown), place(to).map(Target::shown), self.token_file.filter(|_| is_served))
    }
}
