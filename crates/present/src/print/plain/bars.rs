//! Bars of text: a line each, a group under the other, as long as the terminal is wide.

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::{BarGroup, Bars};
use hostmark_analysis::escape::visible;
use hostmark_model::Message;
use unicode_width::UnicodeWidthStr;

use super::{GAP, lines};
use crate::RenderOptions;
use crate::wrap::fit;

/// The longest bar; more tells no more.
const MOST: usize = 48;
/// The shortest room for one.
const LEAST: usize = 8;
/// A whole column, and what is left of one in eighths.
const WHOLE: &str = "█";
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The bars under their title; none where there is no value.
pub(super) fn write(bars: &Bars, options: &RenderOptions) -> Option<String> {
    let most = bars.most()?;
    let shown = |text: &Message| visible(&text.get(options.lang));
    let names: Vec<String> = bars.names.iter().map(|name| visible(name)).collect();
    let widest = |all: &mut dyn Iterator<Item = usize>| all.max().unwrap_or(0);
    let label = widest(&mut bars.groups.iter().map(|group| shown(&group.label).width()));
    let name = widest(&mut names.iter().map(|name| name.width()));
    let values = bars.groups.iter().flat_map(|group| &group.bars).flatten();
    let value = widest(&mut values.map(|(_, text)| shown(text).width()));
    let room = options.width.max(40).saturating_sub(label + name + value + 4 * GAP.len()).clamp(LEAST, MOST);
    let mut text = lines(&bars.title.get(options.lang), options);
    let line = |group: &BarGroup, index: usize, label_text: &str| {
        let (bar, end) = match group.bars.get(index).and_then(Option::as_ref) {
            Some((value, text)) => (bar(value / most, room), shown(text)),
            None => (String::new(), "–".to_owned()),
        };
        let gap = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let name_text = &names[index];
        format!(
            "{GAP}{label_text}{}{GAP}{name_text}{}{GAP}{bar}{}{GAP}{end}\n",
            gap(label_text, label),
            gap(name_text, name),
            gap(&bar, room)
        )
    };
    for group in &bars.groups {
        let label = shown(&group.label);
        for index in 0..names.len() {
            text += &line(group, index, if index == 0 { &label } else { "" });
        }
    }
    Some(fit(&text, options.width.max(40)))
}

fn bar(share: f64, room: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    WHOLE.repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (share, text) in [(0.0, ""), (0.5, "██"), (1.0, "████"), (0.53125, "██▏"), (f64::NAN, ""), (7.0, "████")]
        {
            assert_eq!(bar(share, 4), text, "{share}");
        }
    }
}
