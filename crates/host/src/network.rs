//! The network interfaces.

use hostmark_model::NetworkInterface;

use crate::root::Root;

const NET_DIR: &str = "/sys/class/net";
/// A host of containers has one interface for each; those with a device come first.
const MOST_INTERFACES: usize = 32;

/// Interfaces with a device, then those without one that are not down.
pub(crate) fn read(root: &Root) -> Vec<NetworkInterface> {
    let names = root.names(NET_DIR);
    let (mut chosen, others): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|name| root.exists(&format!("{NET_DIR}/{name}/device")));
    let room = MOST_INTERFACES.saturating_sub(chosen.len());
    let is_up = |name: &String| root.text(&format!("{NET_DIR}/{name}/operstate")).is_some_and(|state| state != "down");
    chosen.extend(others.into_iter().filter(is_up).take(room));
    chosen.truncate(MOST_INTERFACES);
    chosen.into_iter().map(|name| interface(root, name)).collect()
}

fn interface(root: &Root, name: String) -> NetworkInterface {
    let dir = format!("{NET_DIR}/{name}");
    let state = root.text(&format!("{dir}/operstate"));
    // The driver is asked for the speed, which a link that is down does not have; -1 is "unknown".
    let megabits = (state.as_deref() == Some("up")).then(|| root.number::<u64>(&format!("{dir}/speed"))).flatten();
    NetworkInterface {
        driver: root.link(&format!("{dir}/device/driver")).and_then(|link| link.rsplit('/').next().map(str::to_owned)),
        // Drivers without an answer write 2^32 - 1.
        bits_per_s: megabits.filter(|speed| *speed < u64::from(u32::MAX)).map(|speed| speed * 1_000_000),
        mtu_bytes: root.number(&format!("{dir}/mtu")),
        state,
        name,
    }
}
