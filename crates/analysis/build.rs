//! Makes of the texts of findings (`src/findings/**/<name>.md`) and other long texts, of `terms.md`, of `src/labels/axes.md`, of `src/reasons/errors.md` and of `zh.po` what `texts` has.

use std::path::Path;

use hostmark_texts::{catalogue, fail, keyed, module, outline, read, rows, slice, terms, translated, write};

fn main() {
    let is_remedy = |heading: &str| heading.ends_with("cure");
    let findings = module("findings", &keyed("src/findings", is_remedy));
    let others = ["data_path", "references"].map(|name| module(name, &keyed(&format!("src/{name}"), |_| true)));
    // Where the Chinese is missing, the template itself stands.
    let errors = Path::new("src/reasons/errors.md");
    let library = section(errors, "Library");
    let library = translated(errors, &library).map(|[en, zh]| (en.to_owned(), zh.to_owned()));
    let mut chinese: Vec<_> = catalogue(Path::new("zh.po")).into_iter().chain(library).collect();
    chinese.sort();
    let chinese = chinese.iter().filter(|(_, zh)| !zh.is_empty()).map(|(en, zh)| format!("({en:?}, {zh:?})"));
    let chinese = slice("CHINESE", "(&str, &str)", chinese);
    let remedies = section(errors, "Remedies");
    let remedies = translated(errors, &remedies).map(|[numbers, zh]| format!("(&[{numbers}], {zh:?})"));
    let remedies = slice("REMEDIES", "(&[i32], &str)", remedies);
    let axes = axes(Path::new("src/labels/axes.md"));
    let out = [findings, others.concat(), axes, remedies, terms("terms.md"), chinese].concat();
    write(&["src", "terms.md", "zh.po"], &format!("pub(crate) use hostmark_model::Text;\n{out}"));
}

/// The Chinese of axes, and of those of their values that are words.
fn axes(path: &Path) -> String {
    let (names, values) = (&section(path, "Names"), &section(path, "Values"));
    let known = rows::<2>(path, names);
    if let Some([axis, value, _]) =
        rows::<3>(path, values).iter().find(|[axis, ..]| known.iter().all(|[name, _]| name != axis))
    {
        fail(path, &format!("'{value}' is a value of '{axis}', which has no name"));
    }
    let names = translated(path, names).map(|[axis, zh]| format!("({axis:?}, {zh:?})"));
    let values = translated(path, values).map(|[axis, value, zh]| format!("({axis:?}, {value:?}, {zh:?})"));
    slice("AXES", "(&str, &str)", names) + &slice("AXIS_VALUES", "(&str, &str, &str)", values)
}

fn section(path: &Path, heading: &str) -> String {
    let part = outline(&read(path)).into_iter().find(|part| part.heading == heading);
    part.unwrap_or_else(|| fail(path, &format!("there is no section '{heading}'"))).body
}
