//! Names in runs that were made of another tool's output: what writes them and what reads them agree here.

/// Beginning of the key of a note on what another tool was asked to do: another value of it is another question.
pub const ASKED: &str = "asked.";

/// Results of STREAM.
pub mod stream {
    /// The probe, whose axes are called as those of memory.stream are.
    pub const PROBE: &str = "stream.best_rate";
    /// The note with STREAM's own words of how valid the solution is.
    pub const VALIDATION: &str = "validation";
    /// The note with the number of passes, of which the best counts.
    pub const PASSES: &str = "asked.passes";
    /// The further quantities: mean, least and greatest time of a pass, ns.
    pub const TIMES: [&str; 3] = ["mean_time", "least_time", "greatest_time"];
}
