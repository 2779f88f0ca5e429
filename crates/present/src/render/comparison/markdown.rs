//! Comparisons as markdown, for a report or a pull request.

use hostmark_analysis::compare::{Against, CaseComparison, Comparison, Group, Side};
use hostmark_analysis::escape::visible;
use hostmark_model::{Lang, Text};

use super as words;
use super::super::RenderOptions;

/// A comparison; it ends with a line break.
pub(crate) fn comparison(comparison: &Comparison, options: &RenderOptions) -> String {
    let mut out = String::new();
    for against in &comparison.new {
        if !out.is_empty() {
            out.push('\n');
        }
        one(&comparison.base, against, options, &mut out);
    }
    out
}

fn one(base: &Side, against: &Against, options: &RenderOptions, out: &mut String) {
    let lang = options.lang;
    let say = |text: Text| text.say(lang);
    let colon = if lang == Lang::Zh { "：" } else { ": " };
    let title = match lang {
        Lang::En => format!("## {} against {}", plain(&against.side.name), plain(&base.name)),
        Lang::Zh => format!("## {} 与 {} 相比", plain(&against.side.name), plain(&base.name)),
    };
    line(out, &title);
    line(out, "");
    line(out, &format!("**{}**", words::summary(against, lang)));
    line(out, "");
    for (role, side) in [(words::BASE, base), (words::NEW, &against.side)] {
        let facts = words::of_side(side, lang).join(" · ");
        line(out, &format!("- {}{colon}**{}** · {}", say(role), plain(&side.name), plain(&facts)));
        for disturbance in &side.disturbances {
            line(out, &format!("  - {}{colon}{}", say(words::DISTURBED), plain(disturbance.get(lang))));
        }
    }
    differs(against, options, out);
    words::together(against).for_each(|part| groups(against, part, options, out));
    cases(against, options, out);
    not_comparable(against, options, out);
    line(out, "");
    for sentence in words::method(against, lang) {
        line(out, &format!("- {}", plain(&sentence)));
    }
}

fn differs(against: &Against, options: &RenderOptions, out: &mut String) {
    let lang = options.lang;
    let say = |text: Text| text.say(lang);
    line(out, "");
    let same = against.same;
    let remark = match lang {
        Lang::En => format!("### {} (same: {same} other facts)", say(words::DIFFERS)),
        Lang::Zh => format!("### {}（相同：其余 {same} 项）", say(words::DIFFERS)),
    };
    line(out, &remark);
    if !against.differs.is_empty() {
        line(out, "");
        line(out, &format!("| | {} | {} |", say(words::BASE), say(words::NEW)));
        line(out, "|---|---|---|");
    }
    for one in &against.differs {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| say(words::UNKNOWN).to_owned());
        let cells = [one.label.get(lang).to_owned(), known(&one.base), known(&one.new)].map(|text| plain(&text));
        line(out, &format!("| {} |", cells.join(" | ")));
    }
    if !against.warnings.is_empty() {
        line(out, "");
    }
    for warning in &against.warnings {
        line(out, &format!("- {}", plain(warning.get(lang))));
    }
}

fn groups(against: &Against, (heading, groups): (Text, &[Group]), options: &RenderOptions, out: &mut String) {
    let lang = options.lang;
    line(out, "");
    line(out, &format!("### {}", heading.say(lang)));
    line(out, "");
    let headers = [heading, words::CASES, words::COST, words::INTERVAL, words::VERDICT].map(|text| text.say(lang));
    line(out, &format!("| {} |", headers.join(" | ")));
    line(out, "|---|--:|--:|--:|---|");
    for group in groups {
        let [change, interval, verdict] = words::group_cells(group, lang);
        let verdict = [vec![verdict], words::group_remarks(group, against, lang)].concat().join("; ");
        let cells = [group.title.get(lang), &group.cases.to_string(), &change, &interval, &verdict].map(plain);
        line(out, &format!("| {} |", cells.join(" | ")));
    }
}

fn cases(against: &Against, options: &RenderOptions, out: &mut String) {
    let lang = options.lang;
    let (shown, left_out) = words::shown(against, options.verbose);
    line(out, "");
    line(out, &format!("### {}", words::CASES.say(lang)));
    if !shown.is_empty() {
        line(out, "");
        let headers = [words::CASE, words::BASE, words::NEW, words::CHANGE, words::INTERVAL, words::VERDICT];
        let headers = headers.map(|text| text.say(lang));
        line(out, &format!("| {} |", headers.join(" | ")));
        line(out, "|---|--:|--:|--:|--:|---|");
    }
    for case in shown {
        line(out, &row(case, options));
    }
    if left_out > 0 {
        line(out, "");
        line(
            out,
            &match lang {
                Lang::En => format!("{left_out} without a change are not shown."),
                Lang::Zh => format!("另有 {left_out} 个未见变化的用例未列出。"),
            },
        );
    }
}

fn row(case: &CaseComparison, options: &RenderOptions) -> String {
    let lang = options.lang;
    let [base, new] = words::values(case, lang);
    let [change, interval] = words::change(case);
    let mut verdict = words::verdict_text(case, lang);
    let remarks = case.remarks.iter().map(|remark| remark.get(lang).to_owned());
    let grounds = words::grounds(case, lang).filter(|_| options.verbose);
    for remark in words::others(case, lang).into_iter().chain(remarks).chain(grounds) {
        verdict = format!("{verdict}; {remark}");
    }
    let label = if options.verbose { case.typed().to_owned() } else { words::label(case, lang) };
    let cells = [&label, &base, &new, &change, &interval, &verdict].map(plain);
    format!("| {} |", cells.join(" | "))
}

fn not_comparable(against: &Against, options: &RenderOptions, out: &mut String) {
    let lang = options.lang;
    let groups = words::reasons(against, lang);
    if groups.is_empty() {
        return;
    }
    line(out, "");
    line(out, &format!("### {}", words::NOT_COMPARABLE.say(lang)));
    line(out, "");
    let colon = if lang == Lang::Zh { "：" } else { ": " };
    for (reason, cases) in groups {
        line(out, &format!("- {}{colon}{}", cases.len(), plain(reason)));
        let is_all = options.verbose || words::is_open(&cases);
        for case in cases.iter().filter(|case| is_all || case.effect.is_some()) {
            let ([base, new], [change, _]) = (words::values(case, lang), words::change(case));
            let others = words::others(case, lang).map_or(String::new(), |others| format!("; {}", plain(others)));
            let typed = plain(case.typed());
            line(out, &format!("  - {typed} {} → {} {}{others}", plain(&base), plain(&new), plain(&change)));
        }
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// `text` as markdown shows it: nothing in it is markup, a table's bar, HTML or a line break.
fn plain(text: impl AsRef<str>) -> String {
    let mut out = String::new();
    for c in visible(text.as_ref()).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_is_markup() {
        assert_eq!(plain("a|b <img src=x> *c* _d_\n@e"), "a\\|b &lt;img src=x&gt; \\*c\\* \\_d\\_\\\\n&#64;e");
    }
}
