//! Probe net.http: a small file is fetched by HTTP/1.1, over a connection that stands or over one made for it.

mod server;

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::connect;
use crate::kernels::http::{LONGEST_HEAD, get, length, read_head};
use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "HTTP GET", zh: "HTTP GET 请求" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "A client requests a file of `size` bytes with HTTP/1.1 GET and reads the whole response. The server, \
                 a separate process, reads the request, opens and reads the file in the scratch directory (cached), \
                 and sends header and body with one call. keep_alive sends every request over one TCP connection. \
                 close opens one for each request, which the server closes and the client resets (see \
                 net.tcp_connect). Both sides are hostmark's own code and parse what they receive. The connection uses \
                 loopback; cpus sets where the two run. The value is the median from request to last byte; percentiles \
                 cover all.",
            zh: "客户端用 HTTP/1.1 的 GET 向服务器请求一个 `size` 字节的文件，并读完整个响应。服务器是独立进程：读取请求，打开并读取临时目录中的文件\
                 （已在缓存中），用一次调用发出响应头与正文。keep_alive：所有请求走同一条 TCP 连接；close：每个请求一条连接，\
                 由服务器关闭、客户端复位，见 net.tcp_connect。双方均为 hostmark 自己的实现，并解析收到的内容。连接经由环回接口；\
                 cpus 表示双方运行的位置。数值为从请求到最后一个字节的中位数，分位数取自全部请求。",
        },
        why: Text {
            en: "The minimum cost of every local HTTP service, proxy and health check: connections, files and wake-ups \
                 in the kernel. A server's own work (TLS, routing, logging, a runtime) comes on top, and is mostly \
                 larger.",
            zh: "这是每个本机 HTTP 服务、代理和健康检查的下限：内核在连接、文件和唤醒上的开销。服务器自身的工作（TLS、路由、日志、运行时）另计，\
                 且通常更多。",
        },
        reading: Text {
            en: "keep_alive is net.tcp plus opening, reading and closing the file, and parsing. close is \
                 net.tcp_connect plus the same again. If production uses close, keeping connections gains a factor of \
                 2 to 4. Large files also pay for their copies, at about the rate of net.tcp_bandwidth.",
            zh: "keep_alive：net.tcp 再加打开、读取、关闭文件以及处理文本。close：net.tcp_connect 再加同样的部分；生产环境中若是 close，保持连接可快 \
                 2 到 4 倍。大文件还要付复制的代价，速率约等于 net.tcp_bandwidth。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), one CPU: keep_alive 12.4 to \
                 12.5 µs on a quiet machine, 80 000 requests per second, close 45 to 54 µs; keep_alive on two CPUs \
                 that share a cache 21 to 31 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（同一 CPU）：keep_alive 安静时 12.4 到 12.5 µs，即\
                 每秒 80 000 个请求；close 45 到 54 µs；keep_alive 在共享缓存的两个 CPU 上 21 到 31 µs。",
        },
        causes: Text {
            en: "As for net.tcp and syscall.open_close; a scratch directory on a slow filesystem.",
            zh: "同 net.tcp 与 syscall.open_close；临时目录位于慢文件系统上。",
        },
    },
    related: &["net.tcp", "net.tcp_connect", "file.open_reread", "syscall.open_close"],
    differs: Some(Text {
        en: "lat_http fetches a list of files with HTTP/1.0, one connection each, and prints megabytes per second and \
             the mean; lmhttp forks a server of several processes. hostmark's unit is one request, with percentiles, \
             and connections can be kept.",
        zh: "lat_http 用 HTTP/1.0 取一串文件，每个一条连接，打印每秒兆字节和平均值；lmhttp 派生多个进程作服务器。这里以一个请求为单位，给出分位数，并可保持连接。",
    }),
    axes: &[
        Axis::choice(
            "connection",
            "keep_alive",
            Points::Listed { quick: &["keep_alive"], standard: &["close"], thorough: &[] },
        ),
        Axis::size(
            "size",
            "1024",
            Points::Listed { quick: &["1024"], standard: &["128", "10240", "65536"], thorough: &[] },
        ),
        super::ENDS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["connection", "size"] }],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_http", "lmhttp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &server::SERVER, measure },
    ..Probe::PLAIN
};

const NAME: &str = "page";

fn measure(case: &mut Case) -> Result<()> {
    let size: usize = case.param("size")?;
    let keep = case.param::<String>("connection")? == "keep_alive";
    case.may_fill(size as u64)?;
    let far = case.far_end()?;
    let request = get(NAME, keep);
    let mut bytes = vec![0; LONGEST_HEAD + size];
    let mut stream = connect(far)?;
    if keep {
        return super::exchanges(case, || fetch(&mut stream, &request, &mut bytes, size));
    }
    let address = far.address;
    super::exchanges(case, || {
        let mut stream = workloads::network::socket::connect(address, super::PATIENCE)?;
        fetch(&mut stream, &request, &mut bytes, size)?;
        // The server closes first: its end of the stream is part of the response.
        if received(|| stream.read(&mut bytes))? == 0 { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends a request and reads the whole response, which has to be of so many bytes.
fn fetch(stream: &mut TcpStream, request: &[u8], bytes: &mut [u8], size: usize) -> io::Result<()> {
    stream.write_all(request).call("sendto")?;
    let (head, have) = read_head(stream, bytes, 0)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if length(&bytes[..head])? != size as u64 || have > head + size {
        return Err(super::wrong_answer());
    }
    stream.read_exact(&mut bytes[have..head + size]).call("recvfrom")
}
