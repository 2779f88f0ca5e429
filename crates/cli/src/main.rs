//! How does one ask? The command line: parses, calls, prints, and ends with a documented exit code.
#![forbid(unsafe_code)]

mod command;
mod emulator;
mod help;
mod language;
mod output;
mod progress;
mod refusals;
mod shown;
mod signals;
mod store;
mod wall;
mod within;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;
use hostmark_model::Exit;

use crate::command::{Arguments, Command};
use crate::wall::SinceStart;

fn main() -> ExitCode {
    // The hard limit of a run counts from here.
    let wall = SinceStart::now();
    hostmark_engine::sys::process::keep_ended_children();
    // The kernel of a guest starts its first process with words of its own command line.
    if command::guest::is_first() {
        return command::guest::begin();
    }
    signals::let_writes_fail();
    // Workers and the janitor are started by the hundred: they skip everything that only a person needs.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(command::worker::NAME) => return command::worker::serve(),
        Some(command::agent::NAME) => return command::agent::serve(words.next().as_deref(), words.next().as_deref()),
        Some(command::service::NAME) => return command::service::serve(),
        Some(command::dial::NAME) => return command::dial::dial(words),
        Some(command::janitor::NAME) => return command::janitor::serve(),
        Some(command::neighbour::NAME) => return command::neighbour::serve(words),
        Some(command::guest::MACHINE) => return command::guest::machine(words),
        Some(command::guest::WITHIN) => return command::guest::within(words),
        Some(command::guest::SESSION) => return command::guest::session(words),
        _ => {}
    }
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let lang = language::settle(&words);
    // What a shell asks behind Tab. Nothing else looks at COMPLETE, and nothing is started or written.
    match CompleteEnv::with_factory(|| help::tree_that_completes(Arguments::command(), lang))
        .completer("hostmark")
        .try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref())
    {
        Ok(false) => {}
        Ok(true) => return ExitCode::from(Exit::Fine.code()),
        Err(error) => {
            output::complain(&help::errors::of_completion(&error));
            return ExitCode::from(Exit::BadInput.code());
        }
    }
    if words.is_empty() {
        output::print(&help::help(Arguments::command(), &words, lang));
        return ExitCode::from(Exit::Fine.code());
    }
    let parsed = help::tree(Arguments::command(), lang).try_get_matches_from(std::env::args_os());
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => {
            return ExitCode::from(
                help::errors::answer(&error, Arguments::command(), &words, lang).or(output::exit()).code(),
            );
        }
    };
    output::settle(arguments.color, arguments.quiet);
    let done = match arguments.command {
        Command::Run(run) => command::run::run(&run, lang, &wall),
        Command::List(list) => command::list::list(&list, lang),
        Command::Explain(explain) => command::explain::explain(&explain, lang),
        Command::Host(host) => command::host::host(&host, lang),
        Command::Report(report) => command::report::report(&report, lang),
        Command::Compare(compare) => command::compare::compare(&compare, lang),
        Command::Try(knob) => command::knobs::try_out(&knob, lang),
        Command::Fleet(fleet) => command::fleet::fleet(&fleet, lang),
        Command::Import(import) => command::import::import(&import, lang),
        Command::Runs(runs) => command::runs::runs(&runs, lang),
        Command::Vm(vm) => command::vm::vm(&vm, lang),
        Command::Serve(serve) => command::serve::serve(&serve, lang),
        Command::Completions(completions) => command::completions::completions(&completions),
        Command::Man(man) => command::completions::man(&man, lang),
    };
    let exit = done.unwrap_or_else(|error| {
        // Every error is a whole sentence by itself: what caused it is in it, and what to do is its end.
        output::complain(&command::sentence(&error));
        command::exit_of(&error)
    });
    ExitCode::from(exit.or(output::exit()).code())
}
