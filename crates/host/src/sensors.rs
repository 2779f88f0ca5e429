//! Sensors and counters of a processor, as sysfs names them: how hot it is, what energy it used, and the events that its cores count.

use crate::root::{Root, parse_cpu_list};

const HWMON: &str = "/sys/class/hwmon";
const THERMAL_ZONES: &str = "/sys/class/thermal";
/// Drivers of sensors that lie in a processor.
const DRIVERS: [&str; 5] = ["coretemp", "k8temp", "k10temp", "zenpower", "via_cputemp"];
/// AMD's control value, on some models some degrees above the real one, which then stands beside it.
const CONTROL: &str = "Tctl";
const DIE: &str = "Tdie";
/// A sensor that tells something else tells nothing, degrees Celsius.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1.0..=150.0;

/// The sensors of this machine's processors; none in most guests.
#[derive(Debug, Clone)]
pub struct CpuSensors {
    root: Root,
    files: Vec<String>,
}

impl CpuSensors {
    /// Finds the sensors of drivers; where there is none, the thermal zones of processors.
    pub fn find(root: &Root) -> CpuSensors {
        let mut files: Vec<String> =
            root.names(HWMON).iter().flat_map(|device| of_driver(root, &format!("{HWMON}/{device}"))).collect();
        if files.is_empty() {
            let is_cpu =
                |zone: &&String| root.text(&format!("{THERMAL_ZONES}/{zone}/type")).is_some_and(|kind| is_zone(&kind));
            let names = root.names(THERMAL_ZONES);
            files = names.iter().filter(is_cpu).map(|zone| format!("{THERMAL_ZONES}/{zone}/temp")).collect();
        }
        CpuSensors { root: root.clone(), files }
    }

    /// The hottest of them now, degrees Celsius; none where none tells.
    pub fn hottest_celsius(&self) -> Option<f64> {
        let read = |file: &String| Some(self.root.one_read(file)?.trim().parse::<f64>().ok()? / 1e3);
        self.files.iter().filter_map(read).filter(|celsius| POSSIBLE.contains(celsius)).reduce(f64::max)
    }
}

/// The files of a driver's sensors: those of whole packages alone where it has such, as these are as hot as their hottest core, and
/// each sensor that is read is a message to its core.
fn of_driver(root: &Root, directory: &str) -> Vec<String> {
    let name = root.text(&format!("{directory}/name")).unwrap_or_default();
    if !DRIVERS.contains(&name.as_str()) && !is_zone(&name) {
        return Vec::new();
    }
    let files = root.names(directory);
    let sensors = files.iter().filter_map(|file| file.strip_suffix("_input")).filter(|name| name.starts_with("temp"));
    let labelled: Vec<(&str, String)> =
        sensors.map(|sensor| (sensor, root.text(&format!("{directory}/{sensor}_label")).unwrap_or_default())).collect();
    let has = |is_it: &dyn Fn(&str) -> bool| labelled.iter().any(|(_, label)| is_it(label));
    let is_package = |label: &str| label.starts_with("Package id");
    let (has_package, has_die) = (has(&is_package), has(&|label| label == DIE));
    let is_meant = |label: &str| if has_package { is_package(label) } else { !has_die || label != CONTROL };
    let meant = labelled.iter().filter(|(_, label)| is_meant(label));
    meant.map(|(sensor, _)| format!("{directory}/{sensor}_input")).collect()
}

/// Tells whether a thermal zone of this kind is a processor's: Intel's package, or a device tree's name for it.
fn is_zone(kind: &str) -> bool {
    kind == "x86_pkg_temp" || kind == "TCPU" || kind.starts_with("cpu")
}

const POWER_ZONES: &str = "/sys/class/powercap";

/// Counts the energy of the package that a CPU lies in, whoever uses it.
#[derive(Debug, Clone)]
pub struct EnergyMeter {
    root: Root,
    path: String,
    /// Count above which it begins at 0 again; `None` where it does not say.
    most_uj: Option<u64>,
}

/// Reason why there is no energy counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEnergy {
    /// The machine shows no counter.
    Untold,
    /// File that this user may not read.
    Forbidden(String),
}

impl EnergyMeter {
    /// Finds the meter of a CPU's package.
    pub fn of_cpu(root: &Root, cpu: usize) -> Result<EnergyMeter, NoEnergy> {
        let package = root
            .number::<usize>(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"))
            .unwrap_or_default();
        let (path, most) =
            energy_zone(root, package).or_else(|| energy_sensor(root, package)).ok_or(NoEnergy::Untold)?;
        let most_uj = most.and_then(|path| root.number(&path));
        let meter = EnergyMeter { root: root.clone(), path, most_uj };
        match meter.read_uj() {
            Some(_) => Ok(meter),
            None => Err(NoEnergy::Forbidden(meter.path)),
        }
    }

    /// Reads its count, microjoules.
    pub fn read_uj(&self) -> Option<u64> {
        self.root.one_read(&self.path)?.trim().parse().ok()
    }

    /// Returns what was used between two readings, microjoules; `None` where it began anew and does not say from where.
    pub fn used_uj(&self, before: u64, after: u64) -> Option<u64> {
        after.checked_sub(before).or_else(|| self.most_uj?.checked_sub(before)?.checked_add(after))
    }
}

/// The counter of RAPL's zone of a package, and the file of its largest value. A part of a package, as its memory, has a zone below
/// that, and the whole platform one beside it.
fn energy_zone(root: &Root, package: usize) -> Option<(String, Option<String>)> {
    // Of a package of several dies each has a zone of another name, and none is the package.
    let own = Some(format!("package-{package}"));
    let zones = root.names(POWER_ZONES);
    let is_own = |zone: &&String| root.text(&format!("{POWER_ZONES}/{zone}/name")) == own;
    let zone = zones.iter().filter(|zone| zone.starts_with("intel-rapl:")).find(is_own)?;
    let file = |name: &str| format!("{POWER_ZONES}/{zone}/{name}");
    root.exists(&file("energy_uj")).then(|| (file("energy_uj"), Some(file("max_energy_range_uj"))))
}

/// The sensor of a socket, as AMD's driver labels it.
fn energy_sensor(root: &Root, package: usize) -> Option<(String, Option<String>)> {
    let own = Some(format!("Esocket{package}"));
    root.names(HWMON).iter().find_map(|device| {
        let directory = format!("{HWMON}/{device}");
        let files = root.names(&directory);
        let mut sensors =
            files.iter().filter_map(|file| file.strip_suffix("_label")).filter(|name| name.starts_with("energy"));
        let sensor = sensors.find(|sensor| root.text(&format!("{directory}/{sensor}_label")) == own)?;
        Some((format!("{directory}/{sensor}_input"), None))
    })
}

const DEVICES: &str = "/sys/bus/event_source/devices";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorePmu {
    device: String,
    /// The kernel's number for it.
    pub number: u32,
    /// True where other cores of the machine have other counters.
    pub is_one_of_several: bool,
}

/// An event that a device names itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedEvent {
    pub kind: u32,
    pub config: u64,
}

impl CorePmu {
    /// Finds the PMU of a CPU; `None` where the kernel drives no counters.
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
            config |= spread_bits(value, format.strip_prefix("config:")?)?;
        }
        Some(NamedEvent { kind: self.number, config })
    }
}

/// The bits of a value at the places that a format names, as `0-7,32-35`.
fn spread_bits(mut value: u64, places: &str) -> Option<u64> {
    let mut bits = 0;
    for place in parse_cpu_list(places)? {
        bits |= (value & 1).checked_shl(u32::try_from(place).ok()?)?;
        value >>= 1;
    }
    (value == 0).then_some(bits)
}
