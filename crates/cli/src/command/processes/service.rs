//! `hostmark worker` and `hostmark service`: a case, and the far end of a measurement, each started by a run for one round.

use std::io;
use std::process::ExitCode;

use hostmark_engine::worker;
use hostmark_model::{Exit, Text};
use hostmark_probes::CATALOGUE;

use crate::language::said;

/// The words that start them; no commands for people.
pub const WORKER: &str = "worker";
pub const SERVICE: &str = "service";

/// Does one job from standard input.
pub fn serve_worker() -> ExitCode {
    ended(term!("a worker"), worker::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// Serves the job from standard input, until that ends.
pub fn serve_far_end() -> ExitCode {
    ended(term!("a service"), worker::far::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// The exit code of one: an error says that a person started it.
fn ended(process: Text, served: io::Result<()>) -> ExitCode {
    let Err(error) = served else { return ExitCode::SUCCESS };
    crate::output::complain(&said!("{process} is started by a run, not by hand ({error}); use hostmark run"));
    ExitCode::from(Exit::BadInput.code())
}
