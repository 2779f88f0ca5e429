//! Runs and cases as a person types them: several runs by a list, a pattern or a directory, cases by filters beside them, and what a
//! run that goes on needs typed again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::format::unit_name;
use hostmark_engine::plan;
use hostmark_launch::transport::TCP;
use hostmark_model::{CaseRecord, Elsewhere, Exit, Inputs, Params, PathBytes, PrintedUnit, Run, typed_value};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use crate::command::EndsWith;
use crate::language::refuse;
use crate::{language, store};

/// Filters; without one, all cases.
#[derive(Debug, Default)]
pub struct Chosen(Vec<String>);

/// The arguments that name runs, and those that name cases and no run.
pub fn parted(arguments: &[String]) -> (Vec<String>, Chosen) {
    let is_run = |argument: &str| {
        let runs = argument.split_once('=').map_or(argument, |(_, runs)| runs);
        [argument, runs].into_iter().any(|name| files(name).is_ok())
    };
    // Probes of other tools are in no catalogue.
    let is_like_a_probe = |name: &str| {
        name.contains('.') && !name.contains('/') && ![".json", ".json.gz"].iter().any(|end| name.ends_with(end))
    };
    let names_cases = |argument: &String| {
        let name = probe_of(argument);
        (is_known(name) || is_like_a_probe(name)) && !is_run(argument)
    };
    let (cases, runs) = arguments.iter().cloned().partition(names_cases);
    (runs, Chosen(cases))
}

impl Chosen {
    /// Leaves of the runs only these cases, and nothing that was said of others. An error where a filter picks none of any run.
    pub fn narrow<'a>(&self, runs: impl Iterator<Item = &'a mut Run>) -> Result<()> {
        let runs: Vec<&mut Run> = runs.collect();
        for filter in &self.0 {
            if !runs.iter().any(|run| run.cases.iter().any(|case| picks(run, filter, case))) {
                return Err(none_of(filter));
            }
        }
        if self.0.is_empty() {
            return Ok(());
        }
        for run in runs {
            let mut cases = std::mem::take(&mut run.cases);
            cases.retain(|case| self.0.iter().any(|filter| picks(run, filter, case)));
            run.probes.retain(|probe| cases.iter().any(|case| case.probe == probe.id));
            run.cases = cases;
            run.findings.clear();
        }
        Ok(())
    }
}

fn none_of(filter: &str) -> anyhow::Error {
    let sentence = say!("there is no case {filter} in what was measured; hostmark report RUN --full lists all that is");
    match store::find(filter) {
        Err(no_run) if !is_known(probe_of(filter)) => no_run,
        _ => EndsWith(Exit::NothingSelected, sentence).into(),
    }
}

/// The name before a filter's axes.
fn probe_of(filter: &str) -> &str {
    filter.split_once('@').map_or(filter, |(name, _)| name)
}

/// Tells whether it is the name of a group, a probe or a program of lmbench.
fn is_known(name: &str) -> bool {
    plan::pick(CATALOGUE, &[name.to_owned()]).is_ok()
}

/// Tells whether a filter of a run's cases, as `hostmark run` takes it, picks this one.
fn picks(run: &Run, filter: &str, case: &CaseRecord) -> bool {
    let (name, axes) = filter.split_once('@').unwrap_or((filter, ""));
    let probe = run.probes.iter().find(|probe| probe.id == case.probe);
    let is_named = case.probe == name
        || case.probe.split_once('.').is_some_and(|(group, _)| group == name)
        || probe.is_some_and(|probe| probe.replaces.iter().any(|program| program == name));
    let typed = |axis: &str, value: &str| {
        let axis = probe.and_then(|probe| probe.axes.iter().find(|known| known.name == axis));
        axis.map_or_else(|| value.to_owned(), |axis| typed_value(axis.kind, value))
    };
    let has = |pair: &str| {
        let Some((axis, wanted)) = pair.split_once('=') else { return false };
        case.params.get(axis).is_some_and(|value| value == wanted || typed(axis, value) == wanted)
    };
    is_named && axes.split(',').filter(|pair| !pair.is_empty()).all(has)
}

/// The value of one case of a run, to six digits: in `unit` as a number alone, or in the base unit with its name behind it. Of a probe,
/// that of its default case.
pub fn number(run: &Run, filter: &str, unit: Option<&PrintedUnit>) -> Result<String> {
    let picked: Vec<&CaseRecord> = run.cases.iter().filter(|case| picks(run, filter, case)).collect();
    let case = match picked.as_slice() {
        [] => return Err(none_of(filter)),
        [only] => only,
        // Run files keep catalogue order, a probe's default case first.
        [first, ..] if first.probe == filter || is_of_one_way(run, filter, &first.params) => first,
        [first, ..] => {
            let (count, first) = (picked.len(), run.typed_id(&first.id));
            refuse!("--get {filter} means {count} cases; name one, as {first}")
        }
    };
    let (id, name) = (run.typed_id(&case.id), &run.name);
    let Some(measured) = case.measured() else {
        let sentence = say!("{id} has no value in {name}; hostmark report {name} {id} tells why");
        return Err(EndsWith(Exit::NothingSelected, sentence).into());
    };
    let stored = run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.unit);
    match unit {
        Some(unit) if stored != Some(unit.stored) => {
            refuse!("{id} cannot be told in {unit}; leave --unit out for its base unit", unit = unit.name)
        }
        Some(unit) => Ok(six_digits(measured.estimate.value() / unit.factor)),
        None => {
            let name = stored.map_or("", |unit| unit_name(unit).en);
            Ok(format!("{} {name}", six_digits(measured.estimate.value())).trim_end().to_owned())
        }
    }
}

/// True where a filter names only the first axis of a probe, and a point is at the defaults of the others.
fn is_of_one_way(run: &Run, filter: &str, point: &Params) -> bool {
    let probe = run.probes.iter().find(|probe| probe.id == probe_of(filter));
    let Some([way, others @ ..]) = probe.map(|probe| &probe.axes[..]) else { return false };
    let is_way = |value| filter.ends_with(&format!("@{}={value}", way.name));
    point.get(&way.name).is_some_and(is_way) && others.iter().all(|axis| point.get(&axis.name) == Some(&axis.default))
}

/// A number to six significant digits, without an exponent: more than any value is known to.
fn six_digits(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}

/// Tells whether an argument may mean several runs. A file may have a comma or a star in its name.
pub fn is_meant(name: &str) -> bool {
    let path = Path::new(name);
    path.is_dir() || !path.exists() && (name.contains([',', '*', '?']) || store::series(name).is_some())
}

/// The files of one argument, at least one: one run, several with commas between, a pattern, or a directory of runs.
pub fn files(name: &str) -> Result<Vec<PathBuf>> {
    if !Path::new(name).exists() && store::series(name).is_some() {
        let found = store::turns(name)?;
        if found.is_empty() {
            refuse!("the series {name} has no turn; measure one by hostmark watch");
        }
        return Ok(found);
    }
    if Path::new(name).is_dir() {
        let mut found = matching(Path::new(name), "*")?;
        store::only_runs(&mut found);
        if found.is_empty() {
            refuse!("there is no run (*.json) in {name}; give another directory");
        }
        return Ok(found);
    }
    if !is_meant(name) {
        return Ok(vec![store::find(name)?]);
    }
    let mut all = Vec::new();
    for part in name.split(',').filter(|part| !part.is_empty()) {
        if !part.contains(['*', '?']) || Path::new(part).exists() {
            all.push(store::find(part)?);
            continue;
        }
        let found = of_pattern(part)?;
        if found.is_empty() {
            refuse!("no run is called like '{part}'; hostmark runs shows those that are kept");
        }
        all.extend(found);
    }
    if all.is_empty() {
        refuse!("'{name}' names no run; give a file, a run's name, or last");
    }
    Ok(all)
}

/// The runs that a pattern names: files where it says, else runs that are kept.
fn of_pattern(pattern: &str) -> Result<Vec<PathBuf>> {
    let (folder, name) = match pattern.rsplit_once('/') {
        Some(("", name)) => (PathBuf::from("/"), name),
        Some((folder, name)) => (PathBuf::from(folder), name),
        None => (PathBuf::from("."), pattern),
    };
    let found = matching(&folder, name)?;
    if !found.is_empty() || pattern.contains('/') {
        return Ok(found);
    }
    let is_meant = |path: &PathBuf| path.file_stem().is_some_and(|stem| is_like(&stem.to_string_lossy(), name));
    Ok(store::kept()?.into_iter().filter(is_meant).collect())
}

/// The files of a directory whose names are like `pattern`, in order.
fn matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            refuse!("{folder} cannot be read ({error}); give a directory that may be read", folder = folder.display())
        }
        Err(_) => return Ok(Vec::new()),
        Ok(entries) => entries,
    };
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        is_like(&name, pattern) && !name.starts_with('.') && path.is_file()
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_wanted).collect();
    found.sort();
    Ok(found)
}

/// Tells whether a name matches a pattern: `*` stands for any characters, `?` for one.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) = (name.chars().collect(), pattern.chars().collect());
    // How far the pattern's beginnings reach: `ends[n]` says whether the first n characters of the name are like it.
    let mut ends = vec![false; name.len() + 1];
    ends[0] = true;
    for &wanted in &pattern {
        if wanted == '*' {
            for n in 1..=name.len() {
                ends[n] |= ends[n - 1];
            }
        } else {
            for n in (1..=name.len()).rev() {
                ends[n] = ends[n - 1] && (wanted == '?' || wanted == name[n - 1]);
            }
            ends[0] = false;
        }
    }
    ends[name.len()]
}

/// The command line that goes on with a run; none of one that cannot go on, as at a server, or that nobody can type.
pub fn line(journal: &Path, inputs: &Inputs, elsewhere: Option<&Elsewhere>) -> Option<String> {
    let Inputs { command, scratch, isolate, .. } = inputs;
    let mut typed = vec!["--resume".to_owned(), journal.to_str()?.to_owned()];
    let mut option = |name: &str, value: String| typed.extend([name.to_owned(), value]);
    if let Some(elsewhere) = elsewhere {
        let place = one_word(&words_of(elsewhere)?)?;
        if place.starts_with(TCP) {
            return None;
        }
        option("--on", place);
    }
    if !command.is_empty() {
        option("--command", one_word(command)?);
    }
    if let Some(PathBytes(path)) = scratch {
        option("--scratch", String::from_utf8(path.clone()).ok()?);
    }
    if !isolate.is_empty() {
        option("--isolate", isolate.join(","));
    }
    let quoted: Option<Vec<String>> = typed.iter().map(|word| language::quoted(word)).collect();
    Some(format!("hostmark run {}", quoted?.join(" ")))
}

/// Refuses to go on with the journal that is `shown` so, unless the person has typed what it says: the place behind `--on`, and in
/// `inputs` the command and the directory.
pub fn check(
    shown: &str,
    (before, elsewhere): (&Inputs, Option<&Elsewhere>),
    on: Option<&str>,
    inputs: &Inputs,
    line: Option<&str>,
) -> Result<()> {
    let is_place = match (on, elsewhere) {
        (None, None) => true,
        (Some(typed), Some(elsewhere)) => {
            language::split(typed).ok().is_some_and(|typed| Some(typed) == words_of(elsewhere))
        }
        _ => false,
    };
    match line {
        _ if is_place && inputs.command == before.command && inputs.scratch == before.scratch => Ok(()),
        Some(line) => refuse!("{shown} alone decides on no command and no directory; if these are yours, type: {line}"),
        None => refuse!("{shown} has a command or a directory that cannot be typed; measure anew"),
    }
}

/// The words of the command that leads to a place, where they are text.
fn words_of(elsewhere: &Elsewhere) -> Option<Vec<String>> {
    elsewhere.place.iter().map(|word| String::from_utf8(word.0.clone()).ok()).collect()
}

/// Words as one that is split into them.
fn one_word(words: &[String]) -> Option<String> {
    words.iter().map(|word| language::quoted(word)).collect::<Option<Vec<String>>>().map(|words| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (name, pattern) in
            [("before-1.json", "before-*.json"), ("a", "?"), ("ab", "**b"), ("", "*"), ("a*b", "a*b")]
        {
            assert!(is_like(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("after-1.json", "before-*"), ("ab", "?"), ("", "?"), ("abc", "a*b"), ("a", "")] {
            assert!(!is_like(name, pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn a_directory_a_pattern_and_a_list_are_pools() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a-2.json", "a-1.json", "b,c.json", ".a-3.json", "notes.txt"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let at = |name: &str| directory.path().join(name).display().to_string();
        let names = |side: &str| -> Vec<String> {
            let found = files(side).unwrap();
            found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(&at("")), ["a-1.json", "a-2.json", "b,c.json"]);
        assert_eq!(names(&at("a-*.json")), ["a-1.json", "a-2.json"]);
        assert_eq!(names(&format!("{},{}", at("a-2.json"), at("a-1.json"))), ["a-2.json", "a-1.json"]);
        assert_eq!(names(&at("b,c.json")), ["b,c.json"]);
        assert!(files(&at("x-*.json")).is_err());
    }

    fn at(words: &[&str]) -> Elsewhere {
        let place = words.iter().map(|word| PathBytes(word.as_bytes().to_vec())).collect();
        Elsewhere { place, digest: String::new() }
    }

    #[test]
    fn the_line_says_all_that_is_executed_and_written_to_and_is_split_into_it() {
        let inputs = Inputs {
            command: ["make", "a b"].map(str::to_owned).to_vec(),
            scratch: Some(PathBytes(b"/mnt/$x".to_vec())),
            isolate: vec!["seccomp".into()],
            ..Inputs::default()
        };
        let place = at(&["sh", "-c", "touch it; exec \"$@\""]);
        let line = line(Path::new("a.partial.jsonl"), &inputs, Some(&place)).unwrap();
        let words = language::split(&line).unwrap();
        assert_eq!(words[..5], ["hostmark", "run", "--resume", "a.partial.jsonl", "--on"]);
        assert_eq!(words[6..], ["--command", "make 'a b'", "--scratch", "/mnt/$x", "--isolate", "seccomp"]);
        let is_refused =
            |on: Option<&str>, typed: &Inputs| check("a", (&inputs, Some(&place)), on, typed, None).is_err();
        assert!(!is_refused(Some(&words[5]), &inputs));
        assert!(is_refused(None, &inputs) && is_refused(Some("sh -c touch"), &inputs));
        assert!(is_refused(Some(&words[5]), &Inputs { scratch: None, ..inputs.clone() }));
        assert!(is_refused(Some(&words[5]), &Inputs { command: Vec::new(), ..inputs.clone() }));
    }

    #[test]
    fn there_is_no_line_for_what_steers_a_terminal_or_a_server_measures() {
        for words in [&["ssh", "a\u{1b}[2J"][..], &["tcp:db-17"]] {
            assert_eq!(line(Path::new("a.partial.jsonl"), &Inputs::default(), Some(&at(words))), None, "{words:?}");
        }
    }
}
