//! Files that this user may not read.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::texts::findings::host::permissions as texts;

/// Above this a user without rights may count nothing.
const USER_LEVEL: i32 = 2;

pub(super) static PERF: HostRule = HostRule {
    id: "host.perf_not_permitted",
    weight: HostWeight::Note,
    cure: texts::PERF_CURE,
    see: |host, _| {
        let level = host
            .kernel
            .perf_event_paranoid
            .filter(|level| *level > USER_LEVEL && host.limits.is_root == Some(false))?;
        Some(texts::perf_effect!(level))
    },
};
