//! Dispatch of the commands behind the program's name.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;
use hostmark_analysis::references;
use hostmark_model::Exit;

use crate::command::{Arguments, Command};
use crate::world::World;
use crate::{command, help, language, output, signals, world};

/// Settles what holds for the whole process, and serves where it is one that a command has started; none where it is a
/// person's.
pub fn serve(words: &[OsString]) -> Option<ExitCode> {
    hostmark_engine::sys::process::reset_signals();
    // The kernel of a guest starts its first process with words of its own command line.
    if command::guest::is_first() {
        return Some(command::guest::begin());
    }
    // The list of processes has it by this name, and not by that of the link or descriptor through which it was started.
    let _ = rustix::thread::set_name(c"hostmark");
    signals::let_writes_fail();
    // Workers and the janitor are started by the hundred: they skip everything that only a person needs.
    let (first, rest) = words.split_first()?;
    let words = || rest.iter().cloned();
    Some(match first.to_str()? {
        command::processes::WORKER => command::processes::serve_worker(),
        command::far::agent::NAME => command::far::agent::serve(rest),
        command::processes::SERVICE => command::processes::serve_far_end(),
        command::far::DIAL => command::far::dial(words()),
        command::processes::janitor::NAME => command::processes::janitor::serve(),
        command::processes::NEIGHBOUR => command::processes::serve_neighbour(words()),
        command::self_check::limits::NAME => command::self_check::limits::serve(rest),
        command::guest::MACHINE => command::guest::machine(words()),
        command::guest::WITHIN => command::guest::within(words()),
        command::guest::SESSION => command::guest::session(words()),
        _ => return None,
    })
}

/// Does what a person asks for, in this world; how that ended.
pub fn run(words: &[OsString], world: &mut World) -> Exit {
    let _entered = world::enter(world);
    output::begin();
    references::bring(Vec::new());
    let exit = answered(&hostmark_probes::words_of_today(words), world);
    exit.or(output::exit())
}

fn answered(words: &[OsString], world: &mut World) -> Exit {
    let lang = language::settle(words);
    let named = || std::iter::once(OsString::from("hostmark")).chain(words.iter().cloned());
    // What a shell asks behind Tab. Nothing else looks at COMPLETE, and nothing is started or written.
    match CompleteEnv::with_factory(|| help::tree_that_completes(Arguments::command(), lang))
        .completer("hostmark")
        .try_complete(named(), std::env::current_dir().ok().as_deref())
    {
        Ok(false) => {}
        Ok(true) => return Exit::Fine,
        Err(error) => {
            output::complain(&help::complete::of_completion(&error));
            return Exit::BadInput;
        }
    }
    if !words.iter().any(|word| word == "--undo") {
        command::processes::janitor::tell();
    }
    if words.is_empty() {
        output::print(&help::help(Arguments::command(), words, lang));
        return Exit::Fine;
    }
    let parsed = help::tree(Arguments::command(), lang).try_get_matches_from(named());
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return help::complete::answer(&error, Arguments::command(), words, lang),
    };
    output::settle(arguments.color, arguments.quiet);
    let done = match arguments.command {
        Command::Run(run) => command::run::run(&run, lang, world),
        Command::List(list) => command::explain::list(&list, lang),
        Command::Explain(explain) => command::explain::explain(&explain, lang),
        Command::Host(host) => command::host::host(&host, lang),
        Command::SelfCheck(check) => command::self_check::self_check(&check, lang),
        Command::Watch(watch) => command::watch::watch(&watch, lang, world),
        Command::Report(report) => command::report::report(&report, lang),
        Command::Compare(compare) => command::compare::compare(&compare, lang),
        Command::Try(tuning) => command::tuning::try_out(&tuning, lang),
        Command::Fleet(fleet) => command::fleet::fleet(&fleet, lang),
        Command::Import(import) => command::import::import(&import, lang),
        Command::Runs(runs) => command::runs::runs(&runs, lang),
        Command::Reference(reference) => command::report::reference(&reference, lang),
        Command::Vm(vm) => command::vm::vm(&vm, lang),
        Command::Serve(serve) => command::far::serve(&serve, lang),
        Command::Completions(completions) => command::completions::completions(&completions),
        Command::Man(man) => command::completions::man(&man, lang),
    };
    done.unwrap_or_else(|error| {
        // Every error is a whole sentence by itself: what caused it is in it, and what to do is its end.
        output::complain(&command::sentence(&error));
        command::exit_of(&error)
    })
}
