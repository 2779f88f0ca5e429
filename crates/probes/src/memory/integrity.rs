//! Probe memory.integrity: whether locked memory gives back what was written to it.

use hostmark_engine::prelude::*;

use crate::kernels::words::Words;

mod walk;

use walk::{Fault, Faults, Memory, Pattern};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory integrity", zh: "内存完整性" },
    revision: 1,
    unit: Unit::Count,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "`amount` bytes are locked into memory and tested in parts of 4 MiB while time remains; a note records \
                 how much. Each test writes words, flushes them from all caches, reads them back and compares. \
                 Patterns: address stores each word's own address, then its inverse; inversions is the march C- test, \
                 upwards and downwards with seven backgrounds; moving walks a single one and a single zero through \
                 every bit of a word; random uses random words and their inverse. The value is the number of wrong \
                 words in one pass over a part. Any wrong word fails the case, which reports the number, and for the \
                 first ones the position, the expected and the found word: a median would hide an error that only one \
                 round has seen.",
            zh: "锁定 `amount` 字节内存，时间允许时以 4 MiB 为一段逐段走查；走查量记录在备注中。写入字、从所有缓存刷出、读回、比较。模式：address \
                 每个字写自己的地址，再取反；inversions 是 march C-，以七种背景上行下行；moving 在字的每一位上移动单个一与单个零；random 随机字及其\
                 反码。值为走查一段所见的错误字数。一旦发现错误，用例即以失败结束，并给出数量，以及最先几处的位置、期望值与读到的值：不能让\
                 中位数掩盖只有一轮见到的错误。",
        },
        why: Text {
            en: "Every other value assumes that memory keeps its contents. Without ECC nothing else reveals an error; \
                 with ECC an error seen here was beyond correction.",
            zh: "其他所有数字都假设内存会保持写入的内容。没有 ECC 时别无告知途径；有 ECC 时，在此看到的错误已无法纠正。",
        },
        reading: Text {
            en: "0 is the only good value. A pass over a few MiB proves little: a fault must lie in the pages that the \
                 kernel happened to allocate. Set `--set amount=` to most of the free memory, with the thorough \
                 profile; for hours of testing use a bootable memory test. inversions finds stuck bits, bits that do \
                 not flip, disturbing neighbour bits and faulty address lines; address finds faulty address lines \
                 fastest; moving and random find faults that need certain data.",
            zh: "只能是 0。几 MiB 的走查说明不了多少：故障必须恰好落在内核给的页中。可用 `--set amount=` 设为大部分空\
                 闲内存并使用 thorough 档；要走查数小时，请用可引导的内存测试。inversions 能发现固定位、不翻转的位、相\
                 互干扰的相邻位和地址线故障；address 发现地址线故障最快；moving 与 random 能发现依赖特定数据的故障。",
        },
        typical: Text {
            en: "0 in every run of this project. In a test beside memtester, both found the bits that a third process \
                 flipped in their memory (docs/accuracy.md). The march C- with its inversions is van de Goor's \
                 (Testing Semiconductor Memories, 1991).",
            zh: "本项目每次运行都是 0；与 memtester 并列时，第三个进程在其内存中翻转的位两者都找到了（见 docs/accuracy.md）。March C- 及其反转序列出自 \
                 van de Goor（Testing Semiconductor Memories，1991）。",
        },
        causes: Text {
            en: "A faulty or wrongly timed DIMM (overclocked profiles first), an overheated one, a cache or bus fault \
                 of the CPU; with ECC look into the kernel's EDAC counters as well. An error that moves with the data \
                 is the DIMM's, one that moves with the CPU is the CPU's.",
            zh: "内存条有故障或时序不当（先查超频配置）、过热、CPU 的缓存或总线故障；有 ECC 时还应查看内核的 EDAC 计数。随数据所在位置移动的错误来自内存条，随 CPU 移\
                 动的来自 CPU。",
        },
    },
    related: &["memory.write", "memory.read"],
    axes: &[
        Axis::choice(
            "pattern",
            "inversions",
            Points::Listed { quick: &["inversions"], standard: &["address", "moving", "random"], thorough: &[] },
        ),
        Axis::size("amount", "4194304", Points::Listed { quick: &["4194304"], standard: &[], thorough: &[] }),
    ],
    section: crate::section::INTEGRITY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A part is walked as a whole, between two looks at the time.
const PART_BYTES: usize = 4 << 20;

impl Memory for Words<'_> {
    fn words(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn write(&mut self, index: usize, value: u64) {
        Words::write(self, index, value);
    }

    #[inline(always)]
    fn read(&mut self, index: usize) -> u64 {
        Words::read(self, index)
    }

    fn flush(&mut self) {
        Words::flush(self);
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("pattern")?;
    let pattern = Pattern::named(&name).ok_or_else(|| RoundError::failed(format!("there is no pattern {name}")))?;
    let amount: u64 = case.param("amount")?;
    let (mut buffer, mut filling) = case.allot(1, amount, Pages::Base, None)?.reserve()?;
    let (kib, hint) = (amount >> 10, "raise RLIMIT_MEMLOCK (ulimit -l)");
    let bytes = buffer.bytes().len();
    for from in (0..bytes).step_by(PART_BYTES) {
        let to = bytes.min(from + PART_BYTES);
        let locked = buffer.lock(from, to);
        locked.map_err(|error| RoundError::skipped(format!("{kib} KiB cannot be locked ({error}): {hint}")))?;
        filling.advance((to - from) as u64)?;
    }
    let (seed, mut from, mut walked) = (case.seed(), 0, 0_u64);
    case.values(|| {
        let memory = buffer.bytes_mut();
        let to = (from + PART_BYTES).min(memory.len());
        let faults = pattern.walk(&mut Words::of(&mut memory[from..to]), seed.wrapping_add(walked));
        sound(&faults, from)?;
        walked += (to - from) as u64;
        from = if to == memory.len() { 0 } else { to };
        Ok(0.0)
    })?;
    case.note("walked", if walked >= amount { "all" } else { "a part: give it more time by the profile" });
    Ok(())
}

/// An error with the first faults' places in the buffer, where there are any.
fn sound(faults: &Faults, from: usize) -> Result<()> {
    let told = |fault: &Fault| {
        let Fault { index, expected, found } = *fault;
        format!("at {:#x} expected {expected:#018x}, found {found:#018x}", from + index * 8)
    };
    let first: Vec<String> = faults.first.iter().map(told).collect();
    match faults.count {
        0 => Ok(()),
        count => Err(RoundError::failed(format!("memory errors: {count} wrong words, {}", first.join("; ")))),
    }
}
