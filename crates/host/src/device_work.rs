//! What block devices have done, as the kernel counts it.

use crate::root::Root;

/// A sector of the kernel's counts, whatever the device's are.
const SECTOR_BYTES: u64 = 512;

/// What one device has done since it is there, or several together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceWork {
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Requests to write, and to flush.
    pub writes: u64,
}

/// What the lowest devices of a storage stack have done. None where it does not end in a device, and where it names but the first
/// of those that a filesystem lies on.
pub fn device_work(root: &Root, stack: &[String]) -> Option<DeviceWork> {
    let (lowest, above) = stack.split_last()?;
    if above.iter().any(|layer| layer == "btrfs" || layer == "bcachefs" || layer.contains('+')) {
        return None;
    }
    let mut all = DeviceWork::default();
    for device in lowest.split_once(' ').map_or(lowest.as_str(), |(name, _)| name).split('+') {
        let counts = root.text(&format!("/sys/class/block/{device}/stat"))?;
        // Documentation/block/stat.rst: reads, merged ones, sectors, ms; the same of writes; from Linux 5.5 on flushes.
        let counts: Vec<u64> = counts.split_whitespace().map_while(|count| count.parse().ok()).collect();
        let count = |at: usize| counts.get(at).copied();
        all.read_bytes += count(2)?.saturating_mul(SECTOR_BYTES);
        all.written_bytes += count(6)?.saturating_mul(SECTOR_BYTES);
        all.writes += count(4)?.saturating_add(count(5)?).saturating_add(count(15).unwrap_or(0));
    }
    Some(all)
}
