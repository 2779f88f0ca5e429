//! What a processor has used of energy, as RAPL or a driver of the host's sensors tells it.

use crate::root::Root;

const ZONES: &str = "/sys/class/powercap";
const SENSORS: &str = "/sys/class/hwmon";

/// Counts the energy of the package that a CPU lies in, whoever uses it.
#[derive(Debug, Clone)]
pub struct EnergyMeter {
    root: Root,
    path: String,
    /// Above this it begins at 0 again; none where it does not say.
    most_uj: Option<u64>,
}

/// Why nothing tells energy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEnergy {
    /// The machine shows no counter.
    Untold,
    /// This user may not read this file.
    Forbidden(String),
}

impl EnergyMeter {
    /// That of a CPU's package.
    pub fn of_cpu(root: &Root, cpu: usize) -> Result<EnergyMeter, NoEnergy> {
        let package = root
            .number::<usize>(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"))
            .unwrap_or_default();
        let (path, most) = zone(root, package).or_else(|| sensor(root, package)).ok_or(NoEnergy::Untold)?;
        let most_uj = most.and_then(|path| root.number(&path));
        let meter = EnergyMeter { root: root.clone(), path, most_uj };
        match meter.read_uj() {
            Some(_) => Ok(meter),
            None => Err(NoEnergy::Forbidden(meter.path)),
        }
    }

    /// What it has counted, microjoules.
    pub fn read_uj(&self) -> Option<u64> {
        self.root.one_read(&self.path)?.trim().parse().ok()
    }

    /// What was used between two readings, microjoules; none where it began anew and does not say from where.
    pub fn used_uj(&self, before: u64, after: u64) -> Option<u64> {
        match after.checked_sub(before) {
            Some(used) => Some(used),
            None => self.most_uj?.checked_sub(before)?.checked_add(after),
        }
    }
}

/// The counter of RAPL's zone of a package, and the file of its largest value. A part of a package, as its memory, has a zone below
/// that, and the whole platform one beside it.
fn zone(root: &Root, package: usize) -> Option<(String, Option<String>)> {
    // Of a package of several dies each has a zone of another name, and none is the package.
    let own = Some(format!("package-{package}"));
    let zones = root.names(ZONES);
    let is_own = |zone: &&String| root.text(&format!("{ZONES}/{zone}/name")) == own;
    let zone = zones.iter().filter(|zone| zone.starts_with("intel-rapl:")).find(is_own)?;
    let file = |name: &str| format!("{ZONES}/{zone}/{name}");
    root.exists(&file("energy_uj")).then(|| (file("energy_uj"), Some(file("max_energy_range_uj"))))
}

/// The sensor of a socket, as AMD's driver labels it.
fn sensor(root: &Root, package: usize) -> Option<(String, Option<String>)> {
    let own = Some(format!("Esocket{package}"));
    root.names(SENSORS).iter().find_map(|device| {
        let directory = format!("{SENSORS}/{device}");
        let files = root.names(&directory);
        let mut sensors =
            files.iter().filter_map(|file| file.strip_suffix("_label")).filter(|name| name.starts_with("energy"));
        let sensor = sensors.find(|sensor| root.text(&format!("{directory}/{sensor}_label")) == own)?;
        Some((format!("{directory}/{sensor}_input"), None))
    })
}
