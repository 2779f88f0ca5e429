//! How hot the processor is, as the drivers of its sensors tell it, or a thermal zone.

use crate::root::Root;

const SENSORS: &str = "/sys/class/hwmon";
const ZONES: &str = "/sys/class/thermal";
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
    /// Those of drivers; where there is none, the thermal zones of processors.
    pub fn find(root: &Root) -> CpuSensors {
        let mut files: Vec<String> =
            root.names(SENSORS).iter().flat_map(|device| of_driver(root, &format!("{SENSORS}/{device}"))).collect();
        if files.is_empty() {
            let is_cpu = |zone: &&String| root.text(&format!("{ZONES}/{zone}/type")).is_some_and(|kind| is_zone(&kind));
            let names = root.names(ZONES);
            files = names.iter().filter(is_cpu).map(|zone| format!("{ZONES}/{zone}/temp")).collect();
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

/// Whether a thermal zone of this kind is a processor's: Intel's package, or what a device tree calls so.
fn is_zone(kind: &str) -> bool {
    kind == "x86_pkg_temp" || kind == "TCPU" || kind.starts_with("cpu")
}
