//! Reasons for outliers: facts that they share and others lack.

use std::collections::{BTreeMap, HashMap};

use hostmark_model::Text;
use hostmark_stats::max_t::{Labelled, adjusted};

use super::data::{RareFact, SharedFact};
use super::gathering::Gathering;

/// Least number of outliers that shows what they share.
const LEAST_ODD: usize = 5;
/// Permutations of the labels, so that p is told to a two thousandth; and their seed, so that a report says the same twice.
const PERMUTATIONS: usize = 1999;
const SEED: u64 = 1993;
const LEVEL: f64 = 0.05;
/// Share of fewer outliers that must have a fact, while fewer of the others do.
const MOST_ODD_HAVE: f64 = 0.8;
const FEW_OTHERS_HAVE: f64 = 0.2;
/// Causes, and reasons of one host, that are told.
const MOST_SHOWN: usize = 8;
/// Further facts that go with a cause.
const MOST_ALONG: usize = 6;

pub(super) struct Judged {
    pub(super) kind: usize,
    pub(super) is_odd: bool,
    /// The run whose facts stand for it.
    pub(super) run: usize,
}

/// A fact and a value of it; none where a host lacks the fact.
type Property = (u32, Option<u32>);

/// The properties of each host: those of facts that are known of all hosts of its kind or that others of the kind have.
fn properties(gathering: &Gathering, hosts: &[Judged]) -> BTreeMap<Property, Vec<usize>> {
    let mut having: BTreeMap<Property, Vec<usize>> = BTreeMap::new();
    let mut knowing: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, host) in hosts.iter().enumerate() {
        for (key, value) in &gathering.runs[host.run].facts {
            having.entry((*key, Some(*value))).or_default().push(index);
            knowing.entry(*key).or_default().push(index);
        }
    }
    for (key, knowing) in &knowing {
        let mut knows = vec![false; hosts.len()];
        knowing.iter().for_each(|host| knows[*host] = true);
        let lacking: Vec<usize> = (0..hosts.len()).filter(|host| !knows[*host]).collect();
        if !lacking.is_empty() {
            having.insert((*key, None), lacking);
        }
    }
    // What nearly every host has a value of its own of, as addresses and identifiers, is a name.
    let mut values: HashMap<u32, usize> = HashMap::new();
    for (key, _) in having.keys() {
        *values.entry(*key).or_default() += 1;
    }
    having.retain(|(key, _), having| {
        having.len() < hosts.len() && (values[key] < 4 || 2 * values[key] <= knowing[key].len())
    });
    having
}

fn value_text(gathering: &Gathering, value: Option<u32>) -> Text<String> {
    match value {
        Some(value) => {
            let text = gathering.texts.name(value);
            match text {
                "yes" => term!("yes").to_owned_text(),
                "no" => term!("no").to_owned_text(),
                "none" => term!("none").to_owned_text(),
                _ => Text { en: text.to_owned(), zh: text.to_owned() },
            }
        }
        None => term!("not set").to_owned_text(),
    }
}

/// Facts that go with outliers, the surest first.
pub(super) fn causes(gathering: &Gathering, hosts: &[Judged]) -> Vec<SharedFact> {
    let odd = hosts.iter().filter(|host| host.is_odd).count();
    let others = hosts.len() - odd;
    if odd < 2 || others == 0 {
        return Vec::new();
    }
    // Facts that the same hosts have are one property.
    let mut columns: BTreeMap<Vec<usize>, Vec<Property>> = BTreeMap::new();
    for (property, having) in properties(gathering, hosts) {
        let of_odd = having.iter().filter(|host| hosts[**host].is_odd).count();
        if of_odd * others > (having.len() - of_odd) * odd {
            columns.entry(having).or_default().push(property);
        }
    }
    let columns: Vec<(Vec<usize>, Vec<Property>)> = columns.into_iter().collect();
    let p: Vec<Option<f64>> = match odd >= LEAST_ODD {
        true => {
            let members: Vec<Labelled> =
                hosts.iter().map(|host| Labelled { is_chosen: host.is_odd, stratum: host.kind }).collect();
            let flags = |having: &Vec<usize>| {
                let mut flags = vec![false; hosts.len()];
                having.iter().for_each(|host| flags[*host] = true);
                flags
            };
            let flags: Vec<Vec<bool>> = columns.iter().map(|(having, _)| flags(having)).collect();
            adjusted(&members, &flags, PERMUTATIONS, SEED).into_iter().map(Some).collect()
        }
        false => vec![None; columns.len()],
    };
    let mut found: Vec<SharedFact> = Vec::new();
    for ((having, properties), p) in columns.iter().zip(p) {
        let of_odd = having.iter().filter(|host| hosts[**host].is_odd).count();
        let of_others = having.len() - of_odd;
        let share = |count: usize, all: usize| count as f64 / all as f64;
        let is_shown = match p {
            Some(p) => p <= LEVEL,
            None => share(of_odd, odd) >= MOST_ODD_HAVE && share(of_others, others) <= FEW_OTHERS_HAVE,
        };
        let [(key, value), further @ ..] = properties.as_slice() else { continue };
        if !is_shown {
            continue;
        }
        let along = |(key, value): &Property| {
            let (label, value) = (&gathering.labels[*key as usize], value_text(gathering, *value));
            Text { en: format!("{} {}", label.en, value.en), zh: format!("{} {}", label.zh, value.zh) }
        };
        found.push(SharedFact {
            key: gathering.key(*key).to_owned(),
            label: gathering.labels[*key as usize].clone(),
            value: value_text(gathering, *value),
            along: further.iter().take(MOST_ALONG).map(along).collect(),
            odd: (of_odd, odd),
            others: (of_others, others),
            p,
        });
    }
    let excess =
        |cause: &SharedFact| cause.odd.0 as f64 / cause.odd.1 as f64 - cause.others.0 as f64 / cause.others.1 as f64;
    found.sort_by(|one, other| {
        let p = one.p.unwrap_or(0.0).total_cmp(&other.p.unwrap_or(0.0));
        p.then(excess(other).total_cmp(&excess(one)))
    });
    found.truncate(MOST_SHOWN);
    found
}

/// Rare facts of each outlier of one kind, which few other hosts have, the rarest first.
pub(super) fn reasons(gathering: &Gathering, hosts: &[Judged]) -> HashMap<usize, Vec<RareFact>> {
    let usual_hosts = hosts.iter().filter(|host| !host.is_odd).count();
    let mut found: HashMap<usize, Vec<RareFact>> = HashMap::new();
    if usual_hosts == 0 || usual_hosts == hosts.len() {
        return found;
    }
    let properties = properties(gathering, hosts);
    let mut usual: BTreeMap<u32, (usize, Option<u32>)> = BTreeMap::new();
    let of_usual = |having: &[usize]| having.iter().filter(|host| !hosts[**host].is_odd).count();
    for ((key, value), having) in &properties {
        let count = of_usual(having);
        let most = usual.entry(*key).or_insert((count, *value));
        if count > most.0 {
            *most = (count, *value);
        }
    }
    for ((key, value), having) in &properties {
        let others = of_usual(having);
        if others as f64 > FEW_OTHERS_HAVE / 2.0 * usual_hosts as f64 {
            continue;
        }
        // A value that is rare since all are is nothing special.
        let (most, most_value) = usual[key];
        if (most as f64) < 0.5 * usual_hosts as f64 {
            continue;
        }
        for host in having.iter().filter(|host| hosts[**host].is_odd) {
            found.entry(*host).or_default().push(RareFact {
                key: gathering.key(*key).to_owned(),
                label: gathering.labels[*key as usize].clone(),
                value: value_text(gathering, *value),
                usual: value_text(gathering, most_value),
                others,
                of: usual_hosts,
            });
        }
    }
    for reasons in found.values_mut() {
        reasons.sort_by(|one, other| one.others.cmp(&other.others).then(one.key.cmp(&other.key)));
        reasons.truncate(MOST_SHOWN);
    }
    found
}
