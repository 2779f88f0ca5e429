//! Use of a run's time: for readers who ask for everything.

use hostmark_analysis::format::percent;
use hostmark_analysis::spoken;
use hostmark_model::{Lang, RunTime};
use hostmark_say::say;

/// A sentence on the time; none of a run that does not tell.
pub(super) fn line(time: Option<&RunTime>, lang: Lang) -> Option<String> {
    let time = time.filter(|time| time.wall_s > 0.0)?;
    let seconds = |seconds: f64| format!("{seconds:.1} s");
    let RunTime { wall_s, samples_s, set_up_s, between_s, warm_up_s, facts_s, end_s, workers_s, outside_s } = *time;
    let [wall, samples, set_up, between, outside] = [wall_s, samples_s, set_up_s, between_s, outside_s].map(seconds);
    let [warm_up, facts, end, workers] = [warm_up_s, facts_s, end_s, workers_s].map(seconds);
    let share = percent(time.share());
    let said = say!(
        "Of {wall}, {share} lie in samples ({samples}); set-up {set_up}, between samples {between}, warm-up {warm_up}, \
         clock and counters {facts}, take-down {end}, processes and journal {workers}, outside rounds {outside}."
    );
    Some(spoken(&said, lang))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_samples_is_reported_in_both_languages() {
        assert_eq!(line(None, Lang::En), None);
        assert_eq!(line(Some(&RunTime::default()), Lang::En), None);
        let time = RunTime { wall_s: 50.0, samples_s: 12.5, set_up_s: 30.0, ..RunTime::default() };
        let line_in = |lang| line(Some(&time), lang).unwrap();
        assert!(
            line_in(Lang::En).starts_with("Of 50.0 s, 25 % lie in samples (12.5 s); set-up 30.0 s"),
            "{}",
            line_in(Lang::En)
        );
        assert!(line_in(Lang::Zh).starts_with("50.0 s 中有 25 %"), "{}", line_in(Lang::Zh));
    }
}
