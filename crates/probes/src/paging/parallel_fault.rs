//! Probe paging.parallel_fault: page faults on several CPUs at once, by threads of one process or by several processes.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::workloads::mappings::mapping::Mapping;

/// Pages of a mapping: so many that mapping and unmapping are a small part, and so few that caches hold them.
const PAGES: usize = 256;

pub static PROBE: Probe = Probe {
    title: Text { en: "Page faults in parallel", zh: "并行缺页" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Maps 256 base pages of private memory, writes to each, and unmaps them, over and over, each thread or process its \
                 own; the value is the time per page that each of them needs. threads are those of one process and share its \
                 address space; copies are processes, each with its own. Each has a CPU of its own.",
            zh: "反复映射 256 个基本页的私有内存，写每一页，再解除映射，各线程或进程用各自的映射；数值是它们各自每页所需的时间。threads \
                 是同一进程的线程，共用一个地址空间；copies 是多个进程，各有自己的地址空间。每个独占一个 CPU。",
        },
        why: Text {
            en: "Threads that allocate at the same time share the lock of the address space (mmap_lock), the counters of its memory \
                 and the TLB shootdowns of each other's unmapping. Servers split into processes, and allocators keep memory, to \
                 avoid that.",
            zh: "同时分配内存的线程共用地址空间的锁（mmap_lock）和内存计数，还要承受彼此解除映射时的 TLB shootdown。服务器拆成多个进程、分配\
                 器保留内存，都是为了避开这些。",
        },
        reading: Text {
            en: "threads=1 is paging.fault plus a page's share of mmap and munmap. Perfect scaling keeps the value constant. copies \
                 above 1 show what the CPUs share: zeroing bandwidth, the allocator's lists, the hypervisor. threads above copies of \
                 the same number is the price of one address space.",
            zh: "threads=1 是 paging.fault 加上每页分摊的 mmap 与 munmap。完美扩展时数值不变。copies 高于 1 份时反映各 CPU 共用的东西：清零\
                 的带宽、分配器的链表、虚拟机监控程序。同样数目下 threads 高出 copies 的部分就是共用一个地址空间的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18): 723 to 730 ns alone, 727 to 766 with 2 \
                 copies, 2.9 to 4.2 µs with 2 threads.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18）上实测：单独 723 到 730 ns，2 个 copies 为 727 到 766，2 个 threads \
                 为 2.9 到 4.2 µs。",
        },
        causes: Text {
            en: "Kernels before 6.4, which take the lock of the address space for every fault (since then only mapping and unmapping \
                 do); SMT siblings; control groups, whose counters all share; a hypervisor that serialises its own faults.",
            zh: "6.4 之前的内核每次缺页都要取地址空间的锁（之后只有映射与解除映射要取）；SMT 兄弟线程；共用计数的 cgroup；自身缺页串行处理的虚\
                 拟机监控程序。",
        },
    },
    related: &["paging.fault", "paging.unmap", "cpu.scaling", "memory.fill"],
    axes: &[THREADS, Axis::copies(Profile::Standard)],
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let cpus = case.thread_cpus();
    case.may_fill((cpus.len() * PAGES * Pages::Base.bytes()) as u64)?;
    match cpus.as_slice() {
        [] | [_] => {
            let mut region = Region::default();
            case.calls(|| region.fault(PAGES as u64)).each(PAGES as u64).time()
        }
        cpus => case
            .workers(cpus, |_| {
                let mut region = Region::default();
                Ok(move |faults: u64| region.fault(faults))
            })
            .time(),
    }
}

/// A mapping whose pages are touched one after another, and that is made anew when all are.
#[derive(Default)]
struct Region {
    mapping: Option<Mapping>,
    touched: usize,
}

impl Region {
    fn fault(&mut self, times: u64) -> std::io::Result<()> {
        let page = Pages::Base.bytes();
        for _ in 0..times {
            let mapping = match self.mapping.take() {
                Some(mapping) => mapping,
                None => Mapping::anonymous(PAGES * page, Pages::Base)?,
            };
            mapping.write_at(self.touched * page);
            self.touched = (self.touched + 1) % PAGES;
            self.mapping = Some(mapping).filter(|_| self.touched > 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::counters::thread_faults;

    #[test]
    fn every_write_is_a_fault_however_they_are_cut_into_calls() {
        const CALLS: [u64; 4] = [1, PAGES as u64 - 1, 3 * PAGES as u64, 700];
        // Whoever carries the code out may fault as well, as an emulator does at first: the least of some attempts counts.
        let mut least = [u64::MAX; CALLS.len()];
        for _ in 0..5 {
            let mut region = Region::default();
            for (times, least) in CALLS.into_iter().zip(&mut least) {
                let before = thread_faults().unwrap().minor;
                region.fault(times).unwrap();
                *least = (thread_faults().unwrap().minor - before).min(*least);
            }
            assert!(region.mapping.is_some() && region.touched == 700 % PAGES);
        }
        for (times, faults) in CALLS.into_iter().zip(least) {
            assert!((times..times + 8).contains(&faults), "{faults} of {times}");
        }
    }
}
