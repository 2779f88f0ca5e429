//! Every case that several environments measured, over itself in the first; or all cases of a group over a named one.

use hostmark_model::{CaseRecord, Text};

use super::control::Control;
use super::value::Value;
use super::{Environment, Row, Table, alike, control, family, stream};
use crate::bilingual::same;
use crate::joined::Joined;

/// The measured case of an environment that a person named; or a sentence.
pub(super) fn base<'a>(first: &Environment<'a>, id: &str) -> Result<&'a CaseRecord, String> {
    let cases = || first.runs.iter().flat_map(|run| &run.cases);
    // A probe's name alone means its first case.
    let found = cases().find(|case| case.id == id).or_else(|| cases().find(|case| case.probe == id));
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
    let mut ids: Vec<&str> = Vec::new();
    for case in environment.runs.iter().flat_map(|run| &run.cases) {
        if case.measured().is_some() && wanted(case) && !ids.contains(&case.id.as_str()) {
            ids.push(&case.id);
        }
    }
    ids
}

/// Every case that the first and another environment measured; none where there is one environment.
pub(super) fn tables(environments: &[Environment], control: &Control, all: bool) -> Option<Table> {
    let (first, others) = environments.split_first()?;
    let is_elsewhere = |id: &str| others.iter().any(|other| Value::of(other, id).is_ok());
    let is_wanted = |case: &CaseRecord| !family::is_part(case) && !stream::is_part(&case.probe);
    let row = |id: &str| {
        let base = Value::of(first, id).ok()?;
        let difference = control.difference(id, false);
        let mut cells = vec![base.text()];
        for other in others {
            let value = Value::of(other, id);
            cells.push(value.as_ref().map_or_else(Clone::clone, Value::text));
            cells.push(match value {
                Err(_) => same("–"),
                Ok(value) => match compared(first, other, id, &value, &base) {
                    Ok(fraction) => control.beside((fraction, value.may_equal(&base)), difference, all),
                    Err(why) => why,
                },
            });
        }
        cells.extend(control.is_there().then(|| control::cell(difference)));
        Some(Row { label: same(id), cells })
    };
    let rows: Vec<Row> = ids(first, is_wanted).into_iter().filter(|id| is_elsewhere(id)).filter_map(row).collect();
    let columns = others.iter().flat_map(|other| {
        let over = Text { en: format!("over {}", first.name), zh: format!("相对 {}", first.name) };
        [same(other.name), over]
    });
    (!rows.is_empty()).then(|| Table {
        title: Text {
            en: format!("Every case that was measured in several environments, over {}", first.name),
            zh: format!("多个环境都测量过的每个用例，基准为 {}", first.name),
        },
        columns: std::iter::once(same(first.name)).chain(columns).chain(of_control(control)).collect(),
        rows,
        ..Table::default()
    })
}

/// By what fraction a case lies over the same one in the first environment; or why that would say nothing.
pub(super) fn compared(
    first: &Environment,
    other: &Environment,
    id: &str,
    value: &Value,
    base: &Value,
) -> Result<Joined, Text<String>> {
    value.over_alike(base)?;
    match alike::unlike_by_id(first, other, id) {
        Some(why) => Err(why),
        None => value.over(base),
    }
}

/// The head of the column of controls, where there are any.
fn of_control(control: &Control) -> Option<Text<String>> {
    control.is_there().then(|| control::TITLE.to_owned_text())
}

/// All cases of the group of `base` with its unit, over `base`, in every environment.
pub(super) fn over(environments: &[Environment], base: &CaseRecord, control: &Control, all: bool) -> Option<Table> {
    let first = environments.first()?;
    let value = Value::of(first, &base.id).ok()?;
    let group = |probe: &str| probe.split('.').next().unwrap_or_default().to_owned();
    let is_wanted = |case: &CaseRecord| group(&case.probe) == group(&base.probe);
    let mut rows = Vec::new();
    for id in ids(first, is_wanted) {
        let Ok(here) = Value::of(first, id) else { continue };
        if here.unit != value.unit {
            continue;
        }
        let difference = control.difference(id, false);
        let over = |of: &Value| match of.over(&value) {
            Ok(fraction) => control.beside((fraction, of.may_equal(&value)), difference, all),
            Err(why) => why,
        };
        let mut cells = vec![here.text(), over(&here)];
        for other in &environments[1..] {
            let there = Value::of(other, id);
            cells.push(there.as_ref().map_or_else(Clone::clone, Value::text));
            cells.push(there.as_ref().map_or_else(|_| same("–"), over));
        }
        cells.extend(control.is_there().then(|| control::cell(difference)));
        rows.push(Row { label: same(id), cells });
    }
    let over = Text { en: "over the base".to_owned(), zh: "相对基准".to_owned() };
    Some(Table {
        title: Text {
            en: format!("Over {} of {} ({})", base.id, first.name, value.text().en),
            zh: format!("基准为 {} 的 {}（{}）", first.name, base.id, value.text().zh),
        },
        columns: (environments.iter().flat_map(|environment| [same(environment.name), over.clone()]))
            .chain(of_control(control))
            .collect(),
        rows,
        ..Table::default()
    })
}
