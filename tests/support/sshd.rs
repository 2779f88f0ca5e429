//! A real server of ssh on a port of loopback, with keys of its own, for the present user alone; it ends with its test.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SERVER: &str = "/usr/sbin/sshd";
/// Another process may take the port before the server does.
const ATTEMPTS: usize = 5;
/// Looks whether the server answers, and the time between two.
const LOOKS: usize = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A server of root's wants a directory that only the system's own start of it makes: it is made where only this one sees it.
/// Whoever is killed takes the server along.
const SCRIPT: &str = r#"
if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then
    exec unshare -m sh -c 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec setpriv --pdeathsig KILL "$@"' sh "$@"
fi
exec setpriv --pdeathsig KILL "$@""#;

/// What is special about a server.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// What it sends before the login; nothing if empty.
    pub banner: &'a str,
    /// The words of the shell that takes the place of the login shell; the user's own if empty.
    pub shell: &'a str,
    /// What the shell does before it does what it is told; nothing if empty.
    pub profile: &'a str,
    /// Variables of its sessions; no value has a space.
    pub environment: &'a [(&'a str, &'a str)],
}

/// What a server does with this user.
enum Answer {
    LetIn,
    Refused,
    Ended,
}

/// A server that listens, until it is dropped or the thread that started it ends. Where the system has not prepared for one,
/// its sessions see an empty /run.
pub struct Sshd {
    listener: Child,
    directory: tempfile::TempDir,
}

impl Sshd {
    /// Starts one; none where no server of ssh can be had, or it does not let this user in.
    pub fn start(options: &Options) -> Option<Sshd> {
        if !Path::new(SERVER).exists() {
            return None;
        }
        for _ in 0..ATTEMPTS {
            let mut server = Sshd::begin(options)?;
            match server.answer() {
                Answer::LetIn => return Some(server),
                Answer::Refused => return None,
                Answer::Ended => {}
            }
        }
        None
    }

    fn begin(options: &Options) -> Option<Sshd> {
        let directory = tempfile::tempdir().ok()?;
        let at = |name: &str| directory.path().join(name);
        for key in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"];
            Command::new("ssh-keygen").args(words).arg(at(key)).status().ok().filter(|status| status.success())?;
        }
        fs::copy(at("user.pub"), at("authorized_keys")).ok()?;
        let user = Command::new("id").arg("-un").output().ok()?.stdout;
        let user = String::from_utf8(user).ok()?.trim().to_owned();
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let host_key = fs::read_to_string(at("host.pub")).ok()?;
        fs::write(at("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).ok()?;

        let here = directory.path().display();
        let mut server = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {here}/host\nAuthorizedKeysFile {here}/authorized_keys\nAllowUsers {user}\n\
             PidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPermitRootLogin prohibit-password\nPrintMotd no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\nLoginGraceTime 30\n"
        );
        if !options.banner.is_empty() {
            fs::write(at("banner"), options.banner).ok()?;
            server += &format!("Banner {here}/banner\n");
        }
        if !options.shell.is_empty() || !options.profile.is_empty() {
            let shell = if options.shell.is_empty() { "${SHELL:-sh}" } else { options.shell };
            let script = format!("{}\nexec {shell} -c \"$SSH_ORIGINAL_COMMAND\"\n", options.profile);
            fs::write(at("forced"), script).ok()?;
            server += &format!("ForceCommand exec sh {here}/forced\n");
        }
        if !options.environment.is_empty() {
            let words = options.environment.iter().map(|(name, value)| format!(" {name}={value}"));
            server += &format!("SetEnv{}\n", words.collect::<String>());
        }
        fs::write(at("sshd_config"), server).ok()?;
        let client = format!(
            "Host far\n HostName 127.0.0.1\n Port {port}\n User {user}\n IdentityFile {here}/user\n IdentitiesOnly yes\n \
             IdentityAgent none\n UserKnownHostsFile {here}/known_hosts\n GlobalKnownHostsFile /dev/null\n \
             StrictHostKeyChecking yes\n BatchMode yes\n ControlPath none\n"
        );
        fs::write(at("ssh_config"), client).ok()?;

        let log = fs::File::create(at("log")).ok()?;
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", SERVER, "-D", "-e", "-f"]).arg(at("sshd_config"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Some(Sshd { listener: command.spawn().ok()?, directory })
    }

    /// Waits until it listens: what becomes of this user then.
    fn answer(&mut self) -> Answer {
        for _ in 0..LOOKS {
            let prefix = self.prefix();
            let words = prefix[1..].iter().map(String::as_str).chain(["echo let in"]);
            let Ok(reported) = Command::new(&prefix[0]).args(words).stdin(Stdio::null()).output() else {
                return Answer::Refused;
            };
            let [said, complained] =
                [reported.stdout, reported.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            match &said {
                _ if said.contains("let in") => return Answer::LetIn,
                _ if !matches!(self.listener.try_wait(), Ok(None)) => return Answer::Ended,
                _ if !complained.contains("Connection refused") => return Answer::Refused,
                _ => std::thread::sleep(BETWEEN_LOOKS),
            }
        }
        Answer::Refused
    }

    /// The words that lead to it.
    pub fn prefix(&self) -> Vec<String> {
        let config = self.directory.path().join("ssh_config").display().to_string();
        ["ssh", "-F", &config, "far"].map(str::to_owned).to_vec()
    }

    /// The process that listens, whose children are the sessions.
    pub fn pid(&self) -> u32 {
        self.listener.id()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.listener.kill();
        let _ = self.listener.wait();
    }
}
