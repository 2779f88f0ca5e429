//! Group paging: pages that come, go, and change what may be done with them.

mod fault;
mod reclaim;

crate::group!("paging":
    fault = fault::FAULT parallel_fault = fault::PARALLEL_FAULT user_fault = fault::USER_FAULT
    collapse = COLLAPSE mmap = MMAP unmap = UNMAP reclaim = reclaim::RECLAIM swap = reclaim::SWAP
    protect = PROTECT protection_fault = PROTECTION_FAULT
);

use hostmark_engine::prelude::*;

use crate::running::{Others, beside};
use crate::workloads::mappings::mapping::{Mapping, Sharing};
use crate::workloads::mappings::protection::Protected;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Paging");

/// Axis threads: of one process, each on its own CPU.
pub(crate) const THREADS: Axis = Axis::threads("threads", Points::OfHost(crate::running::powers_of_two));

/// Probe paging.collapse: base pages made into one huge page (MADV_COLLAPSE), by how many of them there are.
pub static COLLAPSE: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[Axis::count("pages", "512", Points::quick(&["512", "1"]).thorough(&["64"]))],
    limit: Limit::KernelEntry,
    from: Profile::Standard,
    measure: Measure::Run(measure_collapse),
    ..crate::texts::paging::COLLAPSE
};

fn measure_collapse(case: &mut Case) -> Result<()> {
    let (page, huge) = (Pages::Base.bytes(), Pages::Pmd.bytes());
    let pages = case.param::<usize>("pages")?.min(huge / page);
    case.may_have_huge_pages()?;
    case.may_fill(huge as u64)?;
    let faults = |work: &dyn Fn()| -> Result<u64> {
        let before = sys::usage::thread_faults()?.minor;
        work();
        Ok(sys::usage::thread_faults()?.minor - before)
    };
    let collapse = |clock: &Clock| -> Result<Ticks> {
        let mapping = Mapping::anonymous(huge, Pages::Pmd)?;
        mapping.want_huge_pages(false)?;
        if faults(&|| mapping.write_every(page, pages * page))? < pages as u64 {
            return Err(RoundError::wrong(say!("base pages came together")));
        }
        mapping.want_huge_pages(true)?;
        let start = clock.start();
        let collapsed = mapping.collapse();
        let took = clock.end().since(start);
        collapsed.or_lacking(|| say!("the kernel makes no huge page of base pages"))?;
        match faults(&|| mapping.write_every(page, huge))? as usize {
            // What else this thread touches first meanwhile may fault as well.
            faults if faults >= (huge / page - pages).div_ceil(2).max(8) => {
                Err(RoundError::wrong(say!("it is still in base pages")))
            }
            _ => Ok(took),
        }
    };
    case.timed(collapse).singly().time()
}

/// Probe paging.mmap: a file is mapped, touched and unmapped, by size.
pub static MMAP: Probe = Probe {
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
    measure: Measure::Run(measure_mmap),
    ..crate::texts::paging::MMAP
};

/// Distance between the touches of touch=tenth, bytes.
const TENTH_STRIDE: usize = 16 << 10;

fn measure_mmap(case: &mut Case) -> Result<()> {
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

/// Probe paging.unmap: giving pages back, by their number and by how many threads of the process run meanwhile.
pub static UNMAP: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::choice("by", "munmap", Points::quick(&["munmap", "dontneed"]).standard(&["free"])),
        Axis::count("pages", "1", Points::quick(&["1", "64"]).standard(&["512"]).thorough(&["8192"])),
        THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["pages", "threads"] }],
    limit: Limit::KernelEntry,
    from: Profile::Standard,
    measure: Measure::Run(measure_unmap),
    ..crate::texts::paging::UNMAP
};

fn measure_unmap(case: &mut Case) -> Result<()> {
    let by = case.param::<String>("by")?;
    let page = Pages::Base.bytes();
    let bytes = case.param::<usize>("pages")?.saturating_mul(page);
    case.may_fill(bytes as u64)?;
    let give_back = |clock: &Clock, others: &Others| -> Result<Ticks> {
        let mapping = Mapping::anonymous(bytes, Pages::Base)?;
        mapping.write_every(page, bytes);
        others.all_run();
        let start = clock.start();
        match by.as_str() {
            "munmap" => drop(mapping),
            "free" => mapping.give_back_lazily()?,
            _ => mapping.give_back()?,
        }
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| give_back(clock, others)).singly().time())
}

/// Probe paging.protect: taking the right to write from a page and giving it back, by running threads.
pub static PROTECT: Probe = Probe {
    axes: &[THREADS],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_protect),
    ..crate::texts::paging::PROTECT
};

fn measure_protect(case: &mut Case) -> Result<()> {
    let mapping = Mapping::plain(Pages::Base.bytes())?;
    mapping.write_every(1, 1);
    let protect_and_store = || {
        mapping.protect(false)?;
        mapping.protect(true)?;
        mapping.write_every(1, 1);
        std::io::Result::Ok(())
    };
    beside(case, || mapping.read_at(&[0]), |case, _| case.calls(protect_and_store).time())
}

/// Probe paging.protection_fault: a store to a read-only page, beyond what handling its signal costs.
pub static PROTECTION_FAULT: Probe = Probe {
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_protection_fault),
    ..crate::texts::paging::PROTECTION_FAULT
};

/// Number of faults of each kind in a sample.
const BATCH: u32 = 64;

fn measure_protection_fault(case: &mut Case) -> Result<()> {
    let protected = Protected::install()?;
    let (before, mut due) = (protected.handled(), 0);
    let (mut raw, mut handler) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut sent = Ok(());
        let each = |operation: &mut dyn FnMut()| clock.time(|| (0..BATCH).for_each(|_| operation())) / f64::from(BATCH);
        let fault = each(&mut || protected.fault());
        let signal = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send()));
        let nothing = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send_nothing()));
        sent?;
        due += 2 * u64::from(BATCH);
        if signal < nothing {
            return Ok(None);
        }
        raw.push(fault);
        handler.push(signal - nothing);
        Ok(Some(fault - (signal - nothing)))
    })?;
    case.also(Quantity::WHOLE.name, raw)?;
    case.also(Quantity::OVERHEAD.name, handler)?;
    match protected.handled() - before {
        handled if handled == due => Ok(()),
        handled => Err(RoundError::wrong(say!("{due} faults and signals were due and {handled} handled"))),
    }
}
