//! Text files beside the code, in both languages, as build scripts turn them into constants; the formats are in docs/decisions/0063-text-files.md.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// Most words of a text that is the same in both languages: a name, a size.
const NAME_WORDS: usize = 2;

/// A text in English and in Chinese. It displays as the constant expression that makes it a `Text` of `hostmark-model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub en: String,
    /// Simplified Chinese; empty where nobody has translated the text, and English stands in its place.
    pub zh: String,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text {{ en: {:?}, zh: {:?} }}", self.en, self.chinese())
    }
}

impl Pair {
    fn chinese(&self) -> &str {
        if self.zh.is_empty() { &self.en } else { &self.zh }
    }

    /// The macro `name!`, which fills the placeholders in both languages.
    pub fn template(&self, name: &str) -> String {
        let (en, zh) = (&self.en, self.chinese());
        format!(
            "macro_rules! {name} {{ ($($argument:tt)*) => {{ hostmark_model::filled!({en:?}, {zh:?}; $($argument)*) }} }}\npub(crate) use {name};\n"
        )
    }

    /// The rule of `term!` for a key.
    fn arm(&self, key: &str) -> String {
        let holes: String = names(&self.en).unwrap_or_default().iter().map(|name| format!("; ${name}:tt")).collect();
        let part = |(at, part): (usize, &str)| if at % 2 == 0 { format!("{part:?}, ") } else { format!("${part}, ") };
        let whole = |text: &str| text.split(['{', '}']).enumerate().map(part).collect::<String>();
        match holes.is_empty() {
            true => format!("({key}) => {{ $crate::texts::{self} }};\n"),
            false => format!(
                "({key}{holes}) => {{ $crate::texts::Text {{ en: ::std::concat!({}), zh: ::std::concat!({}) }} }};\n",
                whole(&self.en),
                whole(self.chinese())
            ),
        }
    }

    fn checked(self) -> Result<Pair, String> {
        let is_chinese =
            |c: char| matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}');
        match () {
            () if self.en.is_empty() => Err("the English text is missing".to_owned()),
            () if self.en.chars().any(is_chinese) => Err("the English text has Chinese in it".to_owned()),
            () if self.zh.is_empty() => Ok(self),
            () if self.en == self.zh && self.en.split(' ').count() <= NAME_WORDS => Ok(self),
            () if !self.zh.chars().any(is_chinese) => Err("the Chinese text has none".to_owned()),
            () if names(&self.en)? != names(&self.zh)? => Err("the placeholders differ".to_owned()),
            () => Ok(self),
        }
    }
}

/// The names of a template's placeholders, each once, and their formats; or what is wrong with a brace.
pub fn placeholders(template: &str) -> Result<Vec<(String, String)>, String> {
    let (mut found, mut rest): (Vec<(String, String)>, _) = (Vec::new(), template);
    while let Some(at) = rest.find(['{', '}']) {
        let (mark, behind) = rest[at..].split_at(1);
        if behind.starts_with(mark) {
            rest = &behind[1..];
            continue;
        }
        let (inside, after) = behind.split_once('}').filter(|_| mark == "{").ok_or("a brace is not closed")?;
        let (name, format) = inside.split_once(':').unwrap_or((inside, ""));
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("'{{{inside}}}' has no name"));
        }
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), format.to_owned()));
        }
        rest = after;
    }
    Ok(found)
}

fn names(text: &str) -> Result<BTreeSet<String>, String> {
    Ok(placeholders(text)?.into_iter().map(|(name, _)| name).collect())
}

/// A heading and what stands below it, up to the next heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Number of `#`.
    pub level: usize,
    pub heading: String,
    pub body: String,
}

/// The parts of a Markdown text. A text before the first heading belongs to none; a line that begins with `\#` is no heading.
pub fn outline(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        let rest = line.trim_start_matches('#');
        match (line.len() - rest.len(), rest.strip_prefix(' ')) {
            (level @ 1.., Some(heading)) => {
                parts.push(Part { level, heading: heading.trim().to_owned(), body: String::new() })
            }
            _ => {
                let line = line.strip_prefix('\\').filter(|rest| rest.starts_with('#')).unwrap_or(line);
                parts.last_mut().into_iter().for_each(|part| part.body += &format!("{line}\n"));
            }
        }
    }
    parts.iter_mut().for_each(|part| part.body = part.body.trim().to_owned());
    parts
}

/// The rows of the tables in a text, without their heads: a cell in backquotes without these, a bar as `\|`. The build fails where a cell is
/// missing, or one before the last is empty; the last is the Chinese one.
pub fn rows<const CELLS: usize>(path: &Path, body: &str) -> Vec<[String; CELLS]> {
    let cells = |line: &str| -> Vec<String> {
        let inside = line.trim().trim_matches('|').replace("\\|", "\0");
        inside.split('|').map(|cell| unquoted(cell.trim()).replace('\0', "|")).collect()
    };
    let row = |line: &str| {
        let row = <[String; CELLS]>::try_from(cells(line))
            .ok()
            .filter(|row| row[..CELLS - 1].iter().all(|cell| !cell.is_empty()));
        row.unwrap_or_else(|| fail(path, &format!("{CELLS} cells are needed: {line}")))
    };
    body.lines().filter(|line| line.starts_with('|')).skip(2).map(row).collect()
}

/// The rows that have their Chinese.
pub fn translated<const CELLS: usize>(path: &Path, body: &str) -> impl Iterator<Item = [String; CELLS]> {
    rows(path, body).into_iter().filter(|row| !row[CELLS - 1].is_empty())
}

/// Text between two backquotes that have no other between them.
fn unquoted(cell: &str) -> &str {
    let inside = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inside.filter(|inside| !inside.contains('`')).unwrap_or(cell)
}

/// A text file in two halves, English and Chinese. Each half is a title (`# `) and sections (`## `), the same ones in the same order; the
/// second half may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub path: PathBuf,
    /// The headings of its halves.
    pub title: Pair,
    /// Text below the heading of the first half, before its sections.
    pub head: String,
    /// Heading and text of each section.
    pub sections: Vec<(Pair, Pair)>,
}

impl Page {
    /// A page by its text, or what is wrong with it.
    pub fn parsed(path: &Path, text: &str) -> Result<Page, String> {
        let mut parts = outline(text);
        let titles: Vec<usize> = (0..parts.len()).filter(|&index| parts[index].level == 1).collect();
        let without_body = |part: &Part| Part { body: String::new(), ..part.clone() };
        let middle = match titles[..] {
            [0, middle] => middle,
            [0] => {
                parts.extend(parts.iter().map(without_body).collect::<Vec<_>>());
                parts.len() / 2
            }
            _ => return Err("it has not two halves, English and Chinese".to_owned()),
        };
        let ([en_title, en @ ..], [zh_title, zh @ ..]) = parts.split_at(middle) else {
            return Err("it is empty".to_owned());
        };
        if let Some(more) = en.get(zh.len()).or(zh.get(en.len())) {
            return Err(format!("'{}' has no counterpart in the other half", more.heading));
        }
        let pair = |en: &String, zh: &String| Pair { en: en.clone(), zh: zh.clone() };
        let section = |(en, zh): (&Part, &Part)| {
            let body = pair(&en.body, &zh.body).checked().map_err(|what| format!("'{}': {what}", en.heading))?;
            Ok((pair(&en.heading, &zh.heading), body))
        };
        let sections = en.iter().zip(zh).map(section).collect::<Result<_, String>>()?;
        let title = pair(&en_title.heading, &zh_title.heading);
        Ok(Page { path: path.to_owned(), title, head: en_title.body.clone(), sections })
    }

    /// Its file's name without the ending, as a name in Rust.
    pub fn name(&self) -> String {
        identifier(&self.path.file_stem().unwrap_or_default().to_string_lossy())
    }

    /// Fails the build where there is a section of other headings.
    pub fn allow(&self, known: impl IntoIterator<Item = (&'static str, &'static str)>) {
        let known: Vec<_> = known.into_iter().collect();
        let is_unknown = |section: &&(Pair, Pair)| known.iter().all(|(en, zh)| !is_headed(section, en, zh));
        if let Some((heading, _)) = self.sections.iter().find(is_unknown) {
            fail(&self.path, &format!("no page has a section '{}' with its counterpart '{}'", heading.en, heading.zh));
        }
    }

    /// The text below these headings, where there is one.
    pub fn get(&self, en: &str, zh: &str) -> Option<&Pair> {
        self.sections.iter().find(|section| is_headed(section, en, zh)).map(|(_, body)| body)
    }

    /// The text below these headings. Without one the build fails.
    pub fn need(&self, en: &str, zh: &str) -> &Pair {
        self.get(en, zh)
            .unwrap_or_else(|| fail(&self.path, &format!("there is no section '{en}' with its counterpart '{zh}'")))
    }
}

/// Tells whether a section has these headings; the Chinese one says nothing of a section that is not translated.
fn is_headed((heading, body): &(Pair, Pair), en: &str, zh: &str) -> bool {
    heading.en == en && (heading.zh == zh || body.zh.is_empty())
}

/// The entries of a catalogue of translations (gettext's PO): English templates with their Chinese, in the order of the templates; those
/// without Chinese are left out. The build fails where one is there twice or has other placeholders.
pub fn catalogue(path: &Path) -> Vec<(String, String)> {
    entries_of(&read(path)).unwrap_or_else(|what| fail(path, &what))
}

fn entries_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut entries, mut is_chinese): (Vec<(String, String)>, _) = (Vec::new(), false);
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, quoted) = line.split_once('"').ok_or_else(|| format!("this is no line of a catalogue: {line}"))?;
        let quoted = quoted.strip_suffix('"').ok_or_else(|| format!("a quote is missing: {line}"))?;
        match word.trim() {
            "msgid" => {
                entries.push(Default::default());
                is_chinese = false;
            }
            "msgstr" => is_chinese = true,
            "" => {}
            _ => return Err(format!("'{word}' is not used here: {line}")),
        }
        let (en, zh) = entries.last_mut().ok_or_else(|| format!("there is no msgid before it: {line}"))?;
        let part = quoted.replace("\\\\", "\0").replace("\\n", "\n").replace("\\\"", "\"").replace('\0', "\\");
        if is_chinese { zh } else { en }.push_str(&part);
    }
    // The first is the catalogue's own head.
    entries.retain(|(en, _)| !en.is_empty());
    entries.sort();
    let is_wrong = |(en, zh): &&(String, String)| !zh.is_empty() && (names(en).is_err() || names(en) != names(zh));
    if let Some((en, _)) = entries.iter().find(is_wrong) {
        return Err(format!("'{en}' has other placeholders, or a brace that is not closed"));
    }
    if let Some([(en, _), _]) =
        entries.windows(2).find_map(|two| <&[_; 2]>::try_from(two).ok().filter(|[one, other]| one.0 == other.0))
    {
        return Err(format!("'{en}' is there twice"));
    }
    entries.retain(|(_, zh)| !zh.is_empty());
    Ok(entries)
}

/// A heading or a file's name as a name in Rust.
pub fn identifier(text: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    text.chars().map(letter).collect()
}

/// The pages of a folder (not of those in it), by name. The build fails where one is not whole.
pub fn pages(folder: &str) -> Vec<Page> {
    let page = |path: &PathBuf| Page::parsed(path, &read(path)).unwrap_or_else(|what| fail(path, &what));
    let mut paths: Vec<PathBuf> =
        entries(folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    paths.sort();
    paths.iter().map(page).collect()
}

/// The folders in a folder, by name.
pub fn folders(folder: &str) -> Vec<String> {
    let mut all: Vec<String> =
        entries(folder).iter().filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect();
    all.sort();
    all
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).unwrap_or_else(|error| fail(Path::new(folder), &error.to_string()));
    all.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// A file's text.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| fail(path, &error.to_string()))
}

/// Writes the module of texts, and has cargo run the build script again when something in these folders changes. A list of the files would
/// miss a new one; a file of code that changes there has its crate compiled in any case.
#[expect(clippy::print_stdout, reason = "a build script speaks to cargo so")]
pub fn write(folders: &[&str], module: &str) {
    folders.iter().for_each(|folder| println!("cargo::rerun-if-changed={folder}"));
    let path = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("texts.rs");
    fs::write(&path, module).unwrap_or_else(|error| fail(&path, &error.to_string()));
}

/// Ends the build with what is wrong with a file.
#[expect(clippy::print_stdout, reason = "a build script speaks to cargo so")]
pub fn fail(path: &Path, what: &str) -> ! {
    println!("cargo::error={}: {what}", path.display());
    process::exit(1)
}

/// The modules of a folder's pages, and of those in its folders: a section is a constant of its heading, or the macro that fills it.
pub fn keyed(folder: &str, is_constant: fn(&str) -> bool) -> String {
    let section = |page: &Page, (heading, body): &(Pair, Pair)| {
        if heading.en != heading.zh {
            fail(&page.path, &format!("'{}' is called '{}' in the other half", heading.en, heading.zh));
        }
        match is_constant(&heading.en) {
            true => format!("pub const {}: Text = {body};\n", identifier(&heading.en).to_uppercase()),
            false => body.template(&identifier(&heading.en)),
        }
    };
    let of_page =
        |page: &Page| module(&page.name(), &page.sections.iter().map(|part| section(page, part)).collect::<String>());
    let inside = folders(folder).into_iter().map(|folder| {
        let name = identifier(folder.rsplit('/').next().unwrap_or_default());
        let inside = keyed(&folder, is_constant);
        if inside.is_empty() { inside } else { module(&name, &inside) }
    });
    pages(folder).iter().map(of_page).chain(inside).collect()
}

/// The macro `term!` of a file of terms: `term!("mean")` is the `Text` of a row before the first section, `term!("mean", "column")` of one in
/// the section `## column`, and `term!("process {n}"; 2)` of one with a placeholder for a literal. A cell has `\n` for a new line. The compiler finds a term without a row and
/// a row without a term.
pub fn terms(path: &str) -> String {
    let path = Path::new(path);
    let mut arms = BTreeMap::new();
    for part in outline(&read(path)) {
        let context = if part.level == 1 { String::new() } else { format!(", {:?}", part.heading) };
        for [en, zh] in rows(path, &part.body) {
            let [en, zh] = [en, zh].map(|cell| cell.replace("\\n", "\n"));
            let key = format!("{en:?}{context}");
            let pair = Pair { en, zh }.checked().unwrap_or_else(|what| fail(path, &format!("{key}: {what}")));
            if arms.insert(key.clone(), pair.arm(&key)).is_some() {
                fail(path, &format!("{key} is there twice"));
            }
        }
    }
    let arms: String = arms.into_values().collect();
    let other = "($($term:tt)*) => { ::std::compile_error!(::std::concat!(\"terms.md has no \", ::std::stringify!($($term)*))) };\n";
    format!("#[warn(unused_macro_rules)]\nmacro_rules! term {{\n{arms}{other}}}\n")
}

/// The line of Rust that declares a constant slice.
pub fn slice(name: &str, kind: &str, items: impl Iterator<Item = String>) -> String {
    format!("pub const {name}: &[{kind}] = &[{}];\n", items.collect::<Vec<_>>().join(", "))
}

pub fn module(name: &str, inside: &str) -> String {
    let mut out = String::new();
    // What has macros alone needs no `Text`.
    let import = if inside.contains(": Text") { "use super::*;\n" } else { "" };
    let _ = write!(out, "pub(crate) mod {name} {{\n{import}{inside}}}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# Pipe\n\n## What\n\nA byte in {ns}.\n\nMore.\n\n# 管道\n\n## 做什么\n\n一个字节 {ns:.1}。\n";

    #[test]
    fn a_page_is_two_halves_with_the_same_sections() {
        let page = Page::parsed(Path::new("ipc/pipe-a.md"), WHOLE).unwrap();
        assert_eq!(page.name(), "pipe_a");
        assert_eq!(page.need("What", "做什么").en, "A byte in {ns}.\n\nMore.");
        assert_eq!(outline("# A\n\n\\# b\n")[0].body, "# b");
        assert_eq!(page.title.to_string(), "Text { en: \"Pipe\", zh: \"管道\" }");
    }

    #[test]
    fn a_page_that_lacks_something_is_none() {
        for (from, to) in [
            ("# 管道\n", ""),
            ("## 做什么", "# 做什么"),
            ("一个字节 {ns:.1}。\n", "A byte in {ns}."),
            ("一个字节", "一个字节 {of}"),
            ("A byte", "一 byte"),
            ("\n## 做什么\n\n一个字节 {ns:.1}。\n", ""),
            ("# Pipe", "# Pipe\n\n## Title"),
        ] {
            assert!(Page::parsed(Path::new("pipe.md"), &WHOLE.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn what_is_not_translated_is_english() {
        let half = WHOLE.split_once("\n# 管道").unwrap().0;
        for text in [half, &WHOLE.replace("一个字节 {ns:.1}。\n", "")] {
            let page = Page::parsed(Path::new("pipe.md"), text).unwrap();
            let body = page.need("What", "做什么");
            assert_eq!((body.zh.as_str(), body.chinese()), ("", "A byte in {ns}.\n\nMore."));
        }
        let table = "| en | zh |\n|---|---|\n| a | 甲 |\n| b | |\n";
        assert_eq!(rows(Path::new("a.md"), table), [["a", "甲"], ["b", ""]]);
        assert_eq!(translated(Path::new("a.md"), table).collect::<Vec<_>>(), [["a", "甲"]]);
        assert_eq!(entries_of("msgid \"a\"\nmsgstr \"\"\n").unwrap(), []);
    }

    #[test]
    fn a_catalogue_has_each_template_once_with_its_placeholders() {
        let whole = "msgid \"\"\nmsgstr \"head\"\n\n# A file.\nmsgid \"{n:turn} in \"\n\"{file}\"\nmsgstr \"{file} \\\"{n}\\\" \\n次\"\n";
        let entries = entries_of(whole).unwrap();
        assert_eq!(entries, [("{n:turn} in {file}".to_owned(), "{file} \"{n}\" \n次".to_owned())]);
        for wrong in [
            whole.replace("{n}", "{m}"),
            whole.replace("msgid \"{n", "msgctxt \"{n"),
            format!("{whole}\n{}", whole.split_once("# A file.\n").unwrap().1),
            "msgid \"{n} {\"\nmsgstr \"次\"\n".to_owned(),
        ] {
            assert!(entries_of(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_table_is_its_rows() {
        let table = "Before.\n\n| a | b |\n|---|---|\n| `x \\| y` | see `z` |\n| `x` or `y` | ` z` |\n";
        assert_eq!(rows(Path::new("a.md"), table), [["x | y", "see `z`"], ["`x` or `y`", " z"]]);
    }
}
