//! The fixed words of the tables, in both languages side by side.

use hostmark_analysis::findings::is_unusual;
pub(crate) use hostmark_analysis::reasons::in_both;
pub(crate) use hostmark_analysis::typography::COMMA;
use hostmark_model::{Finding, FlagKind, Lang, Text};

/// Declares a word in both languages.
macro_rules! words {
    ($($name:ident: $term:expr;)*) => {
        $(pub(crate) const $name: Text = $term;)*
    };
}

/// Phrase that leads to the command of a finding.
pub(crate) fn shows(command: &str, lang: Lang) -> String {
    let lead = match command.starts_with("hostmark try ") {
        true => term!("try: "),
        false => term!("see: "),
    };
    format!("{}{command}", lead.get(lang))
}

/// Order of the findings, in words.
pub(crate) fn order(findings: &[Finding]) -> Text {
    if findings.first().is_some_and(is_unusual) { UNUSUAL_FIRST } else { EXPENSIVE_FIRST }
}

words! {
    HIERARCHY: term!("MEMORY HIERARCHY");
    BANDWIDTH: term!("BANDWIDTH BY SIZE");
    LATENCY: term!("LATENCY BY SIZE AND PATTERN");
    FINDINGS: term!("FINDINGS");
    EVERYWHERE: term!("DEFAULTS WORTH KNOWING");
    OF_DEFAULTS: term!("what the defaults of Linux cost on every machine");
    OTHER: term!("Other");
    SIZE: term!("size");
    LATENCY_COLUMN: term!("latency");
    BEST: term!("median of the best round");
    STRIDE: term!("stride");
    LINES: term!("lines");
    CYCLES: term!("cycles");
    READ: term!("read");
    WRITE: term!("write");
    COPY: term!("copy");
    FILL: term!("fill");
    VALUE: term!("value");
    INTERVAL: term!("95 % interval");
    SAMPLES: term!("samples");
    NO_INTERVAL: term!("none");
    PLUS_MINUS: Text::name("± %");
    PLUS_MINUS_MOST: term!("max ± %");
    SKIP: term!("skip");
    FAIL: term!("FAIL");
    SKIPPED: term!("skipped");
    FAILED: term!("FAILED");
    CASES: term!("cases");
    NO_CASES: term!("No case was measured.");
    REPORTS: term!("the host reports");
    REST: term!("neighbours probably use the rest");
    REPORTED: term!("the host reports:");
    LINE: term!("line");
    CACHE_LINE: term!("cache line");
    EXPENSIVE_FIRST: term!("most expensive first");
    UNUSUAL_FIRST: term!("unusual first, then by cost");
    ALL_WELL: term!("none");
    NOT_SOUGHT: term!("not looked for: nothing was measured");
    ABOUT_LEGEND: term!("≈ a figure that this machine's reported topology does not confirm");
    NOT_PLANNED_LEGEND: term!("· not in this run's plan");
    WHAT_TO_DO: term!("`hostmark host` says what disturbs a measurement, and what to do about it");
}

pub(crate) const fn flag(kind: FlagKind) -> Text {
    match kind {
        FlagKind::FewRounds => term!("range shown, not an interval"),
        FlagKind::UnderResolution => term!("below clock resolution"),
        FlagKind::Implausible => term!("implausible"),
        FlagKind::MostlyDisturbed => term!("rounds with most samples disturbed"),
        FlagKind::Unsettled => term!("frequency never settled"),
        FlagKind::RoundsLost => term!("rounds lost"),
        FlagKind::BestRoundGap => term!("median of the best round over 10 % better"),
        FlagKind::PartlyUsed => term!("partly used by others"),
        FlagKind::Throttled => term!("stopped by a CPU quota"),
        FlagKind::Contended => term!("other programs used its CPU"),
        FlagKind::FromCache => term!("from a cache below"),
        FlagKind::Unconfirmed => term!("unconfirmed"),
        FlagKind::SmallBuffer => term!("small buffer"),
    }
}
