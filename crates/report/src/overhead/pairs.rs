//! Every case that several environments measured, over itself in the first; or all cases of a group over a named one.

use hostmark_model::{CaseRecord, Text};

use super::value::Value;
use super::{Environment, Row, Table, cell_over, family, stream};
use crate::bilingual::same;

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
pub(super) fn tables(environments: &[Environment], all: bool) -> Option<Table> {
    let (first, others) = environments.split_first()?;
    let is_elsewhere = |id: &str| others.iter().any(|other| Value::of(other, id).is_ok());
    let is_wanted = |case: &CaseRecord| !family::is_part(case) && !stream::is_part(&case.probe);
    let row = |id: &str| {
        let base = Value::of(first, id).ok()?;
        let mut cells = vec![base.text()];
        for other in others {
            let value = Value::of(other, id);
            cells.push(value.as_ref().map_or_else(Clone::clone, Value::text));
            cells.push(match value.as_ref().map(|value| value.over_alike(&base)) {
                Ok(Err(why)) => why,
                _ => cell_over(&value.map_err(|_| same("–")), &base, all),
            });
        }
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
        columns: std::iter::once(same(first.name)).chain(columns).collect(),
        rows,
        ..Table::default()
    })
}

/// All cases of the group of `base` with its unit, over `base`, in every environment.
pub(super) fn over(environments: &[Environment], base: &CaseRecord, all: bool) -> Option<Table> {
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
        let mut cells = vec![here.text(), cell_over(&Ok(here), &value, all)];
        for other in &environments[1..] {
            let there = Value::of(other, id);
            cells.push(there.as_ref().map_or_else(Clone::clone, Value::text));
            cells.push(cell_over(&there.map_err(|_| same("–")), &value, all));
        }
        rows.push(Row { label: same(id), cells });
    }
    let over = Text { en: "over the base".to_owned(), zh: "相对基准".to_owned() };
    Some(Table {
        title: Text {
            en: format!("Over {} of {} ({})", base.id, first.name, value.text().en),
            zh: format!("基准为 {} 的 {}（{}）", first.name, base.id, value.text().zh),
        },
        columns: environments.iter().flat_map(|environment| [same(environment.name), over.clone()]).collect(),
        rows,
        ..Table::default()
    })
}
