//! The network interfaces: this machine's by netlink, which tells of the network namespace of this process, those of a captured
//! tree by its files. /sys/class/net of a machine is that of the namespace in which it was mounted.

use hostmark_model::NetworkInterface;

use crate::network_path::{self, Link};
use crate::root::Root;

const NET_DIR: &str = "/sys/class/net";
/// A host of containers has one interface for each; those with a device come first.
const MOST_INTERFACES: usize = 32;

/// Interfaces with a device, then those without one that are not down.
pub(crate) fn read(root: &Root) -> Vec<NetworkInterface> {
    if root.is_this_machine() {
        // Who may not ask knows of none: the files may be those of another namespace.
        return chosen(network_path::links().unwrap_or_default()).into_iter().map(network_path::interface).collect();
    }
    let link = |name: String| {
        let dir = format!("{NET_DIR}/{name}");
        Link {
            has_device: root.exists(&format!("{dir}/device")),
            state: root.text(&format!("{dir}/operstate")),
            mtu_bytes: root.number(&format!("{dir}/mtu")),
            name,
        }
    };
    let links = root.names(NET_DIR).into_iter().map(link).collect();
    chosen(links).into_iter().map(|link| interface(root, link)).collect()
}

fn chosen(mut links: Vec<Link>) -> Vec<Link> {
    links.sort_by(|one, other| (!one.has_device, &one.name).cmp(&(!other.has_device, &other.name)));
    links.retain(|link| link.has_device || link.state.as_deref().is_some_and(|state| state != "down"));
    links.truncate(MOST_INTERFACES);
    links
}

fn interface(root: &Root, link: Link) -> NetworkInterface {
    let Link { name, state, mtu_bytes, .. } = link;
    let dir = format!("{NET_DIR}/{name}");
    // The driver is asked for the speed, which a link that is down does not have; -1 is "unknown".
    let megabits = (state.as_deref() == Some("up")).then(|| root.number::<u64>(&format!("{dir}/speed"))).flatten();
    NetworkInterface {
        driver: root.link(&format!("{dir}/device/driver")).and_then(|link| link.rsplit('/').next().map(str::to_owned)),
        // Drivers without an answer write 2^32 - 1.
        bits_per_s: megabits.filter(|speed| *speed < u64::from(u32::MAX)).map(|speed| speed * 1_000_000),
        mtu_bytes,
        state,
        name,
    }
}
