//! The table of latency by size and stride, in three lists: around the first cache, the second, and beyond.

use hostmark_model::Text;

use super::layout::Layout;
use super::section::{Form, Section, Sizes};

/// A list of the table around a cache at one stride; the first of a list has its title.
macro_rules! list {
    ($title:expr, $cache:literal, $stride:literal, $text:literal) => {
        Section {
            title: $title,
            probe: "memory.latency",
            along: "size",
            sizes: Sizes::AroundCache($cache),
            at: &[("pattern", $text)],
            each: None,
            form: Form::Latency($stride),
        }
    };
}

const FOR_L1: Text =
    Text { en: "Cache Latency: sizes around the first cache", zh: "缓存延迟：一级缓存前后的大小" };
const FOR_L2: Text =
    Text { en: "Cache Latency: sizes around the second cache", zh: "缓存延迟：二级缓存前后的大小" };
const FOR_L3: Text =
    Text { en: "Cache Latency: sizes around the third cache", zh: "缓存延迟：三级缓存前后的大小" };
const NONE: Text = Text { en: "", zh: "" };

/// Latency by size and stride.
pub(crate) static SIZE_STRIDE: Layout = Layout {
    name: "size-stride",
    title: Text { en: "Cache Latency by size and stride", zh: "缓存延迟：按大小与步长" },
    sections: &[
        list!(FOR_L1, 0, 64, "64"),
        list!(NONE, 0, 1024, "1024"),
        list!(NONE, 0, 4096, "4096"),
        list!(NONE, 0, 8192, "8192"),
        list!(FOR_L2, 1, 4096, "4096"),
        list!(NONE, 1, 8192, "8192"),
        list!(NONE, 1, 16384, "16384"),
        list!(FOR_L3, 2, 4096, "4096"),
        list!(NONE, 2, 8192, "8192"),
        list!(NONE, 2, 16384, "16384"),
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
