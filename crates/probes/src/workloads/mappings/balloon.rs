//! Whether this guest's kernel reports free pages to its host, which may then take them back.

use std::fs;
use std::path::Path;

/// The virtio devices of this machine.
const DEVICES: &str = "/sys/bus/virtio/devices";
/// The device type of a memory balloon, and the bit of its features by which both sides agree on free page reporting
/// (VIRTIO_BALLOON_F_REPORTING).
const BALLOON: u32 = 5;
const REPORTING: usize = 5;

/// Whether a balloon device takes reports of free pages.
pub fn reports_free_pages() -> bool {
    is_reporting(Path::new(DEVICES))
}

fn is_reporting(devices: &Path) -> bool {
    let reports = |device: &Path| {
        let text = |name| fs::read_to_string(device.join(name)).unwrap_or_default();
        let kind = text("device").trim().strip_prefix("0x").and_then(|kind| u32::from_str_radix(kind, 16).ok());
        // A character for each bit, the first bit first.
        kind == Some(BALLOON) && text("features").as_bytes().get(REPORTING) == Some(&b'1')
    };
    fs::read_dir(devices).is_ok_and(|all| all.flatten().any(|device| reports(&device.path())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balloon_that_takes_reports_is_distinguished_from_one_that_does_not_and_from_other_devices() {
        let found = |kind: &str, features: &str| {
            let root = tempfile::tempdir().unwrap();
            let device = root.path().join("virtio0");
            fs::create_dir(&device).unwrap();
            fs::write(device.join("device"), kind).unwrap();
            fs::write(device.join("features"), features).unwrap();
            is_reporting(root.path())
        };
        assert!(found("0x0005\n", "01100101000000000000000000000000100\n"));
        assert!(!found("0x0005\n", "01100001000000000000000000000000100\n"));
        assert!(!found("0x0002\n", "00100110011001000000000000000000100\n"));
        assert!(!found("", "") && !is_reporting(Path::new("/nowhere")));
    }
}
