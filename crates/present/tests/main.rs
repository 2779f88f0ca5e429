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
mod prelude;
#[cfg(feature = "system")]
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod synthetic;
#[path = "synthetic/thorough.rs"]
mod thorough;

mod compare;
mod consistency;
mod costs;
mod curves;
mod data_path;
mod findings;
mod fleet;
mod hostile;
mod html;
#[cfg(feature = "system")]
mod html_browser;
mod import;
mod import_described;
mod import_printed;
mod interchange;
mod lmbench;
mod network;
mod overhead;
mod planted;
mod redact;
mod references;
mod table;
mod tables;
mod verdict;
