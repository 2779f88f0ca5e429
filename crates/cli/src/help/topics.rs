//! What a manual page tells beside options: filters, exit codes, files and environment, in English and Chinese.

use hostmark_model::{Exit, Lang, Text};

use super::entry::HelpEntry;

/// Where more help is.
pub const MORE: Text = Text {
    en: "`{} --help` shows all: details, examples, filters, exit codes, files.",
    zh: "`{} --help` 显示全部内容：细节、示例、过滤表达式、退出码、文件。",
};
/// The command that clap adds.
pub const HELP_COMMAND: Text = Text { en: "Print the help of a command", zh: "打印某个命令的帮助" };

/// Headings and fixed words.
const HEADINGS: &[Text] = &[
    Text { en: "Usage", zh: "用法" },
    Text { en: "Commands", zh: "命令" },
    Text { en: "Arguments", zh: "参数" },
    Text { en: "Options", zh: "选项" },
    Text { en: "Examples", zh: "示例" },
    Text { en: "The guest", zh: "虚拟机" },
    Text { en: "default", zh: "默认" },
    Text { en: "values", zh: "可取值" },
    Text { en: "also", zh: "也可写作" },
    Text { en: "Name", zh: "名称" },
    Text { en: "Synopsis", zh: "概要" },
    Text { en: "See also", zh: "参见" },
];

/// A heading of ours, or of the command line, in this language; as it is where there is none.
pub fn heading(en: &str, lang: Lang) -> &str {
    let found = HEADINGS.iter().find(|heading| heading.en == en);
    found.map_or(en, |heading| heading.say(lang))
}

/// The Chinese of a heading.
pub fn chinese(en: &str) -> Option<&'static str> {
    HEADINGS.iter().find(|heading| heading.en == en).map(|heading| heading.zh)
}

/// Whether a heading has its Chinese.
#[cfg(test)]
pub fn is_known(zh: &str) -> bool {
    HEADINGS.iter().any(|heading| heading.zh == zh)
}

/// A usage line with its placeholders in this language.
pub fn usage(en: &str, lang: Lang) -> String {
    match lang {
        Lang::En => en.to_owned(),
        Lang::Zh => en.replace("[OPTIONS]", "[选项]").replace("<COMMAND>", "<命令>").replace("[COMMAND]", "[命令]"),
    }
}

/// The help of options that clap adds to every command.
pub fn of_every_command(id: &str) -> Option<Text> {
    Some(match id {
        "help" => {
            Text { en: "Print help: -h one screen, --help everything", zh: "打印帮助：-h 一屏，--help 全部" }
        }
        "version" => Text { en: "Print the version", zh: "打印版本" },
        _ => return None,
    })
}

/// A table of terms.
pub struct Topic {
    pub heading: Text,
    rows: Vec<(String, Text)>,
}

impl Topic {
    fn new(heading: Text, rows: &[(&str, Text)]) -> Topic {
        Topic { heading, rows: rows.iter().map(|(term, text)| ((*term).to_owned(), *text)).collect() }
    }

    /// Its rows in this language.
    pub fn entries(&self, lang: Lang) -> Vec<HelpEntry> {
        let entry = |(term, text): &(String, Text)| {
            let text = text.get(lang).to_owned();
            HelpEntry { term: term.clone(), short: text.clone(), text: vec![text] }
        };
        self.rows.iter().map(entry).collect()
    }
}

/// What the page of a command tells.
pub fn of(path: &str) -> Vec<Topic> {
    let mut topics = Vec::new();
    if ["", "run", "list", "report", "compare", "watch", "vm run"].contains(&path) {
        topics.push(filters());
    }
    topics.push(exits(path));
    if ["", "run", "report", "compare", "runs", "import", "watch", "vm run"].contains(&path) {
        topics.push(files());
    }
    topics.push(environment(path));
    topics
}

fn filters() -> Topic {
    Topic::new(
        Text { en: "Filters", zh: "过滤表达式" },
        &[
            ("memory", Text { en: "a group: all its probes", zh: "组：其中的全部探针" }),
            ("memory.read", Text { en: "a probe: all its cases", zh: "探针：它的全部用例" }),
            (
                "memory.read@size=64M",
                Text {
                    en: "cases with this value of an axis; sizes take K, M and G (powers of 1024)",
                    zh: "该轴取此值的用例；大小可写 K、M、G（1024 的幂）",
                },
            ),
            (
                "memory.read@size=64M,threads=1",
                Text { en: "several axes, separated by commas", zh: "多个轴，用逗号分隔" },
            ),
            (
                "lat_mem_rd",
                Text {
                    en: "an lmbench program: the probes that replace it", zh: "lmbench 程序：取代它的探针"
                },
            ),
            (
                "syscall ipc.pipe",
                Text {
                    en: "several filters: the cases of any of them", zh: "多个过滤表达式：符合任一者即选中"
                },
            ),
        ],
    )
}

/// What each code means; every [`Exit`] but signals.
const EXITS: &[(Exit, Text)] = &[
    (Exit::Fine, Text { en: "done; skipped cases are fine", zh: "完成；有用例被跳过也算完成" }),
    (
        Exit::Found,
        Text {
            en: "compare or run --expect found a regression, host --check something that would disturb a measurement, fleet report --check a host that differs from others of its kind, self-check a value outside its bound, or reference check a run that cannot be a reference",
            zh: "compare 或 run --expect 发现性能退化，host --check 发现会干扰测量的因素，fleet report --check 发现与同机型不同的主机，self-check 发现有值超出界限，或 reference check 不接受一次运行",
        },
    ),
    (
        Exit::BadInput,
        Text {
            en: "bad command line, unreadable input, or a command that cannot be started",
            zh: "命令行有误、输入无法读取，或命令无法启动",
        },
    ),
    (
        Exit::CaseFailed,
        Text {
            en: "a case failed, or a check of self-check went wrong",
            zh: "有用例失败，或 self-check 的某项检查出错",
        },
    ),
    (
        Exit::NothingSelected,
        Text {
            en: "a filter selects nothing, or nothing of it can be measured here",
            zh: "过滤表达式没有选中任何用例，或选中的用例在本机都无法测量",
        },
    ),
    (
        Exit::ResourceLost,
        Text { en: "a resource ran out midway, e.g. the disk is full", zh: "中途资源耗尽，如磁盘写满" },
    ),
    (
        Exit::Undecided,
        Text {
            en: "compare --strict or --resolve, or run --expect, found no regression, and a case not known to be the same or faster",
            zh: "compare --strict、--resolve 或 run --expect 没有发现退化，但有用例无法确认相同或变快",
        },
    ),
];

fn exits(path: &str) -> Topic {
    let measures = ["run", "compare", "watch", "vm run", ""].contains(&path);
    let applies = |exit: Exit| match exit {
        Exit::Found => ["", "run", "compare", "host", "self-check", "fleet report", "reference check"].contains(&path),
        Exit::Undecided => ["", "run", "compare"].contains(&path),
        Exit::CaseFailed => measures || path == "self-check",
        Exit::NothingSelected => measures || ["list", "explain", "report"].contains(&path),
        _ => true,
    };
    let mut rows: Vec<(String, Text)> =
        EXITS.iter().filter(|(exit, _)| applies(*exit)).map(|(exit, text)| (exit.code().to_string(), *text)).collect();
    rows.push((
        "128+N".to_owned(),
        Text {
            en: "ended by signal N; the results so far are kept", zh: "被信号 N 终止；已测得的结果保留"
        },
    ));
    Topic { heading: Text { en: "Exit codes", zh: "退出码" }, rows }
}

fn files() -> Topic {
    Topic::new(
        Text { en: "Files", zh: "文件" },
        &[
            (
                "~/.local/share/hostmark/runs/",
                Text {
                    en: "the run store; $XDG_DATA_HOME/hostmark/runs/ if XDG_DATA_HOME is set",
                    zh: "运行目录；设置了 XDG_DATA_HOME 时为 $XDG_DATA_HOME/hostmark/runs/",
                },
            ),
            (
                "NAME.json",
                Text {
                    en: "a run; `last` is the newest with a value, then last-1 …",
                    zh: "一次运行：last 为最新且有数值的一次，其前为 last-1 …",
                },
            ),
            (
                "NAME.partial.jsonl",
                Text {
                    en: "the journal of an unfinished run; `run --resume` continues an interrupted one",
                    zh: "正在进行或被中断的运行的日志；可用 run --resume 继续",
                },
            ),
        ],
    )
}

fn environment(path: &str) -> Topic {
    let mut rows = vec![
        (
            "LC_ALL, LC_MESSAGES, LANG",
            Text {
                en: "Chinese if the first one that is set begins with zh; --lang overrides",
                zh: "首个已设置者以 zh 开头则用中文；--lang 优先",
            },
        ),
        ("NO_COLOR", Text { en: "no colours if set and not empty", zh: "已设置且非空时不用颜色" }),
        ("COLUMNS", Text { en: "width of the output, instead of the terminal's", zh: "输出宽度，代替终端的宽度" }),
        (
            "XDG_DATA_HOME, HOME",
            Text {
                en: "location of the run store; see Files in `hostmark --help`",
                zh: "运行目录所在，见 hostmark --help 的“文件”",
            },
        ),
    ];
    if ["", "run", "host", "watch", "vm run"].contains(&path) {
        rows.push((
            "TMPDIR",
            Text {
                en: "directory for file and disk probes without --scratch",
                zh: "未给出 --scratch 时文件和磁盘探针所用的目录",
            },
        ));
    }
    if path.is_empty() {
        rows.push((
            "COMPLETE",
            Text {
                en: "set by the shell's completion: hostmark prints candidates and does nothing else",
                zh: "由 shell 补全设置：hostmark 只打印候选项",
            },
        ));
    }
    Topic::new(Text { en: "Environment", zh: "环境变量" }, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_reported_once() {
        // A new code has to be added to EXITS: this match does not compile without it.
        let known = |exit: Exit| match exit {
            Exit::Fine | Exit::Found | Exit::Undecided | Exit::BadInput => true,
            Exit::CaseFailed | Exit::NothingSelected | Exit::ResourceLost => true,
            Exit::Signal(_) => false,
        };
        let mut codes: Vec<u8> = EXITS.iter().filter(|(exit, _)| known(*exit)).map(|(exit, _)| exit.code()).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6]);
    }
}
