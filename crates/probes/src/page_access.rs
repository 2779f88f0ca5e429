//! Accesses to the first page of a file, which several probes time: on which file, and through what.

use hostmark_engine::prelude::*;

use crate::workloads::storage::files::{self, OwnedFd};

/// Axis through: whether the page cache answers or the device.
pub const THROUGH: Axis =
    Axis::choice("through", "cache", Points::Listed { quick: &["cache"], standard: &["direct"], thorough: &[] });
/// Every binding with the cache and without.
pub const BOTH_BINDINGS: &[FullFactorial] = &[FullFactorial { from: Profile::Standard, axes: &["bind", "through"] }];
/// What an access at a file's start moves: a page on most machines.
const PAGE_BYTES: u64 = 4096;

/// What the published report has for reads, of both sides.
pub const READ_FIGURES: Text = Text {
    en: "A published report on a Core i7-6500U (Ubuntu 18.04, Linux 5.3) has for ten thousand unbound in \
         user space 21.3 M, inside the kernel 7.0 M reference cycles, and in a guest on it \
         23.5 M.",
    zh: "一份公开的报告（Core i7-6500U，Ubuntu 18.04，Linux 5.3）：一万次不绑定的操作，用户态 21.3 M 个参考周期，\
         内核态 7.0 M 个，其上的虚拟机中 23.5 M 个。",
};
/// The same for writes.
pub const OVERWRITE_FIGURES: Text = Text {
    en: "A published report on a Core i7-6500U (Ubuntu 18.04, Linux 5.3) has for ten thousand unbound in \
         user space 40.4 M, inside the kernel 23.6 M reference cycles, and in a guest on it \
         44.8 M.",
    zh: "一份公开的报告（Core i7-6500U，Ubuntu 18.04，Linux 5.3）：一万次不绑定的操作，用户态 40.4 M 个参考周期，\
         内核态 23.6 M 个，其上的虚拟机中 44.8 M 个。",
};
/// Why an access takes long inside the kernel.
pub const CAUSES_INSIDE: Text = Text {
    en: "A slow filesystem or security module: both stand between this call and the page. On CPU 0 more \
         than elsewhere: interrupts. More in a guest than natively: nested paging and exits for timers.",
    zh: "文件系统或安全模块较慢：二者都位于该调用与页之间。CPU 0 上高于别处：中断。虚拟机中高于本机：嵌套分页，以\
         及定时器引起的退出。",
};

/// A file of a page on the disk of the scratch directory.
pub fn on_disk(case: &mut Case) -> Result<OwnedFd> {
    crate::place::on_device(case, PAGE_BYTES)
}

/// The same as the axis `through` has it, and memory of a page to read it into or write it from.
pub fn at_start(case: &mut Case) -> Result<(OwnedFd, Buffer)> {
    let file = on_disk(case)?;
    if case.param::<String>("through")? == "direct" {
        files::bypass_cache(&file).map_err(|error| {
            RoundError::unable(
                ReasonCode::Filesystem,
                "the filesystem of the scratch directory has no direct access",
                error,
            )
        })?;
    }
    Ok((file, case.buffer(PAGE_BYTES, Pages::Base, None)?))
}
