//! Probe paging.mmap: a file is mapped, touched and unmapped, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::quick(&["8388608"]).standard(&["65536", "1048576", "67108864"]).thorough(&["536870912"]),
        ),
        Axis::choice("touch", "tenth", Points::quick(&["tenth"]).standard(&["none", "all"])),
        Axis::choice("backing", "file", Points::quick(&["file"]).standard(&["anonymous"])),
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "touch", "backing"] }],
    limit: Limit::KernelEntry,
    measure: Measure::Run(measure),
    ..crate::texts::paging::MMAP
};

/// Distance between the touches of touch=tenth, bytes.
const TENTH_STRIDE: usize = 16 << 10;

fn measure(case: &mut Case) -> Result<()> {
    let bytes: u64 = case.param("size")?;
    let size = usize::try_from(bytes)?;
    let page = Pages::Base.bytes();
    let touch: fn(&Mapping, usize, usize) = match case.param::<String>("touch")?.as_str() {
        "none" => |_, _, _| {},
        "all" => |mapping, size, page| mapping.read_every(page, size),
        _ => |mapping, size, _| mapping.write_every(TENTH_STRIDE, (size / 10).max(1)),
    };
    if case.param::<String>("backing")? == "anonymous" {
        case.may_fill(bytes)?;
        return case.calls(|| Mapping::plain(size).map(|mapping| touch(&mapping, size, page))).time();
    }
    let directory = crate::place::directory(case)?;
    let file = crate::place::filled(case, &directory, bytes)?;
    case.calls(|| Mapping::file(&file, size, Sharing::Shared, true).map(|mapping| touch(&mapping, size, page))).time()
}
