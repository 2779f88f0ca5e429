//! `hostmark completions SHELL` and `hostmark man`: made from the command tree, for whoever packages hostmark.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use hostmark_model::Exit;

use super::Arguments;
use crate::output;

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that completes
    shell: Shell,
}

/// Prints the completion script of a shell.
pub fn completions(arguments: &CompletionsArguments) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hostmark", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Fine)
}

/// Prints the man page: the program's own, with every command's synopsis, behind it the pages of the commands.
pub fn man() -> Result<Exit> {
    let mut page = Vec::new();
    let mut command = Arguments::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
        let part = clap_mangen::Man::new(part.clone());
        part.render_name_section(&mut page)?;
        part.render_synopsis_section(&mut page)?;
        part.render_description_section(&mut page)?;
        part.render_options_section(&mut page)?;
    }
    output::print(&String::from_utf8_lossy(&page));
    Ok(Exit::Fine)
}
