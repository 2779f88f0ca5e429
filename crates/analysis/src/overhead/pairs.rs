//! Every case that several environments measured, over itself in the first; or all cases of a group over a named one.

use std::collections::{HashMap, HashSet};

use hostmark_model::{CaseRecord, Message};
use hostmark_say::say;
use hostmark_stats::compare::benjamini_hochberg;

use super::value::{ComparableValue, middle};
use super::{Environment, Row, Table, environment, sheet, stream, value};
use crate::difference::FALSE_DISCOVERIES;
use crate::propagated::Propagated;
use crate::typography::COMMA;

/// The measured case of an environment that a person named; or a sentence.
pub(super) fn base<'a>(first: &Environment<'a>, id: &str) -> Result<&'a CaseRecord, String> {
    let cases = || first.runs.iter().flat_map(|run| &run.cases);
    // A probe's name alone means its first case.
    let found = cases()
        .find(|case| case.id == id || first.typed_id(&case.id) == id)
        .or_else(|| cases().find(|case| case.probe == id));
    let Some(case) = found else {
        return Err(format!("--base {id}: {} has no such case; give a case id that it measured", first.name));
    };
    match case.measured() {
        Some(_) => Ok(case),
        None => Err(format!("--base {id}: {} has no value of it; give a case that was measured", first.name)),
    }
}

/// Ids of measured cases of an environment that `wanted` picks, each once.
fn ids<'a>(environment: &Environment<'a>, wanted: impl Fn(&CaseRecord) -> bool) -> Vec<&'a str> {
    let mut seen: HashSet<&str> = HashSet::new();
    let cases = environment.runs.iter().flat_map(|run| &run.cases);
    let ids = cases.filter(|case| case.measured().is_some() && wanted(case)).map(|case| case.id.as_str());
    ids.filter(|id| seen.insert(id)).collect()
}

/// Every case that the first and another environment measured, by group, the costliest first; none for one environment.
pub(super) fn tables(environments: &[Environment], all: bool) -> Option<Table> {
    let (first, others) = environments.split_first()?;
    let is_elsewhere = |id: &&str| others.iter().any(|other| ComparableValue::of(other, id).is_ok());
    let is_wanted = |case: &CaseRecord| !sheet::is_part(case) && !stream::is_part(&case.probe);
    let ids: Vec<&str> = ids(first, is_wanted).into_iter().filter(is_elsewhere).collect();
    if ids.is_empty() {
        return None;
    }
    let over = say!("over {name}", name = first.name);
    let columns = others.iter().flat_map(|other| [Message::plain(other.name), over.clone()]);
    let mut table = Table {
        title: say!("Every case that was measured in several environments, over {name}", name = first.name),
        columns: std::iter::once(Message::plain(first.name)).chain(columns).chain(of_control(first)).collect(),
        ..Table::default()
    };
    let equal = others.iter().map(|other| equal(first, other, &ids)).collect::<Vec<_>>();
    for (ids, head) in groups(first, others, &ids) {
        table.rows.push(Row { label: head, cells: Vec::new() });
        for id in ids {
            let row = row(&mut table, environments, &equal, id, all);
            table.rows.extend(row);
        }
    }
    Some(table)
}

/// The cases of `ids` whose values in another environment may be those of the first: adjusted for all of them, as a comparison is.
fn equal<'a>(first: &Environment, other: &Environment, ids: &[&'a str]) -> HashSet<&'a str> {
    let p_equal = |id: &&'a str| {
        let (base, value) = (ComparableValue::of(first, id).ok()?, ComparableValue::of(other, id).ok()?);
        compared(first, other, id, &value, &base).is_ok().then(|| (*id, value.p_equal(&base)))
    };
    let (shown, p_values): (Vec<&str>, Vec<f64>) = ids.iter().filter_map(p_equal).unzip();
    let adjusted = benjamini_hochberg(&p_values);
    shown.into_iter().zip(adjusted).filter(|(_, p)| *p > FALSE_DISCOVERIES).map(|(id, _)| id).collect()
}

/// A case in every environment, each but the first over the first.
fn row(table: &mut Table, environments: &[Environment], equal: &[HashSet<&str>], id: &str, all: bool) -> Option<Row> {
    let (first, others) = environments.split_first()?;
    let (label, base) = (Message::plain(first.typed_id(id)), ComparableValue::of(first, id).ok()?);
    let distance = value::control_distance(&base);
    let mut cells = vec![base.text()];
    for (other, equal) in others.iter().zip(equal) {
        match ComparableValue::of(other, id) {
            Err(why) => cells.extend([table.lacking(why, other.name, &label), Message::plain("–")]),
            Ok(value) => {
                let over = compared(first, other, id, &value, &base);
                let over = over.map(|fraction| value::beside_control(&fraction, equal.contains(id), distance, all));
                cells.extend([value.text(), over.unwrap_or_else(|why| table.lacking(why, other.name, &label))]);
            }
        }
    }
    cells.extend(value::has_control(first).then(|| value::control_cell(distance)));
    Some(Row { label, cells })
}

fn group_of(id: &str) -> &str {
    id.split(['.', '@']).next().unwrap_or_default()
}

/// The groups of `ids` with their heads, the one that pays most first; those of which that is not told come last, in order.
fn groups<'a>(first: &Environment, others: &[Environment], ids: &[&'a str]) -> Vec<(Vec<&'a str>, Message)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for id in ids {
        let place = *places.entry(group_of(id)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, known)) => known.push(id),
            None => groups.push((group_of(id), vec![id])),
        }
    }
    let shown = |(group, ids): (&'a str, Vec<&'a str>)| {
        let each = || others.iter().filter_map(|other| Some((other, longer(first, other, &ids)?)));
        // What has all of its machine is not what a reader looks for.
        let most = each().filter(|(other, _)| !other.is_free()).map(|(_, cost)| cost).fold(f64::NEG_INFINITY, f64::max);
        let shown: Vec<String> = each().map(|(other, cost)| format!("{} {}", other.name, super::over(cost))).collect();
        let head = match shown.is_empty() {
            true => Message::plain(group),
            false => {
                let shown = Message::joined(shown, COMMA);
                say!("{group}: median of its cases, in time: {shown}")
            }
        };
        (most, ids, head)
    };
    let mut groups: Vec<_> = groups.into_iter().map(shown).collect();
    groups.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    groups.into_iter().map(|(_, ids, head)| (ids, head)).collect()
}

/// Median fraction by which comparable cases take longer; rates as times.
fn longer(first: &Environment, other: &Environment, ids: &[&str]) -> Option<f64> {
    let ratio = |id: &&str| {
        let (base, value) = (ComparableValue::of(first, id).ok()?, ComparableValue::of(other, id).ok()?);
        let is_shown = compared(first, other, id, &value, &base).is_ok() && value.is_cost() && value.value > 0.0;
        is_shown.then(|| value.time().value / base.time().value)
    };
    middle(ids.iter().filter_map(ratio)).map(|ratio| ratio - 1.0)
}

/// Fraction by which a case lies over the same one in the first environment; or the reason why that would say nothing.
pub(super) fn compared(
    first: &Environment,
    other: &Environment,
    id: &str,
    value: &ComparableValue,
    base: &ComparableValue,
) -> Result<Propagated, Message> {
    value.over_alike(base)?;
    match environment::unlike_by_id(first, other, id) {
        Some(why) => Err(why),
        None => value.over(base),
    }
}

/// The head of the column of controls, where there are any.
fn of_control(first: &Environment) -> Option<Message> {
    value::has_control(first).then(|| value::CONTROL_TITLE.into())
}

/// All cases of the group of `base` with its unit, over `base`, in every environment.
pub(super) fn over(environments: &[Environment], base: &CaseRecord, all: bool) -> Option<Table> {
    let first = environments.first()?;
    let value = ComparableValue::of(first, &base.id).ok()?;
    let is_wanted = |case: &CaseRecord| group_of(&case.probe) == group_of(&base.probe);
    let mut rows = Vec::new();
    for id in ids(first, is_wanted) {
        let Ok(here) = ComparableValue::of(first, id) else { continue };
        if here.unit != value.unit {
            continue;
        }
        let distance = value::control_distance(&here);
        let over = |of: &ComparableValue| match of.over(&value) {
            Ok(fraction) => value::beside_control(&fraction, of.may_equal(&value), distance, all),
            Err(why) => why,
        };
        let mut cells = vec![here.text(), over(&here)];
        for other in &environments[1..] {
            let there = ComparableValue::of(other, id);
            cells.push(there.as_ref().map_or_else(Clone::clone, ComparableValue::text));
            cells.push(there.as_ref().map_or_else(|_| Message::plain("–"), over));
        }
        cells.extend(value::has_control(first).then(|| value::control_cell(distance)));
        rows.push(Row { label: Message::plain(first.typed_id(id)), cells });
    }
    let id = first.typed_id(&base.id);
    let over = Message::from(term!("over the base"));
    Some(Table {
        title: say!("Over {id} of {name} ({value})", name = first.name, value = value.text()),
        columns: (environments.iter().flat_map(|environment| [Message::plain(environment.name), over.clone()]))
            .chain(of_control(first))
            .collect(),
        rows,
        ..Table::default()
    })
}
