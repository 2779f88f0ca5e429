//! Probe process.fork_exec: a child is made, becomes another program, and is waited for.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + exec", zh: "创建进程并执行程序" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "clone(2) as in process.fork_exit, then execve in the child with an empty environment; the parent waits and checks \
                 that the program ended with status 0, so that an exec which fails is no fast one. child=static is an ELF file of \
                 some hundred bytes that only exits; child=dynamic is /bin/true with its loader and its C library.",
            zh: "如 process.fork_exit 先 clone(2)，随后子进程以空环境 execve；父进程等待并检查程序以状态 0 结束，因此失败的 exec 不会显得很快。 \
                 child=static 是一个只会退出、百余字节的 ELF 文件；child=dynamic 是 /bin/true，含动态加载器与 C 库。",
        },
        why: Text {
            en: "Every command in a script, every compiler call of a build and every CGI request pays this.",
            zh: "脚本里的每条命令、构建中的每次编译调用、每个 CGI 请求都要付这个代价。",
        },
        reading: Text {
            en: "100 to 250 µs for the static child on bare metal; the dynamic one costs two to four times that, for mapping and \
                 relocating libraries: its price is mostly page faults. In a guest with shadow paging or without huge pages in \
                 the nested tables both grow two- to threefold.",
            zh: "裸机上静态子进程约 100 到 250 µs；动态的因映射与重定位库需要两到四倍，主要是缺页的代价。采用影子页表、或嵌套页表没有大页的虚拟机里 \
                 两者都会增至两三倍。",
        },
    },
    axes: &[super::CHILD],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::child(case)?;
    let program = sys::program::Program::new(&path, &[])?;
    super::run(case, &program)
}
