//! Which container the process runs in, if any.

use crate::root::Root;

/// Lower-case name: kubernetes, docker, podman, lxc, systemd-nspawn, wsl …; None outside a container.
pub(crate) fn read(root: &Root) -> Option<String> {
    if root.text("/proc/sys/kernel/osrelease").is_some_and(|release| release.contains("icrosoft")) {
        return Some("wsl".to_owned());
    }
    if is_unknown(root) {
        return None;
    }
    // A virtual machine that boots an image made for containers keeps the image's marker files.
    if is_in_first_namespaces(root) {
        return None;
    }
    let from_groups = from_control_groups(root);
    if from_groups == Some("kubernetes") || has_kubernetes_secrets(root) {
        return Some("kubernetes".to_owned());
    }
    root.text("/run/systemd/container")
        .or_else(|| from_init(root))
        .or_else(|| root.exists("/run/.containerenv").then(|| "podman".to_owned()))
        .or_else(|| root.exists("/.dockerenv").then(|| "docker".to_owned()))
        .or_else(|| from_groups.map(str::to_owned))
        .or_else(|| (root.exists("/proc/vz") && !root.exists("/proc/bc")).then(|| "openvz".to_owned()))
}

/// Whether /proc tells nothing of this process: marker files alone prove no container, see above.
pub(crate) fn is_unknown(root: &Root) -> bool {
    root.link("/proc/self/ns/pid").is_none() && root.raw("/proc/self/cgroup").is_none()
}

/// Whether processes, IPC and host name are those of the machine's first process. The numbers are constants of the
/// kernel (PROC_PID_INIT_INO and its neighbours); every container has at least one of the three for itself.
fn is_in_first_namespaces(root: &Root) -> bool {
    [("pid", "pid:[4026531836]"), ("ipc", "ipc:[4026531839]"), ("uts", "uts:[4026531838]")]
        .iter()
        .all(|(name, first)| root.link(&format!("/proc/self/ns/{name}")).is_some_and(|link| link == *first))
}

fn has_kubernetes_secrets(root: &Root) -> bool {
    ["/run", "/var/run"].iter().any(|dir| root.exists(&format!("{dir}/secrets/kubernetes.io")))
}

/// What the container manager told the first process in its environment; root alone may read it.
fn from_init(root: &Root) -> Option<String> {
    let environment = root.raw("/proc/1/environ")?;
    let name = environment.split('\0').find_map(|variable| variable.strip_prefix("container="))?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// From the names that container managers give their groups. `docker.service` and `lxc.monitor` are the managers
/// themselves, outside any container.
fn from_control_groups(root: &Root) -> Option<&'static str> {
    let manager = |part: &str| match part {
        "docker" => Some("docker"),
        "lxc" => Some("lxc"),
        _ if part.starts_with("kubepods") => Some("kubernetes"),
        _ if part.starts_with("docker-") && part.ends_with(".scope") => Some("docker"),
        _ if part.starts_with("libpod-") => Some("podman"),
        _ if part.starts_with("lxc.payload") => Some("lxc"),
        _ => None,
    };
    ["/proc/self/cgroup", "/proc/1/cgroup"].iter().find_map(|file| {
        let groups = root.raw(file)?;
        groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).flat_map(|path| path.split('/')).find_map(manager)
    })
}
