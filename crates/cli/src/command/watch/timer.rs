//! A systemd service and timer that take the turns of a watch.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::pace::shown;

/// Both units in one text, each under its file's name. `again` is what follows `hostmark watch`.
pub fn units(series: &str, every_s: f64, again: &[String], program: &Path, writes_to: &[PathBuf]) -> String {
    let name = format!("hostmark-watch-{series}");
    let words: Vec<String> = again.iter().map(|word| quoted(word)).collect();
    let mut text = format!(
        "# /etc/systemd/system/{name}.service\n\
         [Unit]\n\
         Description=A turn of the hostmark series {series}\n\
         Documentation=man:hostmark(1)\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         StateDirectory=hostmark\n\
         Environment=XDG_DATA_HOME=%S\n\
         ExecStart={} --quiet watch {}\n\
         TimeoutStartSec=2min\n\
         KillMode=mixed\n\
         # Mounts alone confine it: a seccomp filter or a limit of CPU would be measured.\n\
         ProtectSystem=strict\n\
         ProtectHome=read-only\n\
         PrivateTmp=yes\n",
        quoted(&program.display().to_string()),
        words.join(" "),
    );
    for directory in writes_to {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "ReadWritePaths={}", quoted(&directory.display().to_string()));
    }
    let every = shown(every_s);
    text + &format!(
        "\n# /etc/systemd/system/{name}.timer; then: systemctl enable --now {name}.timer\n\
         # XDG_DATA_HOME=/var/lib hostmark report {series}\n\
         [Unit]\n\
         Description=Turns of the hostmark series {series}\n\
         \n\
         [Timer]\n\
         OnBootSec=2min\n\
         OnUnitActiveSec={every}\n\
         AccuracySec=1s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n"
    )
}

/// A word as systemd reads it: its own signs mean nothing in it.
fn quoted(word: &str) -> String {
    let text = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@=,:%$".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_to_systemd_what_they_meant_to_the_shell() {
        assert_eq!(quoted("memory.read@size=64M,page=base"), "memory.read@size=64M,page=base");
        assert_eq!(quoted("/srv/100%/a b"), "\"/srv/100%%/a b\"");
        assert_eq!(quoted("$HOME\"\\"), "\"$$HOME\\\"\\\\\"");
    }
}
