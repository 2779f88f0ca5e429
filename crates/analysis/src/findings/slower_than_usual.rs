//! A constant that is far slower than on nine of ten servers of the same design.

use hostmark_model::{Better, Lang, Run, Text, Unit};

use super::evidence::Proven;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS, neighbours};
use crate::constants::{self, ConstantValue};
use crate::format::{in_scale, scale_for, value};
use crate::levels::HIERARCHY;
use crate::references::{NearestReference, ReferenceVerdict, Tone, beside};
use crate::split_huge_pages::cut_into;

pub(super) static RULE: Rule = Rule {
    id: "machine.slower_than_usual",
    shown: Demonstration::Explain(HIERARCHY),
    probes: &[HIERARCHY],
    cure: Some(Text {
        en: "Measure again at a quiet hour, then on another server of this kind. A cloud instance that is stopped and started again \
             mostly gets another host; `hostmark run --expect usual` says whether that one is better.",
        zh: "先在空闲时段重测，再换一台同类服务器测量。云实例停止后再启动，多半会换到另一台宿主机；`hostmark run --expect usual` 可判断新的那台是否更好。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

/// A constant, and how far it lies beyond what is usual.
struct Slow<'a> {
    constant: &'a ConstantValue<'a>,
    verdict: ReferenceVerdict,
}

impl Slow<'_> {
    /// `DRAM 181 ns; 9 of 10 such servers take under 119`.
    fn line(&self) -> Text<String> {
        let Slow { constant, verdict } = self;
        let (here, value) = (constant.plain_value(Lang::En), constant.estimate.value());
        let Text { en, zh } = constant.name;
        let (takes, at_most, near) = match constant.better {
            Better::Higher => ("give over", "不低于", value / verdict.better),
            _ => ("take under", "不超过", value * verdict.better),
        };
        let near = in_scale(near, scale_for(value, constant.unit));
        Text {
            en: format!("{en} {here}; 9 of 10 such servers {takes} {near}"),
            zh: format!("{zh} {here}；九成同类服务器{at_most} {near}"),
        }
    }

    /// `DRAM 181 ns: 1.6x slower than the slow end of what is usual (80 … 110 ns)`.
    fn sentence(&self, usual: &NearestReference, lang: Lang) -> String {
        let Slow { constant, verdict } = self;
        let (name, here) = (constant.name.get(lang), constant.plain_value(lang));
        let range = usual.range(constant, lang).unwrap_or_default();
        let words = verdict.unmarked(lang);
        match lang {
            Lang::En => format!("{name} {here}: {words} than the slow end of what is usual ({range})"),
            Lang::Zh => format!("{name} {here}：比常见范围（{range}）较慢的一端{words}"),
        }
    }
}

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let usual = beside(run).filter(NearestReference::is_usual)?;
    let groups = constants::of_run(run);
    let mut slow: Vec<Slow> = groups
        .iter()
        .flat_map(|(_, constants)| constants)
        .filter_map(|constant| Some(Slow { constant, verdict: usual.verdict(constant)? }))
        .filter(|slow| slow.verdict.tone == Tone::Bad)
        .collect();
    slow.sort_by(|one, other| one.verdict.better.total_cmp(&other.verdict.better));
    let worst = slow.first()?;
    let cause = Explanation::of(run, &slow);
    let words = cause.as_ref().map_or_else(Text::default, Explanation::words);
    let all =
        |lang: Lang, and: &str| slow.iter().map(|slow| slow.sentence(&usual, lang)).collect::<Vec<String>>().join(and);
    let why = cause.as_ref().map_or_else(
        || Text {
            en: "Nothing else that was measured here explains it.".to_owned(),
            zh: "本次测得的其他结果都不能解释。".to_owned(),
        },
        Explanation::sentence,
    );
    let [en, zh] = [usual.source(Lang::En), usual.source(Lang::Zh)];
    let text = Text {
        en: format!("{}; {en}. {}", all(Lang::En, ", "), why.en),
        zh: format!("{}；{zh}。{}", all(Lang::Zh, "，"), why.zh),
    };
    let line = worst.line();
    let short = short(line.en + &words.en, line.zh + &words.zh);
    let cases = slow.iter().map(|slow| slow.constant.case.id.clone()).collect();
    Some(Conclusion { short, text, cases, cost: 1.0 - worst.verdict.better })
}

/// What explains it, as far as the run tells.
enum Explanation {
    /// Pages of so many bytes, and what they cost a load, ns.
    HugePagesCut(f64, f64),
    /// The core's own cache is as slow: its clock is.
    Clock,
    /// Rounds differ.
    Neighbours,
}

impl Explanation {
    fn of(run: &Run, slow: &[Slow]) -> Option<Explanation> {
        let has = |level: &str| slow.iter().any(|slow| slow.constant.case.params.get("level") == Some(level));
        if has("l1d") {
            return Some(Explanation::Clock);
        }
        if let Some((case, bytes)) = cut_into(run).filter(|_| has("dram")) {
            return Some(Explanation::HugePagesCut(bytes, Proven::also(case, "huge")?.value));
        }
        let disturbed = neighbours::draw(run);
        let is_disturbed = |slow: &Slow| disturbed.iter().any(|other| other.cases.contains(&slow.constant.case.id));
        slow.iter().any(is_disturbed).then_some(Explanation::Neighbours)
    }

    /// Behind the line.
    fn words(&self) -> Text<String> {
        match self {
            Explanation::HugePagesCut(_, ns) => {
                let ns = value(*ns, Unit::Nanoseconds, Lang::En);
                Text { en: format!("; {ns} are page walks"), zh: format!("；其中页表遍历 {ns}") }
            }
            Explanation::Clock => Text { en: "; the clock is low".to_owned(), zh: "；主频偏低".to_owned() },
            Explanation::Neighbours => Text { en: "; rounds differ".to_owned(), zh: "；各轮差异大".to_owned() },
        }
    }

    fn sentence(&self) -> Text<String> {
        match self {
            Explanation::HugePagesCut(bytes, ns) => {
                let [page, ns] =
                    [(*bytes, Unit::Bytes), (*ns, Unit::Nanoseconds)].map(|(of, unit)| value(of, unit, Lang::En));
                Text {
                    en: format!("The host backs huge pages with {page} ones; translation costs {ns} of each load."),
                    zh: format!("宿主机用 {page} 的页承载虚拟机的大页，每次加载中地址转换占 {ns}。"),
                }
            }
            Explanation::Clock => Text {
                en: "The core's own cache is slow as well, so its clock is lower than usual.".to_owned(),
                zh: "核心自身的缓存也慢，可见主频低于同类。".to_owned(),
            },
            Explanation::Neighbours => Text {
                en: "Its rounds differ from each other: others use the same cache or memory.".to_owned(),
                zh: "各轮之间差异大：有其他程序或虚拟机在用同一缓存或内存。".to_owned(),
            },
        }
    }
}
