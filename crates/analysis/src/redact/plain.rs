//! Names of kernels, distributions and this program, which are nobody's. Anything else is taken for somebody's.

/// Tells whether a list of words has this one.
pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Names of series that nobody chose: those of `hostmark watch` and of Slurm's epilog.
pub(super) const SERIES: &[&str] = &["watch", "epilog"];
/// Kinds of container, as they call themselves.
pub(super) const CONTAINERS: &str = "\
    docker podman lxc lxc-libvirt kubernetes systemd-nspawn openvz wsl rkt oci proot pouch container-other";
/// Filesystems, and what else may be mounted or lie below one.
pub(super) const FILESYSTEMS: &str = "\
    ext2 ext3 ext4 xfs btrfs zfs f2fs jfs reiserfs bcachefs nilfs2 tmpfs ramfs rootfs devtmpfs overlay aufs \
    squashfs erofs vfat exfat ntfs ntfs3 iso9660 nfs nfs4 cifs smb3 9p virtiofs fuse fuseblk fuse.sshfs \
    fuse.glusterfs fuse.s3fs fuse.rclone ceph lustre gpfs glusterfs ocfs2 gfs2 afs none unknown proc sysfs";
/// Words in interfaces' names before their numbers.
const INTERFACES: &str = "\
    lo eth en eno ens enp enP wlan wl wlp wlo wls ib ibp ibs ww wwp bond team br virbr vmbr docker veth vnet tap \
    tun wg dummy sit gre gretap tunl ip tnl vlan vxlan macvlan macvtap ipvlan cni usb s f p n d np nd o u c";
/// Words in disks' names before their numbers.
const DISKS: &str = "\
    nvme n c p mmcblk boot md loop sr zram ram nbd rbd drbd pmem s bcache fd nullb root";
/// Other devices that our sentences name.
const DEVICES: &str = "\
    null zero full random urandom kvm vhost-net vhost-vsock cpu_dma_latency shm pts block mapper net stdin stdout \
    stderr tty fuse hostmark userfaultfd mem kmsg";
/// Kinds of device layers, before a level.
pub(super) const LAYERS: &[&str] =
    &["lvm", "crypt", "mpath", "raid", "linear", "direct I/O", "deleted", "dmraid", "part"];
/// Words that kernels and distributions put behind a release.
const RELEASE: &str = "\
    rc generic amd x arm aarch cloud aws azure gcp gke oracle ibm kvm virtual virt lowlatency rt lts arch zen \
    hardened fc el uek amzn default microsoft standard WSL pve bpo deb u ubuntu debian raspi rpi rpt v tegra \
    linuxkit flatcar talos lp bp sp azl cm k riscv ppc le s dirty smp unsigned hwe oem nvidia gentoo dist zabbly \
    xanmod liquorix cachyos bazzite orbstack firecracker gvisor";
/// Words of the version that `uname -v` tells.
const BUILD: &str = "\
    SMP PREEMPT PREEMPT_DYNAMIC PREEMPT_RT RT Debian Ubuntu NixOS Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May \
    Jun Jul Aug Sep Oct Nov Dec UTC GMT AM PM deb u bpo pmx";

/// The words of a name: its runs of letters, and whatever `more` takes for a part of one.
fn words<'a>(name: &'a str, more: &'a [char]) -> impl Iterator<Item = &'a str> {
    name.split(move |c: char| !c.is_alphabetic() && !more.contains(&c)).filter(|word| !word.is_empty())
}

/// Tells whether a name is made of these words and short numbers.
fn is_made_of(name: &str, known: &str, separators: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || separators.contains(c));
    let numbers = name.split(|c: char| !c.is_ascii_digit());
    is_plain && numbers.map(str::len).all(|digits| digits <= 5) && words(name, &[]).all(|word| is_listed(known, word))
}

/// Tells whether an interface has a name by the kernel or systemd.
pub(super) fn is_interface(name: &str) -> bool {
    is_made_of(name, INTERFACES, ".")
}

/// Tells whether a file in /dev has its name from the kernel.
pub(super) fn is_device(name: &str) -> bool {
    is_listed(DEVICES, name) || is_disk(name)
}

/// Tells whether a disk has its name from the kernel.
pub(super) fn is_disk(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let of_letters = ["sd", "hd", "vd", "xvd", "ubd", "dasd"].iter().find_map(|kind| letters.strip_prefix(kind));
    let is_lettered = of_letters.is_some_and(|rest| rest.len() <= 3 && rest.bytes().all(|c| c.is_ascii_lowercase()));
    is_lettered || is_made_of(&name.replace("dm-", "md"), DISKS, "")
}

/// A kernel's release without the words that somebody put behind it.
pub(super) fn release(release: &str) -> String {
    let is_known = |part: &str| part.is_empty() || is_made_of(part, RELEASE, "._~");
    let kept = release.split_inclusive(['-', '+']).filter(|part| is_known(part.trim_end_matches(['-', '+'])));
    let kept: String = kept.collect();
    // What joined it to a word that is gone.
    if release.ends_with(['-', '+']) { kept } else { kept.trim_end_matches(['-', '+']).to_owned() }
}

/// The version that `uname -v` tells, without words of somebody.
pub(super) fn build(build: &str) -> String {
    let is_known = |word: &&str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || "#:.~+-_()/".contains(c))
            && words(word, &['_']).all(|part| is_listed(BUILD, part))
    };
    build.split_whitespace().filter(is_known).collect::<Vec<_>>().join(" ")
}
