//! The counters of a core, as sysfs names them: which device they are, and the events that it names itself.

use crate::root::Root;

const DEVICES: &str = "/sys/bus/event_source/devices";

/// The counters of one kind of core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorePmu {
    device: String,
    /// The kernel's number for it.
    pub number: u32,
    /// Whether other cores of the machine have other counters.
    pub is_one_of_several: bool,
}

/// An event that a device names itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedEvent {
    /// The device's number.
    pub kind: u32,
    /// Which of its events.
    pub config: u64,
}

impl CorePmu {
    /// That of a CPU; none where the kernel drives no counters.
    pub fn of_cpu(root: &Root, cpu: usize) -> Option<CorePmu> {
        let names = root.names(DEVICES);
        // Devices of a part of the cores list those; what counts outside of cores has another file (cpumask).
        let of_some: Vec<(&String, Vec<usize>)> =
            names.iter().filter_map(|name| Some((name, root.id_list(&format!("{DEVICES}/{name}/cpus"))?))).collect();
        let own = of_some.iter().find(|(_, cpus)| cpus.contains(&cpu)).map(|(name, _)| *name);
        let device = own.or_else(|| names.iter().find(|name| *name == "cpu"))?;
        let number = root.number(&format!("{DEVICES}/{device}/type"))?;
        Some(CorePmu { device: device.clone(), number, is_one_of_several: of_some.len() > 1 })
    }

    /// An event that the kernel names for it, as `topdown-retiring`.
    pub fn event(&self, root: &Root, name: &str) -> Option<NamedEvent> {
        let words = root.text(&format!("{DEVICES}/{}/events/{name}", self.device))?;
        let mut config = 0;
        for word in words.split(',') {
            let (field, value) = word.split_once('=').unwrap_or((word, "1"));
            let format = root.text(&format!("{DEVICES}/{}/format/{}", self.device, field.trim()))?;
            let value = value.trim();
            let value = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                None => value.parse().ok()?,
            };
            config |= spread(value, format.strip_prefix("config:")?)?;
        }
        Some(NamedEvent { kind: self.number, config })
    }
}

/// The bits of a value at the places that a format names, as `0-7,32-35`.
fn spread(mut value: u64, places: &str) -> Option<u64> {
    let mut bits = 0;
    for place in crate::parse_cpu_list(places)? {
        bits |= (value & 1).checked_shl(u32::try_from(place).ok()?)?;
        value >>= 1;
    }
    (value == 0).then_some(bits)
}
