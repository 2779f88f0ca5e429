//! Probe memory.integrity: whether locked memory gives back what was written to it.

use hostmark_engine::prelude::*;

use crate::kernels::words::VolatileWords;

mod walk;
mod words;

use walk::WalkPattern;
use words::sound;

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory integrity", zh: "内存完整性" },
    revision: 2,
    unit: Unit::Count,
    better: Better::Lower,
    also: &[TESTED],
    explain: Explain {
        what: Text {
            en: "Memory is locked and tested in parts of 4 MiB, as many as a round has time for, one at least: 4 to 64 MiB of \
                 the quick profile, by pattern and machine. `tested` says how many bytes. `amount` is the most that a round \
                 tests, by default half of the free memory, rounded down to a power of two. Each test writes words, flushes them from all caches, reads them back and compares. \
                 Patterns: address stores each word's own address, then its inverse; inversions is the march C- test, \
                 upwards and downwards with seven backgrounds; moving walks a single one and a single zero through \
                 every bit of a word; random uses random words and their inverse. The value is the number of wrong \
                 words in one pass over a part. Any wrong word fails the case, which reports the number, and for the \
                 first ones the position, the expected and the found word: a median would hide an error that only one \
                 round has seen.",
            zh: "逐段锁定并测试内存，每段 4 MiB，一轮时间内能测多少段就测多少段，至少一段：快速档位为 4 到 64 MiB，视模式和机器而定。\
                 `tested` 给出测试的字节数。`amount` 是一轮最多测试的字节数，默认为空闲内存的一半，向下取 2 的幂。写入字、从所有缓存刷出、读回、比较。模式：address \
                 每个字写自己的地址，再取反；inversions 是 march C-，以七种背景上行下行；moving 在字的每一位上移动单个一与单个零；random 随机字及其\
                 反码。值为测试一段所见的错误字数。一旦发现错误，用例即以失败结束，并给出数量，以及最先几处的位置、期望值与读到的值：不能让\
                 中位数掩盖只有一轮见到的错误。",
        },
        why: Text {
            en: "Every other value assumes that memory keeps its contents. Without ECC nothing else reveals an error; \
                 with ECC an error seen here was beyond correction.",
            zh: "其他所有数字都假设内存会保持写入的内容。没有 ECC 时别无告知途径；有 ECC 时，在此看到的错误已无法纠正。",
        },
        reading: Text {
            en: "0 is the only good value, and it says nothing of memory outside of `tested`: a fault must lie in the \
                 pages that the kernel happened to allocate. A longer profile tests more \
                 (`hostmark run memory.integrity --profile thorough`); for hours of testing use a \
                 bootable memory test. inversions finds stuck bits, bits that do \
                 not flip, disturbing neighbour bits and faulty address lines; address finds faulty address lines \
                 fastest; moving and random find faults that need certain data.",
            zh: "只能是 0，且不说明 `tested` 之外的内存：故障必须恰好落在内核给的页中。更长的档位（`hostmark run memory.integrity --profile \
                 thorough`）会测试更多；要测试数小时，请用可引导的内存测试。inversions 能发现固定位、不翻转的位、相\
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
            Points::Listed { quick: &["inversions", "address", "moving", "random"], standard: &[], thorough: &[] },
        ),
        Axis::settled_size("amount", share),
    ],
    section: crate::section::INTEGRITY,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A part is walked as a whole, between two looks at the time.
const PART_BYTES: u64 = 4 << 20;

/// Bytes that a round tested.
const TESTED: Quantity =
    Quantity::given("tested", Unit::Bytes, Better::Higher, Text { en: "tested in a round", zh: "每轮测试的内存" });

/// What a round tests at most unless it is told: what it may fill, as a power of two, so that a case keeps its id from run to
/// run.
fn share(host: &HostFacts) -> u64 {
    1 << may_fill_bytes(host).max(PART_BYTES).ilog2()
}

fn measure(case: &mut Case) -> Result<()> {
    let name: String = case.param("pattern")?;
    let pattern = WalkPattern::named(&name)
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, format!("there is no pattern {name}")))?;
    let amount: u64 = case.param("amount")?;
    // A part tells something where others have the rest, and nothing of a size that this machine has not.
    if sys::memory::of_machine().is_some_and(|(all, _)| amount > all) {
        case.may_fill(amount)?;
    }
    let (mut buffer, filling) = room(case, amount)?;
    // What is locked is tested at once.
    let mut filling = filling.without_forecast();
    let (seed, whole) = (case.seed(), buffer.bytes().len());
    let (mut from, mut locked, mut tested, mut limit) = (0, 0, 0, None);
    // No part is walked only to be thrown away: what is found does not depend on warm caches.
    case.search(|_| {
        if from == locked && limit.is_none() && from < whole {
            let to = whole.min(from + PART_BYTES as usize);
            let lock = buffer.lock(from, to).map_err(|error| {
                let (kib, hint) = ((to - from) >> 10, "raise RLIMIT_MEMLOCK (ulimit -l)");
                RoundError::skipped(ReasonCode::ResourceLimit, format!("{kib} KiB cannot be locked ({error}): {hint}"))
            });
            match lock.and_then(|()| filling.advance((to - from) as u64)) {
                Ok(()) => locked = to,
                Err(error) if locked == 0 => return Err(error),
                Err(error) => limit = Some(error),
            }
        }
        if from == locked {
            from = 0;
        }
        let to = locked.min(from + PART_BYTES as usize);
        let faults =
            pattern.walk(&mut VolatileWords::of(&mut buffer.bytes_mut()[from..to]), seed.wrapping_add(from as u64));
        sound(&faults, from)?;
        (from, tested) = (to, tested.max(to));
        Ok(Some(0.0))
    })?;
    case.also(TESTED.name, [tested as f64])?;
    let walked = match limit {
        _ if tested as u64 >= amount => "all".to_owned(),
        Some(RoundError::Skipped(reason) | RoundError::Failed(reason)) => format!("a part: {reason}"),
        None if (whole as u64) < amount => "a part: no more may be filled".to_owned(),
        None => "a part: give it more time by the profile".to_owned(),
    };
    case.note("walked", walked);
    Ok(())
}

/// As much of `amount` as may be filled now, and can be had.
fn room(case: &Case, amount: u64) -> Result<(Buffer, Filling)> {
    let asked = amount.min(case.fillable_bytes().max(PART_BYTES));
    let reserve = |bytes| case.allot(1, bytes, Pages::Base, None)?.reserve();
    // Others may have taken memory since the run began.
    let smaller = std::iter::successors(Some(asked), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes >= PART_BYTES);
    smaller.map(reserve).find(Result::is_ok).unwrap_or_else(|| reserve(asked))
}
