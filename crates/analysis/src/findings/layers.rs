//! Kernel side of files, CPU and memory beside user space: the conclusions of the overhead view, as far as one run proves or refutes them.

use hostmark_say::say;

use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, TRACED, YIELDS};
use crate::overhead::{ClaimVerdict, LayerConclusion, conclusions};
use crate::words;

pub(super) static RULE: Rule = Rule {
    id: "kernel.layers",
    shown: Demonstration::Run,
    probes: &[
        "file.kernel_block",
        "file.block",
        "cpu.kernel_sieve",
        "cpu.sieve",
        "memory.kernel_random_access",
        "memory.random_access",
    ],
    cure: None,
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw: |run| conclusions(run).into_iter().filter_map(concluded).collect(),
};

/// Finding of a proven or refuted claim; an open one is no finding.
fn concluded(claim: LayerConclusion) -> Option<Conclusion> {
    let text = match claim.verdict {
        ClaimVerdict::So => claim.text,
        ClaimVerdict::NotSo => say!("Not so here: {claim}", claim = claim.text),
        ClaimVerdict::Unknown | ClaimVerdict::Needs => return None,
    };
    Some(Conclusion { short: short(words(claim.short?)), text: words(text), cases: claim.cases, cost: claim.cost })
}
