//! What the machine is doing: uptime, load, and who waits for what.

use std::collections::BTreeMap;

use hostmark_model::{Activity, Pressure};

use crate::root::Root;

const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

pub(crate) fn read(root: &Root) -> Activity {
    Activity {
        uptime_s: root.text("/proc/uptime").and_then(|text| number(text.split_whitespace().next()?)),
        load: root.text("/proc/loadavg").as_deref().and_then(load),
        pressure: RESOURCES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), pressure(root, name)?)))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// `1.03 0.66 0.31 3/93 8824`.
pub(crate) fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(number);
    Some([words.next()??, words.next()??, words.next()??])
}

/// `some avg10=1.27 avg60=0.68 …`, in percent; a second line for `full`.
fn pressure(root: &Root, resource: &str) -> Option<Pressure> {
    let text = root.text(&format!("/proc/pressure/{resource}"))?;
    let share = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let percent = line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
        Some(number(percent)? / 100.0)
    };
    Some(Pressure { some: share("some")?, full: share("full") })
}

/// A number that a run file can carry.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}
