//! Examples of every command. A test runs each of them as far as it measures nothing.

use hostmark_model::{Lang, Text};

use super::entry::HelpEntry;

/// A command line that works, and what it does.
pub struct Example {
    /// The path of its command.
    pub path: &'static str,
    /// As it is typed.
    pub line: &'static str,
    /// What it does.
    pub what: Text,
}

const fn example(path: &'static str, line: &'static str, en: &'static str, zh: &'static str) -> Example {
    Example { path, line, what: Text { en, zh } }
}

pub const ALL: &[Example] = &[
    example(
        "",
        "hostmark run",
        "Measure this machine within 60 s, and print the answer.",
        "在 60 秒内测量本机并打印结论。",
    ),
    example("", "hostmark report last --full", "Print every value of the newest run.", "打印最近一次运行的全部数值。"),
    example(
        "",
        "hostmark compare last-1 last",
        "Compare the newest run with the one before.",
        "将最近一次运行与前一次比较。",
    ),
    example("", "hostmark explain memory.latency", "Explain a probe.", "讲解一个探针。"),
    example("run", "hostmark run memory ipc.pipe", "Measure one group and one more probe.", "测量一个组和另一个探针。"),
    example(
        "run",
        "hostmark run memory.read@size=64M --cpu 0",
        "Measure one case on CPU 0.",
        "在 CPU 0 上测量一个用例。",
    ),
    example(
        "run",
        "hostmark run memory.latency --set size=32K,1M,64M --profile standard",
        "Measure these sizes, within 5 minutes.",
        "在 5 分钟内测量这些大小。",
    ),
    example(
        "run",
        "hostmark run --on 'ssh db-17'",
        "Measure another machine; nothing to install there.",
        "测量另一台机器，无需在那里安装。",
    ),
    example(
        "run",
        "hostmark run net --peer 'ssh db-17'",
        "Measure the network between this machine and another.",
        "测量本机与另一台机器之间的网络。",
    ),
    example("run", "hostmark run --command 'gzip -t data.gz'", "Measure your own command.", "测量你自己的命令。"),
    example(
        "run",
        "hostmark run --name before-bios",
        "Store the run under a name; compare before-bios last tells what changed.",
        "以名称保存该运行；之后可用 compare before-bios last 比较。",
    ),
    example("run", "hostmark run --out host.json --dry-run", "Show what would be measured.", "只列出将要测量的内容。"),
    example("list", "hostmark list", "List all probes.", "列出所有探针。"),
    example(
        "list",
        "hostmark list lat_mem_rd",
        "List the probes that replace an lmbench program.",
        "列出取代某个 lmbench 程序的探针。",
    ),
    example("explain", "hostmark explain sched", "Explain the probes of a group.", "讲解一个组的探针。"),
    example(
        "explain",
        "hostmark explain 'null call'",
        "Explain a column of lmbench's summary.",
        "讲解 lmbench 汇总表中的一列。",
    ),
    example("host", "hostmark host", "Show this machine.", "显示本机信息。"),
    example(
        "host",
        "hostmark host --check --format json",
        "Check in a script before a measurement.",
        "在脚本中于测量之前检查。",
    ),
    example(
        "self-check",
        "hostmark self-check",
        "Check delays, loads, a slower copy and more, within 60 s.",
        "在 60 秒内检验延迟、访存、变慢的副本等。",
    ),
    example(
        "watch",
        "hostmark watch --every 10m --for 24h --series web-1",
        "Measure for a day; hostmark report web-1 tells how steady it was.",
        "监测一天；之后可用 hostmark report web-1 查看稳定性。",
    ),
    example(
        "watch",
        "hostmark watch --series web-1 --print-timer",
        "Print a systemd timer that measures until it is disabled.",
        "打印一个 systemd 定时器，在停用之前一直测量。",
    ),
    example(
        "report",
        "hostmark report last --format markdown",
        "Print the newest run for a ticket.",
        "以 Markdown 打印最近一次运行。",
    ),
    example(
        "report",
        "hostmark report last --redact --format markdown",
        "Print it without the names of hosts, people and paths.",
        "打印时去掉主机、个人和路径的名称。",
    ),
    example(
        "report",
        "hostmark report 'web-1-*' --over-time",
        "Show how steady a host is over its stored runs.",
        "根据已保存的运行显示一台主机有多稳定。",
    ),
    example(
        "report",
        "hostmark report last --get syscall.null --unit us",
        "Print one number for a script.",
        "为脚本打印一个数值。",
    ),
    example(
        "report",
        "hostmark report old=last-1 new=last --format html --out page.html",
        "Write two runs to one page.",
        "将两次运行写到一个网页。",
    ),
    example(
        "fleet",
        "hostmark fleet run --hosts hosts.txt --each 'ssh {host}' --out runs",
        "Measure the hosts of a list, one after the other.",
        "逐台测量名单中的主机。",
    ),
    example(
        "fleet run",
        "hostmark fleet run --hosts hosts.txt --each 'ssh {host}' --at-once 4 --out runs",
        "Measure the hosts of a list, four at a time.",
        "测量名单中的主机，每次四台。",
    ),
    example(
        "fleet run",
        "hostmark fleet run --hosts hosts.txt --each 'ssh {host}' --resume runs",
        "Measure the hosts that are still missing in runs.",
        "测量该目录中尚缺的主机。",
    ),
    example(
        "fleet run",
        "hostmark fleet run memory --slurm '-p batch -N 64'",
        "Measure the memory of 64 nodes.",
        "测量 64 个节点的内存。",
    ),
    example(
        "fleet run",
        "hostmark fleet run --kubernetes pool=bench --image busybox",
        "Measure the nodes of a pool.",
        "测量一个节点池。",
    ),
    example(
        "fleet",
        "hostmark fleet report runs/",
        "Find the hosts that differ from the others.",
        "找出与众不同的主机。",
    ),
    example(
        "fleet report",
        "hostmark fleet report runs/ memory --format html --out fleet.html",
        "Judge only by memory, and write a page with a heat map.",
        "只按内存判定，并生成带热力图的网页。",
    ),
    example(
        "fleet report",
        "hostmark fleet report runs/ --check",
        "Exit 1 if a host is odd, for a nightly job.",
        "有主机异常时以 1 退出，用于夜间任务。",
    ),
    example(
        "try",
        "hostmark try",
        "List the settings, and what this machine can try.",
        "列出各项设置，以及本机能尝试哪些。",
    ),
    example(
        "try",
        "hostmark try huge-pages",
        "Show what huge pages do here, in about half a minute.",
        "约半分钟内说明大页在本机的作用。",
    ),
    example(
        "try",
        "hostmark try huge-pages --command ./bench --value '([0-9.]+) MB/s' --unit MB/s",
        "Show what they do to your own program.",
        "说明它对自己的程序有何作用。",
    ),
    example(
        "compare",
        "hostmark compare last-1 last --threshold 5",
        "Exit 1 if a case became slower by over 5 %.",
        "有用例变慢超过 5% 则以 1 退出。",
    ),
    example(
        "compare",
        "hostmark compare --interleave here 'ssh db-17' syscall --pairs 10",
        "Measure two machines in turn.",
        "交替测量两台机器。",
    ),
    example(
        "report",
        "hostmark report last --share",
        "Write a redacted file and a card to share.",
        "写出可分享的脱敏文件和卡片。",
    ),
    example(
        "reference",
        "hostmark reference check FILE",
        "Check a run before you send it in.",
        "在提交之前检查一次运行。",
    ),
    example(
        "reference check",
        "hostmark reference check FILE",
        "Exit 1 if it cannot become a reference.",
        "不能成为参考则以 1 退出。",
    ),
    example("import", "hostmark import fio result.json", "Import a result of fio.", "导入 fio 的结果。"),
    example("runs", "hostmark runs", "List the stored runs.", "列出已保存的运行。"),
    example(
        "runs",
        "hostmark runs --changes memory",
        "Show when memory got slower or faster here, and what changed with it.",
        "显示本机内存何时变慢或变快，以及同时改变了什么。",
    ),
    example(
        "runs",
        "hostmark runs --prune --keep 100 --older-than 90d --dry-run",
        "Show which runs are beyond the newest 100 and older than 90 days.",
        "显示哪些运行在最新的 100 个之外且早于 90 天。",
    ),
    example(
        "vm",
        "hostmark vm run --dry-run",
        "Show what would be measured in a guest.",
        "列出将在虚拟机中测量的内容。",
    ),
    example(
        "vm run",
        "hostmark vm run syscall process --smp 2 --memory 2G",
        "Measure what a guest of 2 CPUs costs.",
        "测量 2 个 CPU 的虚拟机的开销。",
    ),
    example(
        "vm run",
        "hostmark vm run --on 'ssh vm1'",
        "Measure in a guest that already runs.",
        "在已运行的虚拟机中测量。",
    ),
    example(
        "serve",
        "hostmark serve",
        "Accept sessions on loopback, and print the token.",
        "在环回地址上接受会话，并打印令牌。",
    ),
    example(
        "serve",
        "hostmark serve --bind 10.0.0.17 --token-file token",
        "Accept sessions from the network.",
        "接受来自网络的会话。",
    ),
];

/// The examples of a command.
pub fn of(path: &str) -> impl Iterator<Item = &'static Example> {
    ALL.iter().filter(move |example| example.path == path)
}

/// The examples of a command as entries of its page.
pub fn entries(path: &str, lang: Lang) -> Vec<HelpEntry> {
    let entry = |example: &'static Example| {
        let what = example.what.get(lang).to_owned();
        HelpEntry { term: example.line.to_owned(), short: what.clone(), text: vec![what] }
    };
    of(path).map(entry).collect()
}
