//! The command that shows what a finding says.

use hostmark_model::{CaseId, CaseRecord, Params, Run};

/// Cases that a command names at most.
const MOST_CASES: usize = 3;

/// Command that demonstrates a rule's conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demonstration {
    /// `hostmark try` with this setting, which is also the cure.
    Try(&'static str),
    /// `hostmark explain` of this probe, which says what makes it so.
    Explain(&'static str),
    /// `hostmark run` of the conclusion's own cases.
    Run,
    /// `hostmark host`, which says what disturbs the machine now.
    Host,
}

impl Demonstration {
    pub(super) fn command(self, run: &Run, cases: &[String]) -> String {
        match self {
            Demonstration::Try(setting) => format!("hostmark try {setting}"),
            Demonstration::Explain(probe) => format!("hostmark explain {probe}"),
            Demonstration::Host => "hostmark host".to_owned(),
            Demonstration::Run => {
                let known = |id: &String| run.cases.iter().find(|case| case.id == *id && case.peer().is_none());
                let filters: Vec<String> =
                    cases.iter().filter_map(known).map(|case| filter(run, case)).take(MOST_CASES).collect();
                match filters.is_empty() {
                    true => "hostmark host".to_owned(),
                    false => format!("hostmark run {}", filters.join(" ")),
                }
            }
        }
    }
}

/// The filter that selects a case: its id without the axes at which it stands at the default.
fn filter(run: &Run, case: &CaseRecord) -> String {
    let info = run.probes.iter().find(|info| info.id == case.probe);
    let is_default = |(axis, value): &(String, String)| {
        info.is_some_and(|info| info.axes.iter().any(|known| known.name == *axis && known.default == *value))
    };
    let params = case.params.0.iter().filter(|point| !is_default(point)).cloned().collect();
    CaseId { probe: case.probe.clone(), params: Params(params) }.to_string()
}
