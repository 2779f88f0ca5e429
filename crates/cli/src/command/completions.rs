//! `hostmark completions SHELL` and `hostmark man`: made from the command tree, for whoever packages hostmark.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::Shells;
use hostmark_model::{Exit, Lang};
use roff::{Roff, bold, roman};

use super::{Arguments, unwritten};
use crate::help::page;
use crate::help::page::{HelpPage, HelpSection, SectionKind};
use crate::language::{refuse, said};
use crate::{help, output, store};

/// Bash splits words at `@`, `=` and `:`, which filters are full of: this puts the line together again.
const BASH: &str = include_str!("completions.bash");

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// Shell to complete in
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArguments {
    /// Print the page of this command [default: all commands on one page]
    #[arg(value_name = "NAME")]
    page: Vec<String>,
    /// Write the page of every command into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    dir: Option<PathBuf>,
}

/// Prints what a shell reads at its start to complete hostmark.
pub fn completions(arguments: &CompletionsArguments) -> Result<Exit> {
    if arguments.shell == Shell::Bash {
        output::print(BASH);
        return Ok(Exit::Fine);
    }
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&arguments.shell.to_string()) {
        shell.write_registration("COMPLETE", "hostmark", "hostmark", "hostmark", &mut script)?;
    }
    output::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Fine)
}

/// Prints or writes manual pages.
pub fn man(arguments: &ManArguments, lang: Lang) -> Result<Exit> {
    let built = help::built(Arguments::command(), lang);
    let pages: Vec<page::HelpPage> =
        help::paths(&built).iter().map(|path| page::of(help::at(&built, path), path, lang)).collect();
    if let Some(directory) = &arguments.dir {
        return write(directory, &pages, lang);
    }
    let text = match arguments.page.as_slice() {
        [] => whole(&pages, lang),
        words => {
            let name = format!("hostmark {}", words.join(" "));
            let Some(page) = pages.iter().find(|page| page.name == name) else {
                refuse!("there is no command '{name}'; hostmark --help lists them");
            };
            man_page(page, lang)
        }
    };
    output::print(&text);
    Ok(Exit::Fine)
}

fn write(directory: &Path, pages: &[page::HelpPage], lang: Lang) -> Result<Exit> {
    for page in pages {
        let file = directory.join(format!("{}.1", page.name.replace(' ', "-")));
        store::write(&file, &man_page(page, lang)).map_err(|error| {
            let what = said!("{file} cannot be written", file = file.display());
            unwritten(&error, &what, said!("name an existing directory by --dir").as_str())
        })?;
    }
    Ok(Exit::Fine)
}

fn man_page(page: &HelpPage, lang: Lang) -> String {
    let mut roff = Roff::new();
    let name = page.name.replace(' ', "-");
    roff.control("TH", [name.to_uppercase().as_str(), "1", "", concat!("hostmark ", env!("CARGO_PKG_VERSION"))]);
    heading(&mut roff, help::heading("Name", lang));
    roff.text([roman(format!("{name} - {}", page.about))]);
    heading(&mut roff, help::heading("Synopsis", lang));
    body(&mut roff, page);
    roff.to_roff()
}

/// One page of the program and all its commands.
fn whole(pages: &[HelpPage], lang: Lang) -> String {
    let Some((own, rest)) = pages.split_first() else { return String::new() };
    let mut text = man_page(own, lang);
    for part in rest {
        let mut roff = Roff::new();
        heading(&mut roff, &part.name);
        roff.text([roman(part.about.clone())]);
        roff.control("PP", []);
        body(&mut roff, part);
        text.push_str(&roff.to_roff());
    }
    text
}

fn heading(roff: &mut Roff, text: &str) {
    roff.control("SH", [text.to_uppercase().as_str()]);
}

fn body(roff: &mut Roff, page: &HelpPage) {
    roff.text([bold(page.usage.clone())]);
    for section in &page.sections {
        man_section(roff, section);
    }
}

fn man_section(roff: &mut Roff, section: &HelpSection) {
    heading(roff, &section.heading);
    for entry in &section.entries {
        roff.control("TP", []);
        roff.text([bold(entry.term.trim_start().to_owned())]);
        for (index, paragraph) in entry.text.iter().enumerate() {
            if index > 0 {
                roff.control(if section.kind == SectionKind::Options { "br" } else { "sp" }, []);
            }
            roff.text([roman(paragraph.clone())]);
        }
    }
}
