//! Makes of the text files of the help (`src/help/*.md`) and of the settings to try (`src/command/tuning/*.md`) what `texts` has, and of `terms.md` the macro `term!`.

use std::fmt::Write as _;
use std::path::Path;

use hostmark_texts::{Page, Pair, Part, fail, module, outline, pages, read, rows, slice, terms, translated, write};

fn main() {
    link_at_a_fixed_address();
    let help = [
        details(Path::new("src/help/en.md")),
        chinese(Path::new("src/help/zh.md")),
        words(Path::new("src/help/words.md")),
    ]
    .concat()
        + &examples(Path::new("src/help/examples.md"))
        + &topics(Path::new("src/help/topics.md"));
    let settings: String = pages("src/command/tuning").iter().map(setting).collect();
    let out = [module("help", &help), module("tuning", &settings), terms("terms.md")].concat();
    write(&["src/help", "src/command/tuning", "terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{out}"));
}

/// Links the programs at a fixed address where the C library is glibc: each round starts a process, and a program that may lie anywhere
/// corrects 127,000 pointers first, which takes over half of its start (docs/decisions/0067).
fn link_at_a_fixed_address() {
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// A text's parts below its title.
fn parts(path: &Path) -> Vec<Part> {
    outline(&read(path)).into_iter().filter(|part| part.level > 1).collect()
}

/// A command's path by its heading; the program's own is empty.
fn command(heading: &str) -> &str {
    if heading == "hostmark" { "" } else { heading }
}

/// Details that `--help` adds to an argument's line, which is the doc comment of its field.
fn details(path: &Path) -> String {
    let (mut of, mut all) = (String::new(), Vec::new());
    for Part { level, heading, body } in parts(path) {
        match level {
            2 => command(&heading).clone_into(&mut of),
            _ => all.push(format!("({of:?}, {heading:?}, {body:?})")),
        }
    }
    slice("DETAILS", "(&str, &str, &str)", all.into_iter())
}

/// The Chinese of each command, argument and value; the English is in the doc comments of the command line's types, and in `en.md`.
fn chinese(path: &Path) -> String {
    let (mut about, mut commands, mut arguments, mut values) = ("", Vec::new(), Vec::new(), Vec::new());
    let (mut of, parts) = ("", parts(path));
    for part in &parts {
        let text = part.body.split("\n\n|").next().unwrap_or_default();
        if text.is_empty() {
            fail(path, &format!("'{}' has no text", part.heading));
        }
        match (part.level, part.heading.as_str()) {
            (2, "hostmark") => about = text,
            (2, heading) => commands.push(format!("({heading:?}, {text:?})")),
            (_, heading) => arguments.push(format!("({of:?}, {heading:?}, {text:?})")),
        }
        match part.level {
            2 => of = command(&part.heading),
            _ => values.extend(
                translated(path, &part.body)
                    .map(|[value, zh]| format!("({of:?}, {:?}, {value:?}, {zh:?})", part.heading)),
            ),
        }
    }
    let strings = |count| format!("({})", ["&str"].repeat(count).join(", "));
    format!("pub const ABOUT: &str = {about:?};\n")
        + &slice("COMMANDS", &strings(2), commands.into_iter())
        + &slice("ARGUMENTS", &strings(3), arguments.into_iter())
        + &slice("VALUES", &strings(4), values.into_iter())
}

/// Headings, and what stands for a value.
fn words(path: &Path) -> String {
    let parts = parts(path);
    let of = |heading: &str| {
        let part = parts.iter().find(|part| part.heading == heading);
        translated(path, &part.unwrap_or_else(|| fail(path, &format!("there is no section '{heading}'"))).body)
    };
    let headings = of("Headings").map(|[en, zh]| Pair { en, zh }.to_string());
    let names = of("Value names").map(|[en, zh]| format!("({en:?}, {zh:?})"));
    slice("HEADINGS", "Text", headings) + &slice("VALUE_NAMES", "(&str, &str)", names)
}

fn examples(path: &Path) -> String {
    let of_command = |part: Part| {
        rows(path, &part.body).into_iter().map(move |[line, en, zh]| {
            let what = Pair { en, zh };
            format!("crate::help::Example {{ path: {:?}, line: {line:?}, what: {what} }}", command(&part.heading))
        })
    };
    slice("EXAMPLES", "crate::help::Example", parts(path).into_iter().flat_map(of_command))
}

/// A constant for each topic, by its English heading.
fn topics(path: &Path) -> String {
    let mut out = String::new();
    for part in parts(path) {
        let (en, zh) =
            part.heading.split_once(" · ").unwrap_or_else(|| fail(path, &format!("'{}' has no Chinese", part.heading)));
        let heading = Pair { en: en.into(), zh: zh.into() };
        let rows = rows(path, &part.body).into_iter().map(|[term, en, zh]| format!("({term:?}, {})", Pair { en, zh }));
        let (name, rows) = (en.to_uppercase().replace(' ', "_"), rows.collect::<Vec<_>>().join(", "));
        let _ = writeln!(
            out,
            "pub const {name}: crate::help::WholeTopic = crate::help::WholeTopic {{ heading: {heading}, rows: &[{rows}] }};"
        );
    }
    out
}

fn setting(page: &Page) -> String {
    let need = |key: &'static str| page.need(key, key);
    page.allow(["what", "makes", "does not change", "without", "with", "permanent"].map(|key| (key, key)));
    format!(
        "pub const {name}: crate::command::tuning::TuningTexts = crate::command::tuning::TuningTexts {{ what: {}, makes: [{}, {}], sides: [{}, {}], permanent: {} }};\n",
        need("what"),
        need("makes"),
        need("does not change"),
        need("without"),
        need("with"),
        need("permanent"),
        name = page.name().to_uppercase(),
    )
}
