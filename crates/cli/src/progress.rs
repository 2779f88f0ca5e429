//! The progress of a run on a terminal: drawn between rounds only, so that drawing disturbs nothing.

use std::time::Duration;

use hostmark_engine::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar with the case, the rounds and the time left; nothing when stderr is no terminal.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar on stderr.
    pub fn new() -> Bar {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(4));
        let template = " {msg:<46!} {bar:32.cyan/dim} {pos:>5}/{len} {prefix}";
        // The template is constant: it parses here or in no test.
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar { bar }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration) {
        self.bar.set_length(all as u64);
        self.bar.set_message(case.to_owned());
        self.bar.set_prefix(format!("{} s left", left.as_secs_f64().ceil()));
        self.bar.set_position(done as u64);
    }
}
