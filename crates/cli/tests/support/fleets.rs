//! Fleets that tests measure: scripts in the place of ways and clients, what is left of a run, rows of its file.

use std::net::TcpListener;
use std::process::{Child, Output};

use hostmark_model::{FleetRun, HostState};

use crate::prelude::*;

/// A directory with scripts, lists and runs.
pub struct Fleet {
    pub home: Home,
    root: tempfile::TempDir,
}

impl Fleet {
    pub fn new() -> Fleet {
        Fleet { home: Home::new(), root: tempfile::tempdir().unwrap() }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A program that this script is.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `hostmark fleet run` with these words; what lies in `bin` comes first in PATH, and the program too.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.heeding(&["fleet", "run"]);
        let folder = Path::new(PROGRAM).parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{folder}:{path}", self.at("bin").display()));
        command.env("FLEET", self.root.path()).stdin(Stdio::null());
        command.args(words);
        command
    }

    /// The states of the hosts in a directory, with their reasons.
    pub fn rows(&self, directory: &str) -> Vec<(String, HostState, String)> {
        let fleet =
            FleetRun::load(&self.text(&format!("{directory}/fleet.json"))).unwrap_or_else(|| panic!("{directory}"));
        fleet.hosts.into_iter().map(|row| (row.host, row.state, row.reason.unwrap_or_default())).collect()
    }

    /// The names of everything in a directory, hidden ones too.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let listed = fs::read_dir(self.at(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> = listed.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// What the daemons need to find each other; they wait for each other while the machine is busy.
const UP_WITHIN: Duration = Duration::from_secs(60);
const PROGRAMS: [&str; 3] = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"];
/// A node's daemon in a host name of its own; whoever is killed takes it along.
const NODE: &str = r#"hostname "$1" && shift && exec setpriv --pdeathsig KILL "$@""#;

/// What is special about a node: words before its daemon's.
pub type Wrapper = Vec<String>;

pub struct Slurm {
    directory: tempfile::TempDir,
    daemons: Vec<Child>,
    nodes: Vec<Child>,
}

impl Slurm {
    /// A cluster with a node for each wrapper; or why there can be none here.
    pub fn start(wrappers: &[Wrapper]) -> Result<Slurm, String> {
        if let Some(lacking) = PROGRAMS.iter().find(|program| !Path::new(program).exists()) {
            return Err(format!("there is no {lacking}"));
        }
        if !rustix::process::geteuid().is_root() {
            return Err("a node's daemon needs root for a host name of its own".into());
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut slurm = Slurm { directory, daemons: Vec::new(), nodes: Vec::new() };
        slurm.configure(wrappers.len()).map_err(|error| error.to_string())?;
        let at = |name: &str| slurm.directory.path().join(name).display().to_string();
        let munge = ["--foreground", "--force", "--num-threads=2"].map(str::to_owned).into_iter().chain(
            ["key-file", "socket", "log-file", "pid-file", "seed-file"]
                .map(|name| format!("--{name}={}", at(&format!("munge.{name}")))),
        );
        let munge: Vec<String> = std::iter::once("/usr/sbin/munged".to_owned()).chain(munge).collect();
        let controller = vec!["/usr/sbin/slurmctld".to_owned(), "-D".into(), "-f".into(), at("slurm.conf")];
        let socket = slurm.directory.path().join("munge.socket");
        let munged = slurm.daemon("munged", &munge, None)?;
        slurm.daemons.push(munged);
        if !within(UP_WITHIN, || socket.exists()) {
            return Err(slurm.log_tail("munged"));
        }
        let controller = slurm.daemon("slurmctld", &controller, None)?;
        slurm.daemons.push(controller);
        for (number, wrapper) in wrappers.iter().enumerate() {
            let name = format!("node{number}");
            let daemon = ["/usr/sbin/slurmd", "-D", "-N", &name, "-f", &at("slurm.conf")].map(str::to_owned);
            let words: Vec<String> = wrapper.iter().cloned().chain(daemon).collect();
            let node = slurm.daemon(&name, &words, Some(&name))?;
            slurm.nodes.push(node);
        }
        let is_up = |slurm: &Slurm| {
            let states = slurm.states();
            states.len() == wrappers.len() && states.iter().all(|state| state == "idle")
        };
        match within(UP_WITHIN, || {
            std::thread::sleep(Duration::from_millis(100));
            is_up(&slurm)
        }) {
            true => Ok(slurm),
            false => Err(format!("{:?} {} {}", slurm.states(), slurm.log_tail("slurmctld"), slurm.log_tail("node0"))),
        }
    }

    /// A daemon, in a host name of its own if one is given, in a group of its own.
    fn daemon(&self, log: &str, words: &[String], host: Option<&str>) -> Result<Child, String> {
        let output =
            fs::File::create(self.directory.path().join(format!("{log}.log"))).map_err(|error| error.to_string())?;
        let mut command = match host {
            Some(host) => {
                let mut command = Command::new("unshare");
                command.args(["--uts", "sh", "-c", NODE, "sh", host]).args(words);
                command
            }
            None => {
                let mut command = Command::new("setpriv");
                command.args(["--pdeathsig", "KILL"]).args(words);
                command
            }
        };
        let streams = output.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(streams).stderr(output);
        command.spawn().map_err(|error| format!("{}: {error}", words[0]))
    }

    fn configure(&self, nodes: usize) -> std::io::Result<()> {
        let here = self.directory.path().display();
        let key: Vec<u8> = (0..64).flat_map(|_| uuid::Uuid::now_v7().into_bytes()).collect();
        fs::write(self.directory.path().join("munge.key-file"), key)?;
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.directory.path().join("munge.key-file"), fs::Permissions::from_mode(0o400))?;
        fs::create_dir(self.directory.path().join("state"))?;
        // All are held until all are known, so that none is given twice.
        let held: Vec<TcpListener> = (0..=nodes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = held.iter().map(|one| Ok(one.local_addr()?.port())).collect::<std::io::Result<_>>()?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={here}/munge.socket\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool.%n\nSlurmctldPidFile={here}/slurmctld.pid\nSlurmdPidFile={here}/slurmd.%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/linear\nMpiDefault=none\n\
             SwitchType=switch/none\nReturnToService=2\nSlurmdTimeout=20\nInactiveLimit=0\nKillWait=5\nWaitTime=0\n\
             SlurmdParameters=config_overrides\nJobAcctGatherType=jobacct_gather/none\nPropagateResourceLimits=NONE\n",
            ports[0]
        );
        for (number, port) in ports[1..].iter().enumerate() {
            text += &format!("NodeName=node{number} NodeHostname=node{number} NodeAddr=127.0.0.1 Port={port} CPUs=1\n");
        }
        text += "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
        fs::write(self.directory.path().join("slurm.conf"), text)
    }

    /// The variable by which Slurm's commands find this cluster.
    pub fn variable(&self) -> (&'static str, String) {
        ("SLURM_CONF", self.directory.path().join("slurm.conf").display().to_string())
    }

    fn client(&self, words: &[&str]) -> Output {
        let (name, value) = self.variable();
        Command::new(words[0]).args(&words[1..]).env(name, value).stdin(Stdio::null()).output().unwrap()
    }

    pub fn states(&self) -> Vec<String> {
        let log_tail = self.client(&["sinfo", "-h", "-N", "-o", "%t"]);
        String::from_utf8_lossy(&log_tail.stdout).split_whitespace().map(str::to_owned).collect()
    }

    pub fn jobs(&self) -> String {
        String::from_utf8_lossy(&self.client(&["squeue", "-h"]).stdout).trim().to_owned()
    }

    /// Kills a node's daemon and everything that it started: all that has its host name. Steps are no children of the daemon.
    pub fn kill_node(&mut self, number: usize) {
        let name_of = |process: &str| fs::read_link(format!("/proc/{process}/ns/uts")).ok();
        let node = name_of(&self.nodes[number].id().to_string());
        if let Some(node) = node.filter(|node| Some(node) != name_of("self").as_ref()) {
            let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
            let processes = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
            for process in processes.filter(|process| name_of(&process.to_string()).as_ref() == Some(&node)) {
                let _ = kill_process(Pid::from_raw(process).unwrap(), Signal::KILL);
            }
        }
        let _ = self.nodes[number].kill();
        let _ = self.nodes[number].wait();
    }

    /// The end of what a daemon said.
    fn log_tail(&self, log: &str) -> String {
        let text = fs::read_to_string(self.directory.path().join(format!("{log}.log"))).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        format!("{log}: {}", lines.into_iter().rev().collect::<Vec<_>>().join(" / "))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for number in 0..self.nodes.len() {
            self.kill_node(number);
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
