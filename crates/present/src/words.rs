//! The fixed words of the tables, in both languages side by side.

pub(crate) use hostmark_analysis::bilingual::COMMA;
use hostmark_analysis::findings::is_unusual;
use hostmark_model::{Finding, FlagKind, Lang, Text};

/// Declares a word in both languages.
macro_rules! words {
    ($($name:ident: $en:literal, $zh:literal;)*) => {
        $(pub(crate) const $name: Text = Text { en: $en, zh: $zh };)*
    };
}

/// How a finding names the command that shows it.
pub(crate) fn shows(command: &str, lang: Lang) -> String {
    let lead = match command.starts_with("hostmark try ") {
        true => Text { en: "try: ", zh: "试验：" },
        false => Text { en: "see: ", zh: "详见：" },
    };
    format!("{}{command}", lead.get(lang))
}

/// In which order findings stand.
pub(crate) fn order(findings: &[Finding]) -> Text {
    if findings.first().is_some_and(is_unusual) { UNUSUAL_FIRST } else { EXPENSIVE_FIRST }
}

words! {
    HIERARCHY: "MEMORY HIERARCHY", "内存层次";
    BANDWIDTH: "BANDWIDTH BY SIZE", "各容量带宽";
    LATENCY: "LATENCY BY SIZE AND PATTERN", "各容量与访问模式的延迟";
    FINDINGS: "FINDINGS", "结论";
    EVERYWHERE: "WORTH KNOWING", "值得了解";
    OF_DEFAULTS: "what the defaults of Linux cost on every machine", "Linux 的默认设置在任何机器上的代价";
    OTHER: "Other", "其他";
    SIZE: "size", "容量";
    LATENCY_COLUMN: "latency", "延迟";
    BEST: "best round typically", "最佳一轮的典型值";
    STRIDE: "stride", "步长";
    LINES: "lines", "行数";
    CYCLES: "cycles", "周期";
    READ: "read", "读";
    WRITE: "write", "写";
    COPY: "copy", "复制";
    FILL: "fill", "填充";
    VALUE: "value", "数值";
    INTERVAL: "95 % interval", "95% 区间";
    SAMPLES: "samples", "样本";
    NO_INTERVAL: "none", "无";
    PLUS_MINUS: "± %", "± %";
    PLUS_MINUS_MOST: "max ± %", "最大 ± %";
    SKIP: "skip", "已跳过";
    FAIL: "FAIL", "失败";
    SKIPPED: "skipped", "已跳过";
    FAILED: "FAILED", "失败";
    CASES: "cases", "个用例";
    NO_CASES: "No case was measured.", "没有测得任何用例。";
    REPORTS: "the host reports", "主机标称";
    REST: "neighbours probably use the rest", "其余部分可能被邻居虚拟机占用";
    REPORTED: "the host reports:", "主机标称：";
    LINE: "line", "缓存行";
    CACHE_LINE: "cache line", "缓存行";
    PAGES: "pages", "页";
    EXPENSIVE_FIRST: "most expensive first", "按代价从高到低";
    UNUSUAL_FIRST: "first what is not usual, then what costs most", "与同类相差悬殊的在前，其余按代价从高到低";
    ALL_WELL: "none", "无";
    NOT_SOUGHT: "not looked for: nothing was measured", "未分析：没有测得任何数值";
    ABOUT_LEGEND: "≈ a figure that this machine's reported topology does not confirm",
        "≈ 本机标称的拓扑无法证实的数值";
    REMARK_LEGEND: "! see the remark", "! 见备注";
    NOT_PLANNED_LEGEND: "· not in this run's plan", "· 不在本次运行计划之内";
    WHAT_TO_DO: "`hostmark host` says what disturbs a measurement, and what to do about it",
        "`hostmark host` 会说明哪些因素干扰测量以及如何处理";
}

/// What a flag says, in a few words.
pub(crate) const fn flag(kind: FlagKind) -> Text {
    match kind {
        FlagKind::FewRounds => Text { en: "fewer than five rounds: their range", zh: "不足五轮：给出范围" },
        FlagKind::UnderResolution => Text { en: "below clock resolution", zh: "低于时钟分辨率" },
        FlagKind::Implausible => Text { en: "implausible", zh: "不可信" },
        FlagKind::MostlyDisturbed => {
            Text { en: "rounds with most samples disturbed", zh: "有轮次多数样本受扰" }
        }
        FlagKind::Unsettled => Text { en: "frequency never settled", zh: "频率未稳定" },
        FlagKind::RoundsLost => Text { en: "rounds lost", zh: "缺少若干轮" },
        FlagKind::BestRoundGap => {
            Text { en: "best round typically over 10 % better", zh: "最佳一轮的典型值好 10% 以上" }
        }
        FlagKind::PartlyUsed => Text { en: "partly used by others", zh: "部分被他人占用" },
        FlagKind::Throttled => Text { en: "stopped by a CPU quota", zh: "被 CPU 配额暂停" },
        FlagKind::Contended => Text { en: "others used its CPU", zh: "CPU 被他人占用" },
        FlagKind::FromCache => Text { en: "from a cache below", zh: "来自下层缓存" },
        FlagKind::Unconfirmed => Text { en: "unconfirmed", zh: "未证实" },
        FlagKind::SmallBuffer => Text { en: "small buffer", zh: "缓冲区偏小" },
    }
}
