//! The tables of bandwidth by block: of memory, reading, writing and copying; and of a pipe.

use hostmark_model::Text;

use super::layout::Layout;
use super::section::{Form, Section, Sizes};

/// What the numbers of a table of rates are.
const RATES: Text = Text {
    en: "K = 1024 bytes, M = 1024 K, MB = 10^6 bytes (programs that count 2^20 to a MB print 4.6 % less).",
    zh: "K = 1024 字节，M = 1024 K，MB = 10^6 字节（按 2^20 计 MB 的程序，数字小 4.6%）。",
};

const READ_KIB: &[u64] =
    &[4, 8, 16, 32, 48, 64, 128, 192, 256, 512, 1024, 2048, 2560, 3072, 4096, 8192, 16384, 32768, 65536, 131_072];
const KIB: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

const fn of_memory(title: Text, probe: &'static str, kib: &'static [u64], form: Form) -> Section {
    Section { title, probe, along: "size", sizes: Sizes::Kib(kib), at: &[], each: None, form }
}

/// Memory by block.
pub(crate) static MEMORY_BANDWIDTH: Layout = Layout {
    name: "memory-bandwidth",
    title: Text { en: "Bandwidth of Memory", zh: "内存带宽" },
    sections: &[
        of_memory(
            Text { en: "Bandwidth of Memory Read", zh: "内存读带宽" },
            "memory.read",
            READ_KIB,
            Form::RateAndCycles(Text { en: "bandwidth of mem read", zh: "读带宽" }),
        ),
        of_memory(
            Text { en: "Bandwidth of Memory Write", zh: "内存写带宽" },
            "memory.write",
            KIB,
            Form::Rate(Text { en: "bandwidth of mem write", zh: "写带宽" }),
        ),
        of_memory(
            Text { en: "Bandwidth of Memory Copy", zh: "内存复制带宽" },
            "memory.copy",
            KIB,
            Form::Rate(Text { en: "bandwidth of mem copy", zh: "复制带宽" }),
        ),
    ],
    reading: &[
        RATES,
        Text {
            en: "One thread, the fastest kernel for each size, huge pages where the host gives them; a copy's block counts once, and its two buffers have that size each. \
                 Core cycles are those of the clock that the core had, measured beside the samples, not nominal ones. How so many bytes a \
                 cycle come about: hostmark explain memory.read",
            zh: "单线程，每个大小取最快的内核，主机允许时用大页；复制的块只计一次，源与目的各为该大小。核心周期按样本旁实测的核心频率计算，而非标称频率。每周期为何有这么多字节：\
                 hostmark explain memory.read",
        },
    ],
};

/// A pipe by the bytes of one write.
pub(crate) static PIPE: Layout = Layout {
    name: "pipe",
    title: Text { en: "Bandwidth of Pipe", zh: "管道带宽" },
    sections: &[Section {
        title: Text { en: "writer and reader on", zh: "写方与读方" },
        probe: "ipc.pipe_bandwidth",
        along: "message",
        sizes: Sizes::Kib(KIB),
        at: &[],
        each: Some("cpus"),
        form: Form::Rate(Text { en: "bandwidth of pipe", zh: "管道带宽" }),
    }],
    reading: &[
        RATES,
        Text {
            en: "The block is what one write is given; a read takes 64 KiB at most, and a pipe holds 64 KiB on most kernels.",
            zh: "块是一次 write 的大小；一次 read 最多 64 KiB，多数内核的管道容量为 64 KiB。",
        },
    ],
};
