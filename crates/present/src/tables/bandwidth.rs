//! The tables of bandwidth by block: of memory, reading, writing and copying; and of a pipe.

use hostmark_model::Text;

use super::layout::Layout;
use super::section::{Form, Section, Sizes};
use crate::texts::tables::bandwidth as texts;

const READ_KIB: &[u64] =
    &[4, 8, 16, 32, 48, 64, 128, 192, 256, 512, 1024, 2048, 2560, 3072, 4096, 8192, 16384, 32768, 65536, 131_072];
const KIB: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

const fn of_memory(title: Text, probe: &'static str, kib: &'static [u64], form: Form) -> Section {
    Section { title, probe, along: "size", sizes: Sizes::Kib(kib), at: &[], each: None, form }
}

pub(crate) static MEMORY_BANDWIDTH: Layout = Layout {
    name: "memory-bandwidth",
    title: term!("Bandwidth of Memory"),
    sections: &[
        of_memory(
            term!("Bandwidth of Memory Read"),
            "memory.read",
            READ_KIB,
            Form::RateAndCycles(term!("bandwidth of mem read")),
        ),
        of_memory(term!("Bandwidth of Memory Write"), "memory.write", KIB, Form::Rate(term!("bandwidth of mem write"))),
        of_memory(term!("Bandwidth of Memory Copy"), "memory.copy", KIB, Form::Rate(term!("bandwidth of mem copy"))),
    ],
    reading: &[texts::RATES, texts::MEMORY],
};

/// A pipe by the bytes of one write.
pub(crate) static PIPE: Layout = Layout {
    name: "pipe",
    title: term!("Bandwidth of Pipe"),
    sections: &[Section {
        title: term!("writer and reader on"),
        probe: "ipc.bandwidth",
        along: "message",
        sizes: Sizes::Kib(KIB),
        at: &[],
        each: Some("cpus"),
        form: Form::Rate(term!("bandwidth of pipe")),
    }],
    reading: &[texts::RATES, texts::PIPE],
};
