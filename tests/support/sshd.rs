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

/// A server that listens.
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
        (0..ATTEMPTS).find_map(|_| Sshd::attempt(options))
    }

    fn attempt(options: &Options) -> Option<Sshd> {
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
        let mut started = Sshd { listener: command.spawn().ok()?, directory };
        started.answers().then_some(started)
    }

    /// Waits until it lets this user in. Whether it does.
    fn answers(&mut self) -> bool {
        for _ in 0..LOOKS {
            let prefix = self.prefix();
            // Whatever is forced says more than this.
            let told = Command::new(&prefix[0]).args(&prefix[1..]).arg("echo let in").stdin(Stdio::null()).output();
            let Ok(told) = told else { return false };
            if String::from_utf8_lossy(&told.stdout).contains("let in") {
                return true;
            }
            let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            if !matches!(self.listener.try_wait(), Ok(None)) || log.contains("not allowed because") {
                return false;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        false
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
