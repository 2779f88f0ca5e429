//! The first tier: what the program says, refuses and keeps, in seconds each.

#[expect(dead_code, reason = "no test here bears only some others")]
#[path = "../../../tests/support/alone.rs"]
mod alone;
#[path = "../../../tests/support/garbled_text.rs"]
mod garbled_text;
#[path = "../../../tests/support/golden.rs"]
mod golden;
#[path = "support/machine.rs"]
mod machine;
#[path = "../../../tests/support/mutated.rs"]
mod mutated;
#[path = "support/server.rs"]
mod server;
#[path = "../../../tests/support/skip.rs"]
mod skip;
/// Names that tests of this tier use, beside those of the second.
mod prelude {
    pub use crate::support::in_process;
    pub use crate::support::prelude::*;
}
mod support;

impl support::Home {
    /// Answer of hostmark in this process to these arguments, on a mock of the machine, with its exit code.
    pub fn mocked(&self, arguments: &[&str]) -> (i32, String, String) {
        support::in_process(&self.hostmark(arguments))
    }
}

/// What a build script makes of the page of the handbook's example.
mod texts {
    pub mod file {
        use hostmark_engine::probe::Probe;
        use hostmark_model::Text;

        pub const LOOKUP: Probe = Probe { title: Text { en: "Path lookup", zh: "路径查找" }, ..Probe::PLAIN };
    }
}

mod answers;
mod catalogue;
mod commands;
mod compare;
mod documents;
mod external;
mod fleet;
mod help;
mod host;
mod kept_runs;
mod mutated_inputs;
mod references;
mod run_file;
mod serve;
mod service;
mod tables;
mod terminal;
mod tidy;
mod watch;
mod whole_runs;
