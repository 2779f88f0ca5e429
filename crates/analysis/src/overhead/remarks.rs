//! Remarks that readers need before the tables: on machines, disturbances, and environments that differ in more than their layer.

use hostmark_model::{IN_SOFTWARE, Lang, Message, Text, Unit};
use hostmark_say::say;

use super::environment::{cpus as cpus_of, is_as_large, memory};
use super::sheet::Sheet;
use super::sheet::Space;
use super::{Environment, value};
use crate::groups::{distinct, grouped};
use crate::typography::SEMICOLON;
use crate::{format, guest, spoken, words};

/// Remarks on the machines: emulated, disturbed, of another size, and whether the first has the runs for an A/A control.
pub(super) fn of_machines(environments: &[Environment]) -> Vec<Message> {
    let each = |of: fn(&Environment) -> Vec<Message>| environments.iter().flat_map(of);
    let control = uncontrolled(environments);
    each(emulated).chain(each(disturbances)).chain(differences(environments)).chain(control).collect()
}

/// Remarks on the figures: doubtful ones, and the reason why the kernel's side is missing.
pub(super) fn of_sheets(sheets: &[Sheet]) -> Vec<Message> {
    doubted(sheets).into_iter().chain(without_kernel(sheets)).collect()
}

/// Disturbances of the machine in its runs, each kind once.
fn disturbances(environment: &Environment) -> Vec<Message> {
    let name = environment.name;
    let remarks = merged(environment.runs.iter().map(|run| run.disturbances.as_slice()));
    // Of a guest that is known to be emulated the first remark says so already.
    let is_new = |remark: &Text<String>| !(environment.is_emulated() && remark.en.starts_with(IN_SOFTWARE.en));
    let named = |remark: Text<String>| say!("{name}: {remark}");
    remarks.into_iter().filter(is_new).map(named).collect()
}

/// The hypervisor that signs as itself where it executes without the processor's help.
const EMULATOR: &str = "qemu";

fn emulated(environment: &Environment) -> Vec<Message> {
    let name = environment.name;
    if let Some(remark) = environment.runs.iter().find_map(|run| guest::warning(run)) {
        return vec![say!("{name} was {remark}")];
    }
    // Where it is known what carries the instructions out, nothing has to be supposed.
    let is_supposed = |run: &&&hostmark_model::Run| {
        run.guest.is_none() && run.host.virtualization.hypervisor.as_deref() == Some(EMULATOR)
    };
    let found = environment.runs.iter().find(is_supposed);
    let remark = |_| {
        say!(
            "{name} runs in QEMU, and its processor does not name KVM: if QEMU emulates it, its figures say nothing about \
             hardware"
        )
    };
    found.into_iter().map(remark).collect()
}

/// Remark that the first environment cannot be compared with itself.
fn uncontrolled(environments: &[Environment]) -> Option<Message> {
    let (first, others) = environments.split_first()?;
    let name = first.name;
    (!others.is_empty() && !value::has_control(first))
        .then(|| say!("{name} has one run: without a second one no percentage has an A/A control beside it"))
}

/// Remark on the number of an environment's disturbed figures.
fn doubted(sheets: &[Sheet]) -> Vec<Message> {
    let Some(environments) = sheets.first().map(|sheet| sheet.environments) else { return Vec::new() };
    let remark = |(index, environment): (usize, &Environment)| {
        let of_environment = sheets.iter().flat_map(|sheet| &sheet.figures).filter(|one| one.environment == index);
        let values: Vec<bool> = of_environment.filter_map(|one| Some(one.value.as_ref().ok()?.is_doubted)).collect();
        let (name, all, count) = (environment.name, values.len(), values.iter().filter(|is| **is).count());
        (count > 0).then(|| say!("{name}: {count} of {all} values were disturbed and are not used for conclusions"))
    };
    environments.iter().enumerate().filter_map(remark).collect()
}

/// Environments without measurements inside the kernel, by each reason once.
fn without_kernel(sheets: &[Sheet]) -> Vec<Message> {
    let all = sheets.iter().flat_map(|sheet| (0..sheet.environments.len()).map(move |index| (sheet, index)));
    let lacking = all.filter_map(|(sheet, index)| {
        let of_kernel = || sheet.figures.iter().filter(|one| one.environment == index && one.side == Space::Kernel);
        let why = of_kernel().find_map(|one| one.value.as_ref().err())?;
        of_kernel().all(|one| one.value.is_err()).then(|| (why, sheet.environments[index].name))
    });
    let remark = |(why, names): (&Message, Vec<&str>)| {
        let names = Message::joined(distinct(names.into_iter()), term!(", ", "list"));
        say!("{names}: nothing was measured inside the kernel ({why})")
    };
    grouped(lacking).into_iter().map(remark).collect()
}

/// A remark for each environment that is not held to the CPUs and the memory of the first.
fn differences(environments: &[Environment]) -> Vec<Message> {
    let size = |environment: &Environment| (cpus_of(environment), memory(environment));
    let Some(first) = environments.first() else { return Vec::new() };
    let (cpus, bytes) = size(first);
    let text = |cpus: usize, bytes: u64| match (cpus, bytes) {
        (0, 0) => None,
        _ => Some(format!("{cpus} CPU, {}", format::value(bytes as f64, Unit::Bytes, Lang::En))),
    };
    let remark = |other: &Environment| {
        let (others, their_bytes) = size(other);
        let (ours, theirs) = (text(cpus, bytes)?, text(others, their_bytes)?);
        let is_alike = others == cpus && is_as_large(bytes, their_bytes);
        let (one, two) = (first.name, other.name);
        (!is_alike).then(|| say!("{one} has {ours}, {two} {theirs}: hold the first to the size of the second (--cpu, a memory limit) before \
                 cases of many threads or large buffers are compared"))
    };
    environments[1..].iter().filter(|other| !other.is_free()).filter_map(remark).collect()
}

/// Number of bracketed texts up to which each is listed.
const MOST: usize = 3;

#[derive(Clone, Copy)]
enum RemarkPiece<'a> {
    /// Text that remarks of a kind have in common.
    Fixed(&'a str),
    /// The number of a percentage.
    Share(&'a str),
    Aside(&'a str),
}

/// The remarks of all `runs`, each kind once, with how many of them it concerns where there are several.
pub(super) fn merged<'a>(runs: impl Iterator<Item = &'a [Text<String>]>) -> Vec<Text<String>> {
    let runs: Vec<&[Text<String>]> = runs.collect();
    let remarks = runs.iter().enumerate().flat_map(|(run, remarks)| remarks.iter().map(move |remark| (run, remark)));
    let form = |remark: &Text<String>| Text { en: form(&remark.en), zh: form(&remark.zh) };
    let kinds = grouped(remarks.map(|(run, remark)| (form(remark), (run, remark))));
    kinds.iter().map(|(_, all)| of_kind(all, runs.len())).collect()
}

/// The remarks of a kind as one, each with its run, of so many runs.
fn of_kind(all: &[(usize, &Text<String>)], of: usize) -> Text<String> {
    let text = |lang| {
        let all = all.iter().map(|(_, remark)| remark.get(lang)).collect();
        joined(all, [term!(" to "), SEMICOLON].map(|word| word.say(lang)), |more| spoken(&say!("; {more} more"), lang))
    };
    let text = Text { en: text(Lang::En), zh: text(Lang::Zh) };
    let runs = all.chunk_by(|(one, _), (other, _)| one == other).count();
    match of {
        1 => text,
        _ => words(say!("{text} ({runs} of {of} runs)")),
    }
}

/// Remarks of one form as one: shares from the least to the greatest, and what stands in brackets behind each other.
fn joined(all: Vec<&str>, [to, and]: [&str; 2], more: impl Fn(usize) -> String) -> String {
    let all: Vec<Vec<RemarkPiece>> = all.into_iter().map(pieces).collect();
    let Some(first) = all.first() else { return String::new() };
    let mut text = String::new();
    for (index, piece) in first.iter().enumerate() {
        let mut found = distinct(all.iter().filter_map(|pieces| pieces.get(index)).map(RemarkPiece::text));
        match piece {
            RemarkPiece::Fixed(part) => text += part,
            RemarkPiece::Share(_) => {
                let size = |share: &&str| share.parse::<f64>().unwrap_or_default();
                found.sort_by(|one, other| size(one).total_cmp(&size(other)));
                found.dedup();
                let ends: Vec<&str> = found.first().into_iter().chain(found[1..].last()).copied().collect();
                text += &ends.join(to);
            }
            RemarkPiece::Aside(_) => {
                text += &found[..found.len().min(MOST)].join(and);
                text += &found.len().checked_sub(MOST).filter(|left| *left > 0).map(&more).unwrap_or_default();
            }
        }
    }
    text
}

/// A remark without what may differ between two of its kind.
fn form(remark: &str) -> String {
    let fixed =
        |piece: &RemarkPiece| if let RemarkPiece::Fixed(text) = piece { (*text).to_owned() } else { "\0".to_owned() };
    pieces(remark).iter().map(fixed).collect()
}

fn pieces(remark: &str) -> Vec<RemarkPiece<'_>> {
    let mut all = Vec::new();
    // Where the fixed piece begins that goes on.
    let (mut begun, mut at) = (0, 0);
    while let Some(next) = remark[at..].chars().next() {
        let rest = &remark[at..];
        let part = match next {
            '(' | '（' => {
                let inner = &rest[next.len_utf8()..];
                inner.find([')', '）']).map(|end| (at + next.len_utf8(), RemarkPiece::Aside(&inner[..end])))
            }
            '0'..='9' => {
                let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(rest.len());
                // With a blank in English, without one in Chinese.
                let is_share = [" %", "%"].iter().any(|sign| rest[end..].starts_with(sign));
                let share = is_share.then_some((at, RemarkPiece::Share(&rest[..end])));
                at += if share.is_none() { end } else { 0 };
                share
            }
            _ => None,
        };
        match part {
            Some((from, piece)) => {
                all.extend([RemarkPiece::Fixed(&remark[begun..from]), piece]);
                at = from + piece.text().len();
                begun = at;
            }
            None if next.is_ascii_digit() => {}
            None => at += next.len_utf8(),
        }
    }
    all.push(RemarkPiece::Fixed(&remark[begun..]));
    all
}

impl<'a> RemarkPiece<'a> {
    fn text(&self) -> &'a str {
        match *self {
            RemarkPiece::Fixed(text) | RemarkPiece::Share(text) | RemarkPiece::Aside(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged_texts(runs: &[&[&str]]) -> Vec<String> {
        let runs: Vec<Vec<Text<String>>> = runs
            .iter()
            .map(|run| run.iter().map(|text| Text { en: *text, zh: *text }.to_owned_text()).collect())
            .collect();
        merged(runs.iter().map(Vec::as_slice)).into_iter().map(|text| text.en).collect()
    }

    #[test]
    fn remarks_that_differ_in_figures_are_reported_once_with_their_range() {
        let others = ["others used 62 % of CPU 0-1", "others used 5 % of CPU 0-1", "others used 55.5 % of CPU 0-1"];
        let runs: [&[&str]; 4] = [&others[..1], &others[1..2], &[], &others[2..]];
        assert_eq!(merged_texts(&runs), ["others used 5 to 62 % of CPU 0-1 (3 of 4 runs)"]);
        // Another CPU is another remark, and one run needs no count.
        assert_eq!(merged_texts(&[&[others[0], "others used 62 % of CPU 2"]]).len(), 2);
        assert_eq!(merged_texts(&[&others[..1]]), others[..1]);
    }

    #[test]
    fn what_stands_in_brackets_is_listed_up_to_a_few() {
        let busy: Vec<String> =
            (1..6).map(|pid| format!("a process (pid {pid}, rustc, {pid}0 % of a CPU) disturbs")).collect();
        let runs: Vec<[&str; 1]> = busy.iter().map(|one| [one.as_str()]).collect();
        let runs: Vec<&[&str]> = runs.iter().map(<[&str; 1]>::as_slice).collect();
        assert_eq!(
            merged_texts(&runs[..2]),
            ["a process (pid 1, rustc, 10 % of a CPU; pid 2, rustc, 20 % of a CPU) disturbs (2 of 2 runs)"]
        );
        assert!(
            merged_texts(&runs)[0].ends_with("30 % of a CPU; 2 more) disturbs (5 of 5 runs)"),
            "{:?}",
            merged_texts(&runs)
        );
    }

    #[test]
    fn any_text_is_taken_apart_and_put_together() {
        for text in ["", "(", "100", "5 %", "（", "（）5", "a (b (c) 7 %) 8", "1.2.3 % (é）", "%", "))", "9"] {
            assert_eq!(merged_texts(&[&[text]]), [text]);
            assert_eq!(merged_texts(&[&[text], &[text]]), [format!("{text} (2 of 2 runs)")]);
        }
    }
}
