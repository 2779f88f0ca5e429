//! Probe paging.mmap: a file is mapped, touched and unmapped, by size.

use hostmark_engine::prelude::*;
use sys::mapping::{Mapping, Sharing};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Map, touch, unmap", zh: "映射、触碰、解除" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "mmap of `size` bytes, shared and writable, of a file that is cached whole; then a touch; then munmap. touch=tenth stores a byte \
                 every 16 KiB in the first tenth, so that most of the mapping is sparse; all loads a byte of every page; none touches \
                 nothing. backing=anonymous maps private memory instead, of the page size that the system gives.",
            zh: "以共享可写方式 mmap 一个已全部在缓存中的文件的 `size` 字节，触碰，再 munmap。touch=tenth 在前十分之一中每 16 KiB 存一个字节，\
                 映射的大部分保持稀疏；all 读每一页的一个字节；none 不触碰。backing=anonymous 改为映射私有内存，页大小由系统决定。",
        },
        why: Text {
            en: "Databases, loaders and allocators map and unmap all the time. A mapping itself costs the same at any size: what grows is the \
                 faults that fill it and, at the end, the walk that takes its pages out and the TLB flush.",
            zh: "数据库、加载器和分配器不断映射与解除映射。映射本身的代价与大小无关：增长的是填充它的缺页，以及结束时取下各页的遍历与 TLB 刷新。",
        },
        reading: Text {
            en: "touch=none 1 to 4 µs at every size. tenth at 8 MiB 30 to 100 µs: 52 faults of 0.5 to 1.5 µs, as paging.fault has them \
                 (file_write), and their removal. Linear in size beyond 1 MiB; what rises faster points to a slow free of pages or to a \
                 hypervisor that backs them late. Compare sizes only with themselves: lmbench takes a share of the host's memory.",
            zh: "touch=none 在任何大小下都是 1 到 4 µs。8 MiB 的 tenth 为 30 到 100 µs：52 次 0.5 到 1.5 µs 的缺页（见 paging.fault 的 file_write）\
                 及其移除。1 MiB 以上与大小成正比；涨得更快则可能是释放页慢，或虚拟机监控程序很晚才提供内存。只在相同大小之间比较：\
                 lmbench 按主机内存的比例取大小。",
        },
    },
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::Listed {
                quick: &["8388608"],
                standard: &["65536", "1048576", "67108864"],
                thorough: &["536870912"],
            },
        ),
        Axis::choice("touch", "tenth", Points::Listed { quick: &["tenth"], standard: &["none", "all"], thorough: &[] }),
        Axis::choice("backing", "file", Points::Listed { quick: &["file"], standard: &["anonymous"], thorough: &[] }),
        crate::place::PLACE,
    ],
    cross: &[Cross { from: Profile::Thorough, axes: &["size", "touch", "backing"] }],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_mmap"],
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
};

/// Between the touches of touch=tenth, bytes.
const TENTH_STRIDE: usize = 16 << 10;

fn measure(case: &mut Case) -> Result<()> {
    let bytes: u64 = case.param("size")?;
    let size = usize::try_from(bytes).map_err(Stop::skipped)?;
    let page = Pages::Base.bytes();
    let touch: fn(&Mapping, usize, usize) = match case.param::<String>("touch")?.as_str() {
        "none" => |_, _, _| {},
        "all" => |mapping, size, page| mapping.read_every(page, size),
        _ => |mapping, size, _| mapping.write_every(TENTH_STRIDE, (size / 10).max(1)),
    };
    if case.param::<String>("backing")? == "anonymous" {
        case.may_fill(bytes)?;
        return case.time(|| Mapping::plain(size).map(|mapping| touch(&mapping, size, page)));
    }
    let directory = crate::place::directory(case)?;
    let file = crate::place::filled(case, &directory, bytes)?;
    case.time(|| Mapping::file(&file, size, Sharing::Shared, true).map(|mapping| touch(&mapping, size, page)))
}
