//! `hostmark worker`: started by a run, for one round.

use std::io;
use std::process::ExitCode;

use hostmark_probes::CATALOGUE;

/// The word that starts it; no command for people.
pub const NAME: &str = "worker";

/// Does one job from standard input.
pub fn serve() -> ExitCode {
    let served = hostmark_engine::worker::serve(CATALOGUE, &mut io::stdin().lock(), &mut io::stdout().lock());
    super::ended(served, term!("a worker"))
}
