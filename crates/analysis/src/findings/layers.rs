//! What the kernel's own side of files, CPU and memory tells beside user space: the conclusions of the overhead view, as far
//! as one run proves or refutes them.

use hostmark_model::{Run, Text};

use super::{Conclusion, DISTURBED, Doubt, QUOTA_OF_ONE, Rule, Shown, TRACED, YIELDS};
use crate::overhead::{ClaimVerdict, LayerConclusion, conclusions};

pub(super) static RULE: Rule = Rule {
    id: "kernel.layers",
    shown: Shown::Run,
    probes: &[
        "file.kernel_read",
        "file.read_start",
        "file.kernel_write",
        "file.overwrite",
        "cpu.kernel_sieve",
        "cpu.sieve",
        "memory.kernel_random_access",
        "memory.random_access",
    ],
    cure: None,
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &TRACED] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusions(run).into_iter().filter_map(concluded).collect()
}

/// What is proven or refuted; what is open is no finding.
fn concluded(told: LayerConclusion) -> Option<Conclusion> {
    let text = match told.verdict {
        ClaimVerdict::So => told.text,
        ClaimVerdict::NotSo => {
            Text { en: format!("Not so here: {}", told.text.en), zh: format!("此处不成立：{}", told.text.zh) }
        }
        ClaimVerdict::Unknown | ClaimVerdict::Needs => return None,
    };
    Some(Conclusion { short: told.short?, text, cases: told.cases, cost: told.cost })
}
