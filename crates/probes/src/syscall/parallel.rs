//! Probe syscall.parallel: calls on several CPUs at once, each on objects of its own, by threads of one process or by several processes.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicU32;

use hostmark_engine::prelude::sys::futex;
use hostmark_engine::prelude::*;

use crate::authenticated::PATIENCE;
use crate::paging::THREADS;
use crate::workloads;
use crate::workloads::mappings::heap::Heap;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::network::{local, socket};
use crate::workloads::storage::create_delete::FileNames;
use crate::workloads::storage::files::{self, OwnedFd};
use crate::workloads::storage::path_ops::KernelPath;

/// What is done; from the thorough profile on also the further ones.
const OPERATIONS: &[&str] = &["open", "stat", "map", "futex", "pipe", "unix", "unlink", "unlink_scratch"];
const FURTHER: &[&str] = &["null", "connect", "allocate"];

pub static PROBE: Probe = Probe {
    title: Text { en: "Calls in parallel", zh: "并行系统调用" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Each thread or process does the same over and over with objects of its own; the value is the time that each of them \
                 needs for one operation. call=open opens and closes its file, stat asks for its status, map maps and unmaps one page \
                 that is never touched, futex wakes nobody on its word, pipe and unix write one byte into its pipe or socket pair \
                 and read it back, unlink creates and removes its file, null is getppid, connect makes a TCP connection over \
                 loopback to its own listener, accepts it and has it reset (no port stays in TIME_WAIT), \
                 allocate frees one of its 1024 blocks of the C library that hostmark is built with, whichever, and \
                 asks for another of 16 to 4095 bytes. threads are those of one process, with their files in one \
                 directory of a tmpfs; copies are processes, each with its directory. unlink_scratch is unlink in the scratch \
                 directory, on the filesystem that lies there. Each has a CPU of its own.",
            zh: "各线程或进程用各自的对象反复做同一件事；数值是它们各自每次操作所需的时间。call=open 打开并关闭自己的文件，stat 查询其状态，map \
                 映射再解除映射一个从不访问的页，futex 在自己的字上唤醒（无人等待），pipe 与 unix 向自己的管道或套接字对写一个字节再读回，unlink \
                 创建并删除自己的文件，null 为 getppid，connect 经环回接口向自己的监听者建立一个 TCP 连接，接受后以复位关闭（没有端口停留在 TIME_WAIT），allocate \
                 从自己的 1024 个内存块中任取一块释放，再分配一块 16 到 4095 字节的（用 hostmark 所链接的 C 库）。threads 是同一进程的线程，文件同在 tmpfs 的一个目录中；copies 是多个进程，各有自己的目录。unlink_scratch 是在临时\
                 目录中、即在其文件系统上的 unlink。每个独占一个 CPU。",
        },
        why: Text {
            en: "Nothing of this is shared by the program, so what grows with the number of CPUs is the kernel's (of allocate, the C library's): reference counts, \
                 locks and lists that all of them write. It decides how many cores a busy server can use, and whether processes \
                 serve it better than threads.",
            zh: "程序本身没有共用任何东西，所以随 CPU 数增长的部分都属于内核（allocate 则属于 C 库）：大家都要写的引用计数、锁与链表。它决定繁忙的服务器能用上多少核心，\
                 以及用多进程是否好过多线程。",
        },
        reading: Text {
            en: "Perfect scaling keeps the value constant. threads above copies of the same number is the price of one process: its \
                 descriptor table (open, pipe, unix), the lock of its address space (map), and one directory (unlink, whose lock \
                 lets one in at a time). \
                 null shares nothing; allocate is the library's own lock or lack of one: glibc keeps blocks by thread, musl has one \
                 lock for all. copies above 1 show what the whole kernel shares. A report tells the scaling law where \
                 five numbers of CPUs or more were measured.",
            zh: "完美扩展时数值不变。同样数目下 threads 高出 copies 的部分是同一进程的代价：描述符表（open、pipe、unix）、地址空间的锁（map），以及\
                 同一个目录（unlink，其锁一次只放一个进入）。null 什么都不共用；allocate 取决于 C 库的锁：glibc 按线程保留内存块，musl 只有一把锁。copies 高于 1 份时反映整个内核共用的东西。测了五个以上 CPU 数目时，报告会给出扩展规律。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), one run, alone: open 1.9 µs, stat 0.92, map 3.1, futex 0.23, pipe 0.66, unix 1.7, unlink 7.5; five runs of unlink_scratch on ext4 15 to 46; five runs of null 0.16, connect 32.3 to 33.6, allocate 0.037 to 0.039 (glibc). Two copies are as fast. Two threads: map 6.6 to 11.2 µs, unlink 9.9, pipe 0.80, null 0.17 to 0.18, connect 34.9 to 36.8, allocate 0.039 to 0.043, the others within 11 %.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（一次运行），单独：open 1.9 µs，stat 0.92，map 3.1，futex 0.23，pipe 0.66，unix 1.7，unlink 7.5；unlink_scratch 在 ext4 上五次运行为 15 到 46；五次运行的 null 0.16，connect 32.3 到 33.6，allocate 0.037 到 0.039（glibc）。两个 copies 同样快。两个 threads：map 6.6 到 11.2 µs，unlink 9.9，pipe 0.80，null 0.17 到 0.18，connect 34.9 到 36.8，allocate 0.039 到 0.043，其余相差 11% 以内。",
        },
        causes: Text {
            en: "SMT siblings; memory control groups, whose counters all CPUs write; security modules with one lock; auditing; old \
                 kernels, which lock more; a hypervisor that stops the holder of a lock.",
            zh: "SMT 兄弟线程；计数由所有 CPU 共写的内存 cgroup；只有一把锁的安全模块；审计；锁更多的旧内核；使持锁者停下的虚拟机监控程序。",
        },
    },
    related: &["paging.parallel_fault", "cpu.scaling", "syscall.open_close", "file.delete"],
    axes: &[
        Axis::choice("call", "open", Points::Listed { quick: OPERATIONS, standard: &[], thorough: FURTHER }),
        THREADS,
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["call", "threads"] },
        FullFactorial { from: Profile::Standard, axes: &["call", "copies"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (name, cpus) = (case.param::<String>("call")?, case.thread_cpus());
    let directory = match name.as_str() {
        "unlink_scratch" => crate::place::scratch(case)?,
        _ => case.memory_dir()?,
    };
    match cpus.as_slice() {
        [] | [_] => {
            let mut operation = Operation::of(&name, &directory, 0)?;
            case.loops(|n| operation.repeat(n)).time()
        }
        cpus => case
            .workers(cpus, |cpu| {
                let mut operation = Operation::of(&name, &directory, cpu.0)?;
                Ok(move |n: u64| operation.repeat(n))
            })
            .time(),
    }
}

/// An operation with the objects of one party.
enum Operation {
    Open(KernelPath),
    Stat(KernelPath),
    Map,
    Futex(AtomicU32),
    /// A pipe, or a pair of sockets: where a byte goes in, and where it comes out.
    Byte(OwnedFd, OwnedFd),
    Unlink(FileNames),
    Null,
    /// Who accepts, and where.
    Connect(TcpListener, SocketAddr),
    Allocate(Heap),
}

impl Operation {
    fn of(name: &str, directory: &Path, party: usize) -> Result<Operation> {
        let file = || {
            let path = directory.join(format!("file{party}"));
            files::write(&path, b"x", 0o600)?;
            KernelPath::new(&path)
        };
        Ok(match name {
            "stat" => Operation::Stat(file()?),
            "map" => Operation::Map,
            "futex" => Operation::Futex(AtomicU32::new(0)),
            "pipe" => {
                let (out, into) = std::io::pipe().call("pipe2")?;
                Operation::Byte(into.into(), out.into())
            }
            "unix" => {
                let (into, out) = std::os::unix::net::UnixStream::pair().call("socketpair")?;
                Operation::Byte(into.into(), out.into())
            }
            "unlink" | "unlink_scratch" => Operation::Unlink(FileNames::named(directory, [format!("new{party}")])?),
            "null" => Operation::Null,
            "connect" => {
                let (listener, address) = local::tcp_listener(&local::LOOPBACK)?;
                Operation::Connect(listener, address)
            }
            "allocate" => Operation::Allocate(Heap::new(party)?),
            _ => Operation::Open(file()?),
        })
    }

    fn repeat(&mut self, times: u64) -> std::io::Result<()> {
        let mut all = 0..times;
        match self {
            Operation::Open(path) => all.try_for_each(|_| path.open_close()),
            Operation::Stat(path) => all.try_for_each(|_| path.stat()),
            Operation::Map => all.try_for_each(|_| Mapping::plain(Pages::Base.bytes()).map(drop)),
            Operation::Futex(word) => all.try_for_each(|_| futex::wake(word, true).map(drop)),
            Operation::Byte(into, out) => all.try_for_each(|_| {
                files::write_byte(into)?;
                files::read_byte(out)
            }),
            Operation::Unlink(names) => all.try_for_each(|_| {
                names.create(b"")?;
                names.delete()
            }),
            Operation::Null => all.try_for_each(|_| {
                std::hint::black_box(workloads::getppid());
                Ok(())
            }),
            Operation::Connect(listener, address) => all.try_for_each(|_| {
                let near = socket::connect(*address, PATIENCE)?;
                let (far, _) = listener.accept().call("accept4")?;
                // The end that is reset first has none wait for a minute in TIME_WAIT.
                drop(near);
                drop(far);
                Ok(())
            }),
            Operation::Allocate(heap) => all.try_for_each(|_| heap.replace()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_do_every_operation_beside_each_other_and_leave_their_files_alone() {
        for name in OPERATIONS.iter().chain(FURTHER) {
            let directory = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                for party in 0..4 {
                    let path = directory.path();
                    scope.spawn(move || Operation::of(name, path, party).unwrap().repeat(200).unwrap());
                }
            });
            let left = std::fs::read_dir(directory.path()).unwrap().count();
            assert_eq!(left, if ["open", "stat"].contains(name) { 4 } else { 0 }, "{name}");
        }
    }
}
