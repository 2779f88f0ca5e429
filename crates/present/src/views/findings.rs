//! Findings about runs, and the effect of a host's settings on its values.

use std::collections::HashMap;

use hostmark_analysis::findings::host::host_findings;
use hostmark_analysis::findings::is_everywhere;
use hostmark_model::{Disturbed, Finding, HostFinding, HostWeight, Message, Run, Text};

use super::probe::anchor;
use crate::document::Judged;
use crate::runs::Runs;

const DISTURBS: Text = term!("disturbs");
const SHIFTS: Text = term!("shifts");
const EVERYWHERE: Text = term!("On every machine by default");

/// Findings of each run, with the cases that they rest on.
pub(crate) fn findings(runs: &Runs, of_runs: &[Vec<Finding>]) -> Vec<Judged> {
    let cases = runs.probes.iter().flat_map(|probe| probe.cases.iter());
    let cases: HashMap<&str, String> = cases.map(|case| (case.id, case.anchor())).collect();
    let probes: HashMap<&str, String> = runs.probes.iter().map(|probe| (probe.id, anchor(probe.id))).collect();
    let link = |id: &String| {
        let anchor = cases.get(id.as_str()).or_else(|| probes.get(id.as_str())).cloned().unwrap_or_default();
        (runs.typed_id(id), anchor)
    };
    let judged = |(index, finding): (usize, &Finding)| Judged {
        run: runs.letter(index),
        text: match is_everywhere(finding) {
            true => Message::joined([EVERYWHERE.to_owned_text(), finding.text.clone()], term!(": ")),
            false => Message::from(&finding.text),
        },
        cure: finding.cure.as_ref().map(Into::into),
        command: finding.command.clone(),
        anchor: explained(runs, finding),
        cases: finding.cases.iter().map(link).collect(),
        ..Judged::default()
    };
    let all = of_runs.iter().enumerate().flat_map(|(index, of_run)| of_run.iter().map(move |one| (index, one)));
    all.map(judged).collect()
}

pub(crate) fn short(runs: &Runs, finding: &Finding) -> Judged {
    let (text, command) = (finding.short.clone(), finding.command.clone());
    Judged { text: text.into(), command, anchor: explained(runs, finding), ..Judged::default() }
}

/// Anchor of the page's explanation in place of a finding's command.
fn explained(runs: &Runs, finding: &Finding) -> String {
    let probe = finding.command.as_deref().and_then(|command| command.strip_prefix("hostmark explain "));
    probe.and_then(|id| runs.probe(id)).map(|probe| anchor(probe.id)).unwrap_or_default()
}

/// Conditions of a host that disturb or shift values.
pub(crate) fn conditions(run: &Run) -> Vec<Judged> {
    let disturbed = Disturbed { load: run.host.activity.load, ..Disturbed::default() };
    let judged = |finding: HostFinding| Judged {
        verdict: Message::from(match finding.weight {
            HostWeight::Disturbs | HostWeight::Unknown => DISTURBS,
            HostWeight::Shifts | HostWeight::Note => SHIFTS,
        }),
        text: finding.effect.into(),
        cure: Some(finding.cure.into()),
        ..Judged::default()
    };
    let shown = host_findings(&run.host, &disturbed).into_iter().filter(|finding| finding.weight != HostWeight::Note);
    shown.map(judged).collect()
}
