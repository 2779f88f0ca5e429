//! `hostmark service`: the far end of a measurement, started by a run for one round.

use std::io;
use std::process::ExitCode;

use hostmark_probes::CATALOGUE;

/// The word that starts it; no command for people.
pub const NAME: &str = "service";

/// Serves the job from standard input, until that ends.
pub fn serve() -> ExitCode {
    let served = hostmark_engine::worker::service::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock());
    super::ended(served, term!("a service"))
}
