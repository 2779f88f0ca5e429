//! Probe external.number: a number without a unit that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::{ASKED, how_printed};

pub static PROBE: Probe = Probe {
    title: Text { en: "Command, printed number", zh: "命令打印的数字" },
    unit: Unit::Count,
    better: Better::Neither,
    explain: Explain {
        what: Text {
            en: how_printed!(
                en "The",
                "count"
            ),
            zh: how_printed!(
                zh "",
                "count"
            ),
        },
        reading: Text {
            en: "A score, an error count, a share: hostmark does not know which direction is good. A comparison \
                 therefore shows whether it changed, not whether that is better.",
            zh: "得分、错误数、占比等：hostmark 不知道哪个方向更好，因此对比只说明是否改变，而不说明好坏。",
        },
        ..ASKED.explain
    },
    needs: &[Need::CommandValue(Unit::Count)],
    related: &["external.command", "external.time", "external.operations"],
    ..ASKED
};
