//! The commands of a document as a shell takes them, with what the document shows of their output.

/// What a command line of a document begins with.
const BEGINNINGS: [&str; 16] = [
    "hostmark ",
    "cargo ",
    "sudo ",
    "make ",
    "mkdir ",
    "rmdir ",
    "cp ",
    "echo ",
    "sh -c",
    "for n ",
    "(umask",
    "buildah ",
    "systemctl ",
    "systemd-run ",
    "XDG_DATA_HOME=",
    "HOSTMARK_BLESS=",
];
/// What stands for something that is left out, or is one of several.
const OPEN: [&str; 4] = ["…", "<", " [", "|--"];
/// An option alone, whose value is left out.
const OPTIONS: [&str; 2] = ["--out", "--interleave"];

#[derive(Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The whole line, without its comment.
    pub line: String,
    /// What the document shows below it.
    pub shown: Vec<String>,
}

/// Every command of a document. A block of code that has none shows the output of the first command since the last heading or block.
pub fn snippets(document: &str) -> Vec<Snippet> {
    let (mut all, mut owner, mut block) = (Vec::<Snippet>::new(), None, None);
    let mut goes_on = false;
    for line in document.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(language), None) => block = Some(["", "sh"].contains(&language)),
            (Some(_), Some(_)) => (block, owner) = (None, None),
            (None, Some(false)) => {}
            (None, Some(true)) => {
                let typed = line.strip_prefix("$ ");
                let command = without_comment(typed.unwrap_or(line));
                let continues = std::mem::replace(&mut goes_on, command.ends_with("&&"));
                match all.last_mut() {
                    Some(last) if continues => last.line = format!("{} {}", last.line, command.trim_start()),
                    _ if is_command(command) => {
                        owner = typed.map(|_| all.len());
                        all.push(Snippet { line: command.to_owned(), shown: Vec::new() });
                    }
                    _ => owner.iter().for_each(|&at: &usize| all[at].shown.push(line.to_owned())),
                }
            }
            (None, None) => {
                if line.starts_with('#') {
                    owner = None;
                }
                for code in line.split('`').skip(1).step_by(2).filter(|code| is_command(code)) {
                    owner.get_or_insert(all.len());
                    all.push(Snippet { line: code.to_owned(), shown: Vec::new() });
                }
            }
        }
    }
    let is_open =
        |line: &str| OPEN.iter().any(|sign| line.contains(sign)) || OPTIONS.iter().any(|end| line.ends_with(end));
    all.retain(|snippet| !is_open(&snippet.line));
    all
}

fn is_command(line: &str) -> bool {
    // Not the first line of a report.
    BEGINNINGS.iter().any(|start| line.starts_with(start)) && !line.starts_with("hostmark 0.")
}

fn without_comment(line: &str) -> &str {
    line.split("  #").next().unwrap_or_default().trim_end()
}

#[test]
fn a_commands_output_is_the_block_below_it() {
    let text = "# A `hostmark a`\nand `hostmark b`, `hostmark c …`, `other`\n\n```\nOUT   x\n```\n`hostmark d`\n```sh\nhostmark e &&  # f\n  mv g h\nI\n```\n\
                ```\n$ hostmark j\nK\nL\n```\n```json\nhostmark m\n```\n";
    let reported: Vec<(String, Vec<String>)> = snippets(text).into_iter().map(|one| (one.line, one.shown)).collect();
    let none = Vec::<String>::new;
    let wanted = [
        ("hostmark a", vec!["OUT   x".to_owned()]),
        ("hostmark b", none()),
        ("hostmark d", none()),
        ("hostmark e && mv g h", none()),
        ("hostmark j", vec!["K".to_owned(), "L".to_owned()]),
    ];
    assert_eq!(reported, wanted.map(|(line, shown)| (line.to_owned(), shown)));
}
