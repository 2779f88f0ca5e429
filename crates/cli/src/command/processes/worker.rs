//! `hostmark worker`: started by a run, for one round.

use std::io;
use std::process::ExitCode;

use hostmark_probes::CATALOGUE;

/// The word that starts it; no command for people.
pub const NAME: &str = "worker";

/// Does one job from standard input.
pub fn serve() -> ExitCode {
    match hostmark_engine::worker::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::output::complain(&format!("a worker is started by a run, not by hand ({error}); use hostmark run"));
            ExitCode::from(hostmark_model::Exit::BadInput.code())
        }
    }
}
