//! Probe paging.fault: the first access to a page, by what lies behind it.

mod first;
mod major;
mod pass;
mod returned;

pub(super) use first::AGAIN;
use first::first;
use hostmark_engine::prelude::*;
use major::major;
use pass::{PER_PAGE, Pass, passes};
use returned::returned;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[PER_PAGE, AGAIN, Quantity::DEVICE_SHARE],
    related: &["paging.mmap", "paging.protection_fault", "memory.tlb", "process.fork_exit"],
    axes: &[Axis::choice(
        "kind",
        "anonymous",
        Points::Listed {
            quick: &["anonymous", "file", "first"],
            standard: &["anonymous_pmd", "file_write", "copy_on_write", "file_major"],
            // Five seconds of each of its rounds are a wait.
            thorough: &["returned"],
        },
    )],
    limit: Limit::CyclesPerOp,
    blocking: true,
    replaces: &["lat_pagefault"],
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
    ..crate::texts::paging::FAULT
};

/// Bytes of a pass: of base pages, and of huge ones.
const BASE_BYTES: usize = 4 << 20;
const PMD_BYTES: usize = 16 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    match case.param::<String>("kind")?.as_str() {
        "anonymous" => anonymous(case, BASE_BYTES, Pages::Base),
        "anonymous_pmd" => case.may_have_huge_pages().and_then(|()| anonymous(case, PMD_BYTES, Pages::Pmd)),
        "file_major" => major(case),
        "first" => first(case),
        "returned" => returned(case),
        kind => {
            let directory = case.memory_dir()?;
            let file = crate::place::filled(case, &directory, BASE_BYTES as u64)?;
            if kind == "copy_on_write" {
                case.may_fill(BASE_BYTES as u64)?;
            }
            let pages = (kind == "file").then_some(BASE_BYTES / page);
            passes(case, pages, |clock| {
                let sharing = if kind == "copy_on_write" { Sharing::Private } else { Sharing::Shared };
                let mapping = Mapping::file(&file, BASE_BYTES, sharing, kind != "file")?;
                if kind == "copy_on_write" {
                    mapping.read_every(page, BASE_BYTES);
                }
                Pass::of(clock, || match kind {
                    "file" => mapping.read_every(page, BASE_BYTES),
                    _ => mapping.write_every(page, BASE_BYTES),
                })
            })
        }
    }
}

fn anonymous(case: &mut Case, bytes: usize, pages: Pages) -> Result<()> {
    case.may_fill(bytes as u64)?;
    let bytes = bytes.next_multiple_of(pages.bytes());
    passes(case, None, |clock| {
        let mapping = Mapping::anonymous(bytes, pages)?;
        let pass = Pass::of(clock, || mapping.write_every(pages.bytes(), bytes))?;
        match pass.faults * pages.bytes() as u64 > 2 * bytes as u64 {
            true => Err(RoundError::skipped(ReasonCode::HugePages, say!("the kernel gives no huge pages"))),
            false => Ok(pass),
        }
    })
}
