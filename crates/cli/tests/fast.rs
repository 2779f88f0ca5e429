//! The first tier: what the program says, refuses and keeps, in seconds each.

#[expect(dead_code, reason = "no test here bears only some others")]
#[path = "../../../tests/support/alone.rs"]
mod alone;
#[path = "../../../tests/support/garbled_text.rs"]
mod garbled_text;
#[path = "../../../tests/support/golden.rs"]
mod golden;
#[path = "../../../tests/support/mutated.rs"]
mod mutated;
#[path = "support/server.rs"]
mod server;
#[path = "../../../tests/support/skip.rs"]
mod skip;
mod support;
/// What a build script makes of the page of the handbook's example.
mod texts {
    pub mod file {
        use hostmark_engine::probe::Probe;
        use hostmark_model::Text;

        pub const LOOKUP: Probe = Probe { title: Text { en: "Path lookup", zh: "路径查找" }, ..Probe::PLAIN };
    }
}

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
