//! `hostmark worker` and `hostmark service`: a case, and the far end of a measurement, each started by a run for one round.

use std::io;
use std::process::ExitCode;

use hostmark_engine::worker;
use hostmark_model::Exit;
use hostmark_probes::CATALOGUE;

/// The words that start them; no commands for people.
pub const WORKER: &str = "worker";
pub const SERVICE: &str = "service";

/// Does one job from standard input.
pub fn serve_worker() -> ExitCode {
    ended(WORKER, worker::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// Serves the job from standard input, until that ends.
pub fn serve_far_end() -> ExitCode {
    ended(SERVICE, worker::service::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// The exit code of one, and a word to who started it by hand.
fn ended(name: &str, served: io::Result<()>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::output::complain(&format!("a {name} is started by a run, not by hand ({error}); use hostmark run"));
            ExitCode::from(Exit::BadInput.code())
        }
    }
}
