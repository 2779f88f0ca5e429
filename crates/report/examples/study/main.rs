//! Compares estimators on recorded runs: `cargo run --release -p hostmark-report --example study -- tables DIRECTORY`.
//!
//! `slim RUN.json…` writes what the comparison needs of run files into files beside them, `tables DIRECTORY` reads such files and run
//! files alike, and `bias` simulates what each estimator makes of a known cost.

mod bias;
mod estimators;
mod recorded;
mod tables;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ended = match words[..] {
        ["slim", ref files @ ..] if !files.is_empty() => files.iter().try_for_each(|file| recorded::slim(Path::new(file))),
        ["tables", directory] => recorded::of_directory(Path::new(directory)).map(|runs| tables::print(&runs)),
        ["bias"] => {
            bias::print();
            Ok(())
        }
        _ => Err("give slim RUN.json…, tables DIRECTORY, or bias".to_owned()),
    };
    if let Err(sentence) = ended {
        eprintln!("study: {sentence}");
        std::process::exit(2);
    }
}
