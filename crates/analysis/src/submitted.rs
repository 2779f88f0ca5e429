//! What a run must be to be taken in as a reference: redacted, checked on its host, repeated, and one that its own samples bear out.

use hostmark_model::{Grade, Run, SelfChecked, Text};

use crate::consistency;
use crate::redact::unredacted;
use crate::trust::{trust, with_self_check};

/// So many runs of the host a reference stands on, the one that is sent in among them: five values have an interval.
pub const LEAST_RUNS: u32 = 5;
/// A worse grade says that another run's values may lie a quarter away.
const WORST: Grade = Grade::B;
/// Fields that are named of those that are not redacted.
const MOST_FIELDS: usize = 3;

/// Why a run cannot be a reference: the first thing that is wrong, and what to do. None where it can.
pub fn refusal(run: &Run) -> Option<Text<String>> {
    // What was cut short has another grade, and is no forgery.
    not_of_hostmark(run)
        .or_else(|| contradiction(run))
        .or_else(|| not_redacted(run))
        .or_else(|| unchecked(run))
        .or_else(|| too_few(run))
        .or_else(|| too_scattered(run))
}

fn text(en: String, zh: String) -> Option<Text<String>> {
    Some(Text { en, zh })
}

/// A value that its own samples do not give, and a grade that its values do not give.
fn contradiction(run: &Run) -> Option<Text<String>> {
    if let Some(Text { en, zh }) = consistency::sentence(run) {
        return text(
            format!("it contradicts itself: {en}; send the file as hostmark wrote it"),
            format!("它自相矛盾：{zh}；请提交 hostmark 写出的原文件"),
        );
    }
    let stored = run.trust.as_ref()?;
    let given = with_self_check(trust(run)?, stored.self_check.clone());
    let is_near = match (stored.within, given.within) {
        (Some(stored), Some(given)) => consistency::is_near(stored, given, 0.0),
        (stored, given) => stored == given,
    };
    if is_near && stored.grade == given.grade && stored.runs == given.runs {
        return None;
    }
    let (says, gives) = (stored.grade.letter(), given.grade.letter());
    let (of, by) = (stored.runs, given.runs);
    text(
        format!(
            "its TRUST says {says} by {of} earlier runs, and its values give {gives} by {by}; measure with this version, \
             and send the file as hostmark wrote it"
        ),
        format!(
            "其可信度写作 {says}（依据 {of} 次运行），而其数值给出 {gives}（依据 {by} 次）；请用此版本测量，并提交 hostmark 写出的原文件"
        ),
    )
}

fn not_of_hostmark(run: &Run) -> Option<Text<String>> {
    if let Some(imported) = &run.imported {
        let format = &imported.format;
        return text(
            format!("another tool measured it ({format}); measure with hostmark run"),
            format!("它由其他工具测得（{format}）；请用 hostmark run 测量"),
        );
    }
    run.interrupted.as_ref()?;
    text("the run was cut short; measure again".to_owned(), "该运行被中断；请重新测量".to_owned())
}

fn not_redacted(run: &Run) -> Option<Text<String>> {
    let fields = unredacted(run);
    let named = fields.iter().take(MOST_FIELDS).map(String::as_str).collect::<Vec<_>>();
    let more = fields.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0);
    let (en, zh) = match more {
        Some(more) => (format!(" and {more} more"), format!(" 等另外 {more} 处")),
        None => Default::default(),
    };
    named.first()?;
    text(
        format!(
            "it is not redacted ({}{en} may name a host, a person or a path); write it by hostmark report RUN --share",
            named.join(", ")
        ),
        format!(
            "它未经脱敏（{}{zh}可能含有主机、个人或路径的名称）；请用 hostmark report RUN --share 写出",
            named.join("、")
        ),
    )
}

fn unchecked(run: &Run) -> Option<Text<String>> {
    let found = run.trust.as_ref().and_then(|trust| trust.self_check.as_ref());
    if found.is_some_and(|found| found.has_passed() && found.started <= run.started) {
        return None;
    }
    let (en, zh) = match found {
        None => ("no self-check of this program has passed on its host", "该主机上没有通过过本程序的自检".to_owned()),
        Some(found) if found.has_passed() => ("its self-check is later than the run", "自检晚于该运行".to_owned()),
        Some(SelfChecked { failed, .. }) => ("its self-check failed", format!("自检有 {failed} 项未通过")),
    };
    text(
        format!("{en}; run hostmark self-check, then hostmark run, and send that run"),
        format!("{zh}；请先运行 hostmark self-check，再运行 hostmark run，并提交那次运行"),
    )
}

fn too_few(run: &Run) -> Option<Text<String>> {
    let runs = run.trust.as_ref()?.runs + 1;
    (runs < LEAST_RUNS).then_some(())?;
    text(
        format!(
            "it stands on {runs} of {LEAST_RUNS} runs of its host; run the same profile again, and send the last run"
        ),
        format!("它只依据该主机的 {runs} 次运行，需要 {LEAST_RUNS} 次；请以同一档位再次运行，并提交最后一次"),
    )
}

fn too_scattered(run: &Run) -> Option<Text<String>> {
    let grade = run.trust.as_ref()?.grade;
    (grade > WORST).then_some(())?;
    let (is, worst) = (grade.letter(), WORST.letter());
    text(
        format!("its TRUST is {is}, and a reference needs {worst} or better; measure at a quieter hour"),
        format!("其可信度为 {is}，而参考需要 {worst} 或更好；请在较空闲的时段测量"),
    )
}
