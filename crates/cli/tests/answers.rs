//! Sessions of commands with their answers, in text files: what is printed, refused, and kept.

use hostmark_analysis::fleet::planted::{MadeUp, Planted};

use crate::help::{first_found, words};
use crate::prelude::*;

type Answer = (i32, String, String);

/// A home, and the commands that were typed in it last.
struct Session {
    home: Home,
    typed: Vec<Vec<String>>,
    answers: Vec<Answer>,
    /// What the commands before them were answered.
    before: Vec<Answer>,
    /// Whether it was said how the last ones end; else they end well, without a word on standard error.
    is_told: bool,
    is_open: bool,
}

impl Session {
    fn new() -> Session {
        let (typed, answers, before) = Default::default();
        Session { home: Home::new(), typed, answers, before, is_told: true, is_open: false }
    }

    /// The words of a line with the session's own places in them.
    fn filled(&self, text: &str) -> String {
        let cpu = || hostmark_host::read_here().usable_cpus().last().unwrap().to_string();
        let data = self.home.data.path().display().to_string();
        let text = text.replace("\\n", "\n").replace("\\e", "\u{1b}").replace("{data}", &data);
        let text = text.replace("{version}", env!("CARGO_PKG_VERSION"));
        if text.contains("{cpu}") { text.replace("{cpu}", &cpu()) } else { text }
    }

    /// Executes a command in this process, or as one where it starts others. Words before it set variables, or remove them.
    fn answer(&self, line: &[String], is_process: bool) -> Answer {
        let is_variable = |word: &&String| word.starts_with(|c: char| c.is_ascii_uppercase()) && word.contains('=');
        let variables = line.iter().take_while(is_variable).count();
        let mut command = self.home.hostmark(&[]);
        command.args(&line[variables..]);
        for (name, value) in line[..variables].iter().filter_map(|word| word.split_once('=')) {
            if value.is_empty() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        if is_process { ended(&mut command) } else { in_process(&command) }
    }

    fn types(&mut self, mark: &str, line: &str) {
        if !self.is_open {
            self.ends();
            self.before = std::mem::take(&mut self.answers);
            self.typed.clear();
        }
        let typed = words(line);
        self.answers.push(match mark {
            "cat" => (0, fs::read_to_string(self.home.data.path().join(line)).unwrap(), String::new()),
            _ => self.answer(&typed, mark == "%"),
        });
        self.typed.push(typed);
        (self.is_open, self.is_told) = (true, false);
    }

    /// The commands before have ended well where nothing else was said.
    fn ends(&mut self) {
        if !std::mem::replace(&mut self.is_told, true) {
            let wrong = self.answers.iter().find(|(code, _, errors)| *code != 0 || !errors.is_empty());
            assert!(wrong.is_none(), "{:?}: {wrong:?}", self.typed);
        }
    }

    fn prepares(&self, mark: &str, name: &str, more: &str) {
        let path = self.home.data.path().join(name);
        match mark {
            "+" => fs::write(path, more).unwrap(),
            "dir" => fs::create_dir_all(path).unwrap(),
            "size" => fs::File::create(path).unwrap().set_len(more.parse().unwrap()).unwrap(),
            "fleet" => {
                let [hosts, seed, planted] = more.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{more}") };
                let usual = MadeUp::usual(hosts.parse().unwrap(), seed.parse().unwrap());
                let of = |planted| MadeUp { odd: 1, shift: 0.5, planted, ..usual };
                let known = [Planted::Quota, Planted::Modules, Planted::HugePages, Planted::Mitigations];
                let odd = known.into_iter().find(|known| format!("{known:?}") == planted);
                let made_up = odd.map_or(usual, of);
                fs::create_dir_all(&path).unwrap();
                (0..made_up.hosts).for_each(|host| {
                    fs::write(path.join(format!("{}.json", MadeUp::name(host))), made_up.run(host, 0)).unwrap();
                });
            }
            other => panic!("there is no step {other}"),
        }
    }

    /// Holds the answers against a line.
    fn expects(&mut self, mark: &str, rest: &str) {
        let (all, typed) = (&self.answers, &self.typed);
        assert!(!all.is_empty(), "nothing was typed");
        let each = |is_so: &dyn Fn(&Answer) -> bool| {
            let wrong = all.iter().zip(typed).find(|(answer, _)| !is_so(answer));
            assert!(wrong.is_none(), "{mark} {rest}: {wrong:?}");
        };
        match mark {
            ">" => each(&|(_, out, _)| out.contains(rest)),
            "-" => each(&|(_, out, _)| !out.contains(rest)),
            "!" => each(&|(.., errors)| errors.contains(rest)),
            "same" => each(&|answer| Some(answer) == self.before.first()),
            "^" => each(&|(_, out, _)| first_found(out) == rest),
            "kept" => assert_eq!(files(self.home.data.path()).len(), rest.parse::<usize>().unwrap(), "{typed:?}"),
            "dry" => {
                let again = |words: &Vec<String>| self.answer(&[&words[..], &["--dry-run".into()]].concat(), false);
                assert_eq!(typed.iter().map(again).collect::<Vec<_>>(), *all, "{typed:?}");
            }
            "there" => {
                for ((code, _, errors), words) in all.iter().zip(typed) {
                    let (words, place) = words.split_at(words.len() - 2);
                    let here = self.answer(words, true);
                    assert_eq!(here, (*code, String::new(), errors.replace(&format!("'{}': ", place[1]), "")));
                    assert_eq!(self.answer(&[words, place, &["--dry-run".into()]].concat(), true).2, *errors);
                }
            }
            code => {
                let (code, is_part) = code.strip_suffix('~').map_or((code, false), |code| (code, true));
                let code: i32 = code.parse().unwrap_or_else(|_| panic!("there is no step {code}"));
                each(&|answer| match (is_part, rest) {
                    (false, "") => answer.0 == code,
                    (false, _) => *answer == (code, String::new(), format!("hostmark: {rest}\n")),
                    (true, _) => {
                        let (is, out, errors) = answer;
                        let is_sentence = errors.starts_with("hostmark: ") && errors.lines().count() == 1;
                        *is == code
                            && out.is_empty()
                            && is_sentence
                            && errors.contains(rest)
                            && !errors.contains('\u{1b}')
                    }
                });
                self.is_told = true;
            }
        }
        self.is_open = false;
    }

    fn step(&mut self, line: &str) {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = self.filled(rest);
        match mark {
            "$" | "%" | "cat" => self.types(mark, &rest),
            "+" | "dir" | "size" | "fleet" => {
                let (name, more) = rest.split_once(' ').unwrap_or((&rest, ""));
                self.prepares(mark, name, more);
            }
            _ => self.expects(mark, &rest),
        }
    }
}

/// Plays all sessions of a file; each begins with its title.
fn play(name: &str) {
    let file = format!("{}/tests/answers/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(file).unwrap();
    let mut wrong = Vec::new();
    for session in text.split("\n# ").skip(1) {
        let (title, steps) = session.split_once('\n').unwrap();
        let (mut under_way, mut at) = (Session::new(), "");
        let plays = std::panic::AssertUnwindSafe(|| {
            for line in steps.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
                at = line;
                under_way.step(line);
            }
            under_way.ends();
            assert!(files(under_way.home.scratch.path()).is_empty(), "something is left");
        });
        if std::panic::catch_unwind(plays).is_err() {
            wrong.push(format!("{title}: {at}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

macro_rules! played {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(#[test]
        $(#[$attribute])*
        fn $name() {
            play(stringify!($name));
        })*
    };
}

played! {
    commands
    explained
    fleets
    refused
    runs
    #[cfg_attr(not(feature = "system"), ignore = "takes long")]
    places
}
