//! Makes of the texts of findings (`src/findings/**/<name>.md`) and other long texts, of `terms.md`, of `src/labels/axes.md`, of `src/reasons/errors.md` and of `zh.po` what `texts` has.

use std::path::Path;

use hostmark_texts::{catalogue, fail, keyed, module, outline, read, rows, slice, terms, translated, write};

fn main() {
    let is_remedy = |heading: &str| heading.ends_with("cure");
    let findings = module("findings", &keyed("src/findings", is_remedy));
    let others = ["data_path", "references"].map(|name| module(name, &keyed(&format!("src/{name}"), |_| true)));
    // Where the Chinese is missing, the template itself stands.
    let chinese = catalogue(Path::new("zh.po"))
        .into_iter()
        .filter(|(_, zh)| !zh.is_empty())
        .map(|(en, zh)| format!("({en:?}, {zh:?})"));
    let chinese = slice("CHINESE", "(&str, &str)", chinese);
    let (axes, errors) = (axes(Path::new("src/labels/axes.md")), errors(Path::new("src/reasons/errors.md")));
    let out = [findings, others.concat(), axes, errors, terms("terms.md"), chinese].concat();
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

/// The Chinese of errors of the standard library, and what helps against those of the system by their numbers.
fn errors(path: &Path) -> String {
    let [library, remedies] = ["Library", "Remedies"].map(|heading| section(path, heading));
    let library = translated(path, &library).map(|[en, zh]| format!("({en:?}, {zh:?})"));
    let remedies = translated(path, &remedies).map(|[numbers, zh]| format!("(&[{numbers}], {zh:?})"));
    slice("LIBRARY_ERRORS", "(&str, &str)", library) + &slice("REMEDIES", "(&[u32], &str)", remedies)
}

/// The text below a heading.
fn section(path: &Path, heading: &str) -> String {
    let part = outline(&read(path)).into_iter().find(|part| part.heading == heading);
    part.unwrap_or_else(|| fail(path, &format!("there is no section '{heading}'"))).body
}
