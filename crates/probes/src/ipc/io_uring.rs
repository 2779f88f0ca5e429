//! Probe ipc.io_uring: a message over a socket of which one step, send, poll or receive, is made by io_uring, beside plain calls.

use hostmark_engine::prelude::*;

use crate::workloads::network::uring_messages::{By, Messages, Step};

pub static PROBE: Probe = Probe {
    title: Text { en: "Socket message by io_uring", zh: "io_uring 收发套接字消息" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "One thread holds both ends of `batch` pairs of Unix stream sockets. It sends a message of 64 bytes on each, then \
                 receives all; the value is the time per message, from before its send until it was compared with what was sent. \
                 op names the step that `by` makes; the others are plain calls (sendto, recvfrom). by=call makes a plain call per \
                 message; op=poll asks in between by one ppoll for all. by=ring writes an entry per message (IORING_OP_SEND, POLL_ADD, \
                 RECV) and enters the kernel once for all. registered does so with the sockets registered. multishot has one entry \
                 per socket, submitted once, which completes for each message: of op=receive into buffers that the kernel chooses \
                 from a ring of them. submission=polled leaves it to a kernel thread (SQPOLL) on the nearest other CPU. Each \
                 completion and each byte is checked.",
            zh: "一个线程持有 `batch` 对 Unix 流套接字的两端。它在每一对上发送一条 64 字节的消息，然后全部接收；数值是每条消息的时间，从发送之前到与发出的内容比较完毕。\
                 op 指明由 `by` 完成的步骤，其余步骤用普通调用（sendto、recvfrom）。by=call：每条消息一次普通调用；op=poll 在两者之间用一次 ppoll 询问全部。\
                 by=ring：每条消息一个提交项（IORING_OP_SEND、POLL_ADD、RECV），全部只进入内核一次。registered：同上，但套接字事先注册。multishot：每个套接字一个提交项，只提交一次，\
                 此后每来一条消息就完成一次；op=receive 时由内核从缓冲区环中挑选缓冲区。submission=polled 把工作留给最近的另一个 CPU 上的内核线程（SQPOLL）。每个完成项与每个字节都要检查。",
        },
        why: Text {
            en: "Servers move from epoll and a call per message to io_uring. What that saves is the way into the kernel, and what it \
                 costs is the request: which is more depends on the kernel, its mitigations and the batch. A Unix socket has no protocol, \
                 timers or softirqs, so the difference between two ways is theirs.",
            zh: "服务器从 epoll 加每条消息一次调用改用 io_uring。省下的是进入内核的代价，付出的是请求本身的代价；孰多孰少取决于内核、缓解措施与批的大小。Unix 套接字没有协议、定时器和软中断，\
                 因此两种方式之差就是方式本身的差别。",
        },
        reading: Text {
            en: "Subtract by=call of the same op: below it the way pays. op=send and op=receive by=call are the same program. With batch 1 \
                 each way enters the kernel as often as a call does, and adds its request. A multishot receive needs no entry, \
                 but a wake-up and a look at the socket that a plain receive does without, since its message is there already. poll: the \
                 ppoll for all is cheap per socket; POLL_ADD makes a request of each.",
            zh: "减去同一 op 的 by=call：低于它时该方式才划算。op=send 与 op=receive 的 by=call 是同一个程序。batch 1 时各方式进入内核的次数与普通调用一样多，还要加上请求。multishot 接收不需要提交项，\
                 但要一次唤醒和再看一次套接字；普通接收时消息已在那里，不需要这些。poll：一次 ppoll 摊到每个套接字上很便宜，POLL_ADD 则为每个套接字生成一个请求。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs: call 1.60 to 1.62 µs; receive by ring 1.44 \
                 to 1.45, registered 1.40 to 1.41, multishot 1.59 to 1.60; send by ring 1.45 to 1.46, registered 1.41 to 1.42; poll by \
                 call 1.67 to 1.68, ring 1.89 to 1.91, registered 1.86 to 1.87, multishot 1.78 to 1.79. batch 1: call 1.62 to 1.63, \
                 ring 2.07 to 2.16, multishot 2.27 to 2.29. polled: ring 1.50 to 2.36, multishot 1.07 to 1.98.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测（五次运行）：call 1.60 到 1.62 µs；receive：ring 1.44 到 1.45，registered 1.40 到 1.41，\
                 multishot 1.59 到 1.60；send：ring 1.45 到 1.46，registered 1.41 到 1.42；poll：call 1.67 到 1.68，ring 1.89 到 1.91，registered 1.86 到 1.87，multishot 1.78 到 1.79。\
                 batch 1：call 1.62 到 1.63，ring 2.07 到 2.16，multishot 2.27 到 2.29。polled：ring 1.50 到 2.36，multishot 1.07 到 1.98。",
        },
        causes: Text {
            en: "Skipped: io_uring is forbidden (kernel.io_uring_disabled, seccomp), or the kernel is older than what is asked for: \
                 multishot poll came with Linux 5.13, rings of buffers with 5.19, multishot receive with 6.0. Before 6.1 the thread is \
                 interrupted for each completion of a multishot request. polled: as for syscall.io_uring.",
            zh: "被跳过：io_uring 被禁用（kernel.io_uring_disabled、seccomp），或内核太旧：multishot poll 始于 Linux 5.13，缓冲区环始于 5.19，multishot 接收始于 6.0。6.1 之前，\
                 multishot 请求每完成一次都要打断线程。polled：同 syscall.io_uring。",
        },
    },
    related: &["syscall.io_uring", "file.io_uring", "syscall.epoll", "ipc.socketpair"],
    axes: &[
        Axis::choice(
            "op",
            "receive",
            Points::Listed { quick: &["receive"], standard: &[], thorough: &["send", "poll"] },
        ),
        Axis::choice(
            "by",
            "ring",
            Points::Listed { quick: &["ring", "call", "registered", "multishot"], standard: &[], thorough: &[] },
        ),
        Axis::count("batch", "16", Points::Listed { quick: &["16"], standard: &[], thorough: &["1", "64"] }),
        Axis {
            points: Points::Listed { quick: &["call"], standard: &[], thorough: &["polled"] },
            ..crate::submission::SUBMISSION
        },
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["op", "by"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "batch"] },
        FullFactorial { from: Profile::Thorough, axes: &["by", "submission"] },
    ],
    limit: Limit::KernelEntry,
    core_bound: crate::submission::CORE_BOUND,
    section: crate::section::COMMUNICATION,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let step = match case.param::<String>("op")?.as_str() {
        "send" => Step::Send,
        "poll" => Step::Poll,
        _ => Step::Receive,
    };
    let by = match case.param::<String>("by")?.as_str() {
        "call" => By::Call,
        "registered" => By::Registered,
        "multishot" if step == Step::Send => {
            return Err(RoundError::skipped(ReasonCode::NotApplicable, "to be sent, each message needs an entry"));
        }
        "multishot" => By::Multishot,
        _ => By::Ring,
    };
    let poller = crate::submission::poller(case, by != By::Call)?;
    let what = match by {
        By::Multishot => "io_uring with multishot requests is not available",
        _ => "io_uring is not available",
    };
    let mut messages = Messages::new(batch, (step, by), poller).map_err(|error| RoundError::lacking(what, &error))?;
    case.calls(|| messages.pass()).each(u64::from(batch)).time()
}
