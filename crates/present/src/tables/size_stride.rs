//! The table of latency by size and stride, in three lists: around the first cache, the second, and beyond.

use hostmark_model::Text;

use super::layout::Layout;
use super::section::{Form, Section};

/// A list of the table at one stride; the first of a list has its title.
macro_rules! list {
    ($title:expr, $kib:expr, $stride:literal, $text:literal) => {
        Section {
            title: $title,
            probe: "memory.latency",
            along: "size",
            kib: $kib,
            at: &[("pattern", $text)],
            each: None,
            form: Form::Latency($stride),
        }
    };
}

const FOR_L1: Text = Text {
    en: "Cache Latency: sizes around a first cache of 32 KiB",
    zh: "缓存延迟：32 KiB 一级缓存前后的大小",
};
const FOR_L2: Text = Text {
    en: "Cache Latency: sizes around a second cache of 256 KiB",
    zh: "缓存延迟：256 KiB 二级缓存前后的大小",
};
const FOR_L3: Text = Text {
    en: "Cache Latency: sizes around a last cache of 3 MiB",
    zh: "缓存延迟：3 MiB 末级缓存前后的大小",
};
const NONE: Text = Text { en: "", zh: "" };

const L1_64_KIB: &[u64] = &[1, 4, 16, 32, 48, 64, 192, 320, 448, 576, 832];
const L1_1024_KIB: &[u64] = &[4, 16, 32, 48, 64, 192, 320, 448, 576, 832];
const L1_KIB: &[u64] = &[16, 32, 48, 64, 192, 320, 448, 576, 832];
const L2_KIB: &[u64] = &[32, 64, 128, 160, 192, 224, 256, 768, 1280, 1792, 2304, 3328, 4352, 6400];
const L3_KIB: &[u64] = &[
    32, 64, 128, 160, 192, 224, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168,
    8192,
];

/// Latency by size and stride.
pub(crate) static SIZE_STRIDE: Layout = Layout {
    name: "size-stride",
    title: Text { en: "Cache Latency by size and stride", zh: "缓存延迟：按大小与步长" },
    sections: &[
        list!(FOR_L1, L1_64_KIB, 64, "64"),
        list!(NONE, L1_1024_KIB, 1024, "1024"),
        list!(NONE, L1_KIB, 4096, "4096"),
        list!(NONE, L1_KIB, 8192, "8192"),
        list!(FOR_L2, L2_KIB, 4096, "4096"),
        list!(NONE, L2_KIB, 8192, "8192"),
        list!(NONE, L2_KIB, 16384, "16384"),
        list!(FOR_L3, L3_KIB, 4096, "4096"),
        list!(NONE, L3_KIB, 8192, "8192"),
        list!(NONE, L3_KIB, 16384, "16384"),
    ],
    reading: &[
        Text {
            en: "lines: the cache lines that the loads go round. A cache keeps them while they are no more than its ways times the sets \
                 that the stride reaches: at 4096 one set in 64, and so on.",
            zh: "缓存行：加载循环访问的行数。只要不超过路数乘以该步长所能用到的组数，缓存就装得下：步长 4096 时每 64 组只用一组，依此类推。",
        },
        Text {
            en: "A fixed stride: what a prefetcher guesses looks faster than the level is. Huge pages where the host gives them; \
                 with base pages: --set page=base. A hypervisor may back a guest's huge pages by small ones: then, as with base pages, \
                 rows from a stride of 4096 on have TLB misses as soon as they have more lines than the TLB has entries.",
            zh: "步长固定：被预取器猜中的行看起来比该级更快。主机允许时用大页；用基本页：--set \
                 page=base。虚拟机监控程序可能用小页支撑虚拟机的大页：此时与基本页一样，步长 4096 起，行数一旦超过 TLB 项数就含 TLB 未命中。",
        },
    ],
};
