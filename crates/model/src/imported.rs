//! Names in runs that were made of another tool's output: what writes them and what reads them agree here.

/// Results of STREAM.
pub mod stream {
    /// The probe, whose axes are called as those of memory.stream are.
    pub const PROBE: &str = "stream.best_rate";
    /// The note with STREAM's own words of how valid the solution is.
    pub const VALIDATION: &str = "validation";
    /// The further quantities: mean, least and greatest time of a pass, ns.
    pub const TIMES: [&str; 3] = ["mean_time", "least_time", "greatest_time"];
}
