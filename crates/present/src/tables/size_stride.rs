//! The table of latency by size and stride, in three lists: around the first cache, the second, and beyond.

use hostmark_model::Text;

use super::layout::Layout;
use super::section::{Form, Section, Sizes};
use crate::texts::tables::size_stride as texts;

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

const FOR_L1: Text = term!("Cache Latency: sizes around the first cache");
const FOR_L2: Text = term!("Cache Latency: sizes around the second cache");
const FOR_L3: Text = term!("Cache Latency: sizes around the third cache");
const NONE: Text = Text::name("");

/// Latency by size and stride.
pub(crate) static SIZE_STRIDE: Layout = Layout {
    name: "size-stride",
    title: term!("Cache Latency by size and stride"),
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
    reading: &[texts::LINES, texts::STRIDE],
};
