//! What stands beside the rate of a stream.

use hostmark_engine::prelude::*;

use crate::turns::{SWITCHES, WAKE_UPS};

/// The rate that lasts, what the two ends cost, and how often they take turns.
pub const ALSO: &[Quantity] = &[
    Quantity::SUSTAINED_BYTES,
    SWITCHES,
    WAKE_UPS,
    Quantity {
        name: "sender_cpus",
        unit: Unit::Ratio,
        better: Better::Lower,
        title: Text { en: "CPUs busy with sending", zh: "发送占用的 CPU 数" },
    },
    Quantity {
        name: "receiver_cpus",
        unit: Unit::Ratio,
        better: Better::Lower,
        title: Text { en: "CPUs busy with receiving", zh: "接收占用的 CPU 数" },
    },
];
