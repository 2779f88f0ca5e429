//! What a run means, as tables, pages and exports.

#[cfg(feature = "system")]
mod browser;
#[path = "../../../tests/support/garbled_text.rs"]
mod garbled_text;
#[path = "../../../tests/support/golden.rs"]
mod golden;
#[path = "../../../tests/support/mutated.rs"]
mod mutated;
mod peers;
#[path = "synthetic/short.rs"]
mod short;
#[cfg(feature = "system")]
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod synthetic;
#[path = "synthetic/thorough.rs"]
mod thorough;

mod answer;
#[cfg(feature = "system")]
mod card;
mod compare;
mod conclusions;
mod consistency;
mod costs;
mod curves;
mod data_path;
mod doubt;
mod export;
mod findings;
mod fleet;
#[cfg(feature = "system")]
mod fleet_browser;
mod hostile;
mod hostile_values;
mod html;
#[cfg(feature = "system")]
mod html_browser;
mod import;
mod import_further;
mod import_hostile;
mod import_printed;
mod interchange;
mod interpreted_guest;
mod lmbench;
mod neighbours;
mod network;
mod older;
mod overhead;
mod planted;
mod prometheus_text;
mod reasons;
mod redact;
mod references;
mod scaling;
mod table;
mod tables;
mod tcp_loopback;
mod verdict;
mod widths;
