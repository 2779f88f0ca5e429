//! What every finding's short text keeps to.

use hostmark_analysis::findings::MOST_COLUMNS;
use hostmark_model::{Finding, Lang};
use unicode_width::UnicodeWidthStr;

/// Holds a finding to it, in both languages, and hands it on.
#[track_caller]
pub fn sound(finding: Finding) -> Finding {
    for lang in [Lang::En, Lang::Zh] {
        let text = finding.short.get(lang);
        assert!(!text.is_empty() && text.width() <= MOST_COLUMNS, "{}: {} columns: {text}", finding.id, text.width());
        assert!(!text.ends_with([':', '：', '.', '。']), "{}: {text}", finding.id);
        // That something is refused is no figure.
        let is_refusal = finding.id == "kernel.layers" && finding.short.en.contains("is refused");
        assert!(is_refusal || text.contains(|c: char| c.is_ascii_digit()), "{}: {text}", finding.id);
        assert_eq!(text.contains(|c: char| c >= '\u{4e00}'), lang == Lang::Zh, "{}: {text}", finding.id);
    }
    assert!(!finding.short.zh.contains(" %"), "{}", finding.short.zh);
    finding
}
