//! The run file itself: what an export writes, `load_run` reads back as it was.

use hostmark_analysis::escape;
use hostmark_model::Run;

use super::{ExportFormat, Render};
use crate::RenderOptions;

/// For programs.
pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "json",
    description: term!("the run file itself, with every sample"),
    render: Render::One(render),
};

fn render(run: &Run, _: &RenderOptions) -> String {
    match serde_json::to_string_pretty(run) {
        Ok(pretty) => {
            let text = lists_on_one_line(&pretty);
            // Of a long run each of these texts takes megabytes.
            drop(pretty);
            if text.contains(|c| c != '\n' && escape::steers(c)) { escape::json(&text) } else { text }
        }
        // Only a key that is no string could fail, and the model has none: still a document, and never a panic.
        Err(error) => format!("{}\n", serde_json::json!({ "error": error.to_string() })),
    }
}

/// Puts a list of plain values on one line: a sample a line would bury the rest of the file, and a diff of it.
fn lists_on_one_line(pretty: &str) -> String {
    let mut out = String::with_capacity(pretty.len());
    let mut lines = pretty.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        // A line break in a string is escaped, so a line that ends with a bracket opens a list.
        if line.ends_with('[') {
            let rest = lines.clone();
            let is_plain = |line: &&str| !line.ends_with(['[', '{', ']', '}']) && !line.ends_with("],");
            let values: Vec<&str> = rest.clone().take_while(is_plain).map(str::trim_start).collect();
            let close = rest.clone().nth(values.len()).map(str::trim_start).unwrap_or_default();
            if !values.is_empty() && (close == "]" || close == "],") {
                out.push_str(&values.join(" "));
                out.push_str(close);
                lines.nth(values.len());
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_plain_values_are_joined() {
        let value = serde_json::json!({"a": [1, 2.5, "x]", "y["], "b": [[1], []], "c": [{"d": [true]}], "e": []});
        let text = lists_on_one_line(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.contains("\"a\": [1, 2.5, \"x]\", \"y[\"],\n"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
