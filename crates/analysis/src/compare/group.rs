//! Change of all cases of a group together, e.g. all system calls, with the outliers among them.

use hostmark_model::{Better, Run};
use hostmark_stats::compare::benjamini_hochberg;
use hostmark_stats::random_effects::{Member, Pooled, moderated, pooled};

use super::known::{self, Claim, KnownChange};
use super::scatter::Scatters;
use super::tables::Together;
use super::{CaseComparison, FALSE_DISCOVERIES, GroupChange, Verdict};
use crate::groups::grouped;
use crate::repetition::{self, group_of};
use crate::words;

/// A group of fewer cases says nothing that they do not say.
const LEAST_CASES: usize = 3;
/// A case that is so many errors from its group is odd.
const ODD: f64 = 3.0;
/// Odd cases that are named.
const MOST_ODD: usize = 3;
/// Degrees of freedom of what both sides' rounds tell of a case: five rounds each.
const OF_ROUNDS: f64 = 8.0;

/// A case that takes part, with what is known of it.
struct GroupMember<'a> {
    case: &'a CaseComparison,
    known: &'a KnownChange,
    /// Increase of cost, on the logarithms: of a rate, of the time that the same work takes.
    cost: f64,
    variance: f64,
    /// Largest slowdown of each side by a neighbour, on the logarithms.
    neighbours: [f64; 2],
}

/// Results of a comparison's cases, before groups are made.
pub(super) struct Compared<'a> {
    pub(super) cases: &'a [CaseComparison],
    pub(super) known: &'a [KnownChange],
    /// None where the runs were made in turn.
    pub(super) scatters: Option<&'a Scatters<'a>>,
    pub(super) sides: (&'a [Run], &'a [Run]),
    pub(super) same_within: f64,
}

/// The groups of a comparison, in the order of the catalogue.
pub(super) fn groups(compared: &Compared) -> Vec<GroupChange> {
    let groups = grouped(compared.cases.iter().map(|case| (group_of(&case.probe), case.id.clone())));
    let group = |(name, ids): (&str, Vec<String>)| {
        let ids = ids.into_iter().collect();
        Together { name: name.to_owned(), title: words(name), ids }
    };
    together(compared, &groups.into_iter().map(group).collect::<Vec<_>>())
}

/// Change of each group of `all`; none for groups of too few cases.
pub(super) fn together(compared: &Compared, all: &[Together]) -> Vec<GroupChange> {
    let (base, new) = compared.sides;
    let sides = 1.0 / base.len() as f64 + 1.0 / new.len() as f64;
    let of = |one: &Together| {
        let is_one = |(case, _): &(&CaseComparison, &KnownChange)| one.ids.contains(&case.id);
        let cases = compared.cases.iter().zip(compared.known);
        let mut parts: Vec<GroupMember> = cases.filter(is_one).filter_map(|(case, known)| part(case, known)).collect();
        let own = moderated(&parts.iter().map(|part| part.known.own).collect::<Vec<f64>>(), OF_ROUNDS);
        for (part, own) in parts.iter_mut().zip(own) {
            part.variance += own * part.known.sides;
        }
        // What pairs of runs made in turn have in common is in how they differ.
        let deviation = compared.scatters.map_or(0.0, |scatters| shift(scatters, one, &parts));
        let mut found =
            pooled(&members(&parts), deviation * deviation * sides).filter(|_| parts.len() >= LEAST_CASES)?;
        if found.clusters == 1 {
            found.difference.freedom = OF_ROUNDS;
        }
        let claim = Claim::of(found.difference, neighbour(&parts, found), compared.same_within, false);
        Some((group(one, &parts, found, compared.same_within), claim))
    };
    let (mut groups, found): (Vec<GroupChange>, Vec<Claim>) = all.iter().filter_map(of).unzip();
    let adjusted = |of: &dyn Fn(&Claim) -> f64| benjamini_hochberg(&found.iter().map(of).collect::<Vec<f64>>());
    let (changed, alike) = (adjusted(&|one| one.changed), adjusted(&|one| one.same));
    let (level, [of_intervals, _]) = (FALSE_DISCOVERIES / found.len().max(1) as f64, known::levels(&changed));
    for (((group, found), changed), alike) in groups.iter_mut().zip(&found).zip(changed).zip(alike) {
        (group.low, group.high) = found.interval(of_intervals);
        group.adjusted_p_value = changed;
        group.visible = found.visible(level);
        group.verdict = match (changed <= FALSE_DISCOVERIES, alike <= FALSE_DISCOVERIES) {
            (true, _) if group.ratio > 1.0 => Verdict::Slower,
            (true, _) => Verdict::Faster,
            (false, true) => Verdict::Same,
            (false, false) => Verdict::Inconclusive,
        };
    }
    groups
}

/// Largest slowdown by neighbours of the side that came out worse: the mean over the cases.
fn neighbour(parts: &[GroupMember], found: Pooled) -> f64 {
    let worse = usize::from(found.difference.logarithm > 0.0);
    parts.iter().map(|part| part.neighbours[worse]).sum::<f64>() / parts.len().max(1) as f64
}

/// Deviation that some cases share between runs: as measured by runs, else as assumed for the group of them that differs most.
fn shift(scatters: &Scatters, together: &Together, parts: &[GroupMember]) -> f64 {
    let groups = parts.iter().map(|part| group_of(&part.case.probe));
    let assumed = groups.map(repetition::assumed_shift).fold(0.0, f64::max);
    scatters.of_cases(&together.ids, assumed).map_or(assumed, |scatter| scatter.sd)
}

/// A case whose change has a good direction, and is known.
fn part<'a>(case: &'a CaseComparison, known: &'a KnownChange) -> Option<GroupMember<'a>> {
    let Claim { difference, is_from_runs, .. } = known.leading?;
    let cost = match case.better? {
        Better::Lower => difference.logarithm,
        Better::Higher => -difference.logarithm,
        Better::Neither => return None,
    };
    // What a run does not know itself is in what runs differ by, where runs tell that.
    let between = if is_from_runs { (known.in_common.powi(2) - known.own).max(0.0) } else { known.in_common.powi(2) };
    Some(GroupMember { case, known, cost, variance: between * known.sides, neighbours: known.neighbours })
}

/// The parts as the model takes them: the cases of one probe are measured alike.
fn members(parts: &[GroupMember]) -> Vec<Member> {
    let mut probes: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for part in parts {
        let probe = part.case.probe.as_str();
        let cluster = probes.iter().position(|known| *known == probe).unwrap_or_else(|| {
            probes.push(probe);
            probes.len() - 1
        });
        all.push(Member { cluster, logarithm: part.cost, variance: part.variance });
    }
    all
}

fn group(together: &Together, parts: &[GroupMember], found: Pooled, same_within: f64) -> GroupChange {
    let distance = |part: &GroupMember| {
        let apart = (part.cost - found.difference.logarithm).abs();
        apart / (part.variance + found.heterogeneity.powi(2)).sqrt().max(f64::MIN_POSITIVE)
    };
    let mut odd: Vec<(f64, &GroupMember)> = parts.iter().map(|part| (distance(part), part)).collect();
    // One that is as good as its group is not odd, however well it is known.
    let is_apart = |part: &GroupMember| (part.cost - found.difference.logarithm).abs() > same_within.ln_1p();
    odd.retain(|(distance, part)| *distance > ODD && is_apart(part));
    odd.sort_by(|one, other| other.0.total_cmp(&one.0));
    GroupChange {
        name: together.name.clone(),
        title: together.title.clone(),
        cases: parts.len(),
        probes: found.clusters,
        ratio: found.difference.ratio(),
        low: 0.0,
        high: f64::INFINITY,
        adjusted_p_value: 1.0,
        visible: f64::INFINITY,
        heterogeneity: found.heterogeneity,
        verdict: Verdict::Inconclusive,
        odd: odd.into_iter().take(MOST_ODD).map(|(_, part)| part.case.id.clone()).collect(),
    }
}
