//! Differences between the hosts and settings of two sides, and which of them alone shift values.

use std::collections::{BTreeSet, HashMap};

use hostmark_model::{Message, Run, Text};
use hostmark_say::say;

use super::Difference;
use super::facts::{Fact, facts};
use crate::words;

/// Differing facts, and the number of equal ones.
pub(super) struct Differs {
    pub(super) differences: Vec<Difference>,
    pub(super) same: usize,
}

/// A fact of one side: every value that its runs have.
struct OfSide {
    fact: Fact,
    values: BTreeSet<String>,
}

impl OfSide {
    fn text(&self) -> Option<String> {
        (!self.values.is_empty()).then(|| self.values.iter().cloned().collect::<Vec<_>>().join(" | "))
    }
}

/// The facts of a side's runs, in order.
fn of_side(runs: &[Run]) -> Vec<OfSide> {
    let mut all: Vec<OfSide> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for mut fact in runs.iter().flat_map(facts) {
        let value = fact.value.take();
        let place = *places.entry(fact.key.clone()).or_insert_with(|| {
            all.push(OfSide { fact, values: BTreeSet::new() });
            all.len() - 1
        });
        all[place].values.extend(value);
    }
    all
}

fn by_key(side: &[OfSide]) -> HashMap<&str, &OfSide> {
    side.iter().map(|one| (one.fact.key.as_str(), one)).collect()
}

/// Holds every fact of the one side against that of the other. A fact that neither side knows does not count.
pub(super) fn differs(base: &[Run], new: &[Run]) -> Differs {
    let (old, new) = (of_side(base), of_side(new));
    let [of_old, of_new] = [&old, &new].map(|side| by_key(side));
    let only_new = new.iter().filter(|one| !of_old.contains_key(one.fact.key.as_str()));
    let mut found = Differs { differences: Vec::new(), same: 0 };
    for Fact { key, label, is_words, .. } in old.iter().chain(only_new).map(|one| &one.fact) {
        let text = |side: &HashMap<&str, &OfSide>| side.get(key.as_str()).and_then(|one| one.text());
        let (before, after) = (text(&of_old), text(&of_new));
        match (&before, &after) {
            (None, None) => {}
            _ if before == after => found.same += 1,
            _ => {
                let is_cut = *is_words && before.is_some() && after.is_some();
                let both = vec![before, after];
                let mut both = if is_cut { without_common(both) } else { both };
                let (new, base) = (both.pop().flatten(), both.pop().flatten());
                found.differences.push(Difference { key: key.clone(), label: label.clone(), base, new });
            }
        }
    }
    found
}

/// A fact that is not the same in all of several runs.
pub struct FactOfRuns {
    pub label: Text<String>,
    /// Value in each run; none where it is not known.
    pub values: Vec<Option<String>>,
}

/// The facts in which several runs differ, and how many facts they share.
pub fn differing(runs: &[Run]) -> (Vec<FactOfRuns>, usize) {
    let sides: Vec<Vec<OfSide>> = runs.iter().map(|run| of_side(std::slice::from_ref(run))).collect();
    let known: Vec<HashMap<&str, &OfSide>> = sides.iter().map(|side| by_key(side)).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let (mut differ, mut same) = (Vec::new(), 0);
    for of_side in sides.iter().flatten() {
        let Fact { key, label, is_words, .. } = &of_side.fact;
        if !seen.insert(key) {
            continue;
        }
        let values: Vec<Option<String>> = known.iter().map(|side| side.get(key.as_str())?.text()).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            same += 1;
            continue;
        }
        let values = if *is_words { without_common(values) } else { values };
        differ.push(FactOfRuns { label: label.clone(), values });
    }
    (differ, same)
}

/// Facts in which runs of the same circumstances may differ: they move no value, or differ from boot to boot.
const IGNORED: [&str; 4] = [
    "host.boot_id",
    "host.kernel.perf_event_paranoid",
    "host.limits.group_settings.pids.max",
    "host.process.resource_limits",
];

/// Tells whether a fact is one about the host that may move values.
pub(super) fn is_circumstance(fact: &Fact) -> bool {
    fact.key.starts_with("host.") && !IGNORED.contains(&fact.key.as_str())
}

/// Returns a test of other runs: whether no fact about their hosts is known to differ from this run's that may move values.
pub fn has_circumstances_of(run: &Run) -> impl Fn(&Run) -> bool + use<> {
    let known =
        |run: &Run| facts(run).into_iter().filter(is_circumstance).filter_map(|fact| Some((fact.key, fact.value?)));
    let own: HashMap<String, String> = known(run).collect();
    move |other| known(other).all(|(key, value)| own.get(&key).is_none_or(|own| *own == value))
}

/// Drops the words that all lists have in common; keeps whole lists where only their order differs.
fn without_common(values: Vec<Option<String>>) -> Vec<Option<String>> {
    let words = |value: &Option<String>| -> BTreeSet<String> {
        value.iter().flat_map(|value| value.split_whitespace()).map(str::to_owned).collect()
    };
    let common =
        values.iter().filter(|value| value.is_some()).map(words).reduce(|one, other| &one & &other).unwrap_or_default();
    let rest = |value: &Option<String>| -> Option<String> {
        let rest: Vec<&str> = value.as_ref()?.split_whitespace().filter(|word| !common.contains(*word)).collect();
        Some(if rest.is_empty() { "-".to_owned() } else { rest.join(" ") })
    };
    let rests: Vec<Option<String>> = values.iter().map(rest).collect();
    if rests.iter().flatten().all(|rest| rest == "-") { values } else { rests }
}

/// SHA-256 of the program that measured every run of both sides; none where there were several, or where one is not known.
pub(super) fn program(base: &[Run], new: &[Run]) -> Option<String> {
    let mut digests = base.iter().chain(new).map(|run| run.tool.digest.as_ref());
    let first = digests.next()??;
    digests.all(|digest| digest == Some(first)).then(|| first.clone())
}

/// Differences that shift values by themselves, and how.
pub(super) fn warnings(base: &[Run], new: &[Run]) -> Vec<Text<String>> {
    let mut found = Vec::new();
    let mut warn = |of: &dyn Fn(&Run) -> String, what: Message| {
        let of_side = |runs: &[Run]| runs.iter().map(of).filter(|value| !value.is_empty()).collect::<BTreeSet<_>>();
        let (old, new) = (of_side(base), of_side(new));
        if !old.is_empty() && !new.is_empty() && (old != new || old.len() > 1) {
            let joined = |side: BTreeSet<String>| side.into_iter().collect::<Vec<_>>().join(" | ");
            let (old, new) = (joined(old), joined(new));
            found.push(words(say!("{old}, {new}: {what}")));
        }
    };
    warn(
        &|run| if run.imported.is_some() { String::new() } else { linked(run) },
        say!("the C libraries differ; what calls libc (copies, allocation, process creation) differs by that alone"),
    );
    warn(
        &|run| run.host.kernel.named().unwrap_or_default(),
        say!("the kernels differ; system calls, scheduling, paging and I/O are theirs"),
    );
    warn(
        &|run| match run.host.memory.page_bytes {
            0 => String::new(),
            bytes => hostmark_model::size_text(bytes),
        },
        say!("the base pages differ; TLB reach, page faults and memory in base pages are not alike"),
    );
    found
}

/// The C library, and how it is linked.
fn linked(run: &Run) -> String {
    let kind = if run.tool.is_static { " (static)" } else { "" };
    format!("{}{kind}", run.tool.libc)
}
