//! What a processor can do tells that it is no design of before: a hypervisor may give it the name of another.

use super::CpuFacts;

/// What came with a design and no earlier one can do: vendor, flag, and how the names of the designs begin that have it, the first of them
/// first. From Intel's Architecture Instruction Set Extensions reference and AMD's manuals.
const CAME_WITH: &[(&str, &str, &[&str])] = &[
    ("GenuineIntel", "amx_fp16", GRANITE_RAPIDS),
    ("GenuineIntel", "amx_tile", SAPPHIRE_RAPIDS),
    ("GenuineIntel", "avx512_fp16", SAPPHIRE_RAPIDS),
    ("GenuineIntel", "avx512_bf16", &["Cooper Lake", "Sapphire Rapids", "Emerald Rapids", "Granite Rapids"]),
    ("GenuineIntel", "avx512_vbmi2", ICE_LAKE),
    ("GenuineIntel", "avx512f", WITH_AVX512),
    ("AuthenticAMD", "avx_vnni", &["Zen 5"]),
    ("AuthenticAMD", "avx512f", &["Zen 4", "Zen 5"]),
];
/// Intel's designs with AVX-512, the oldest first; the smaller Skylake and its successors have none of it.
const WITH_AVX512: &[&str] = &[
    "Skylake-SP",
    "Cascade Lake",
    "Cooper Lake",
    "Ice Lake-SP",
    "Ice Lake",
    "Tiger Lake",
    "Rocket Lake",
    "Alder Lake",
    "Sapphire Rapids",
    "Emerald Rapids",
    "Granite Rapids",
];
const ICE_LAKE: &[&str] = WITH_AVX512.split_at(3).1;
const SAPPHIRE_RAPIDS: &[&str] = ICE_LAKE.split_at(5).1;
const GRANITE_RAPIDS: &[&str] = SAPPHIRE_RAPIDS.split_at(2).1;

/// The design's name; that of the first that it can be (`≥ Sapphire Rapids`) where it can do what the design cannot.
pub fn design_that_can(vendor: &str, reported: &str, has: impl Fn(&str) -> bool) -> String {
    let is_other = |(of, flag, names): &&(&str, &str, &[&str])| {
        *of == vendor && has(flag) && !names.iter().any(|name| reported.starts_with(name))
    };
    // What is told already as this one or a later one stays so.
    let other = CAME_WITH.iter().find(is_other).filter(|_| !reported.starts_with(OR_LATER));
    other.map_or_else(|| reported.to_owned(), |(_, _, names)| format!("{OR_LATER} {}", names[0]))
}

/// Before the name of a design: this one or a later one.
const OR_LATER: char = '≥';

impl CpuFacts {
    /// What the design is called, where it is known and the model's name does not say it. What contradicts the features is not used, whoever
    /// recorded it.
    pub fn design(&self) -> Option<String> {
        let reported = self.microarchitecture.as_deref()?;
        let has = |flag: &str| self.features.iter().any(|feature| feature == flag);
        Some(design_that_can(self.vendor.as_deref().unwrap_or_default(), reported, has))
    }

    /// Whether the design is only known to be this one or a later one.
    pub fn is_later_design(&self) -> bool {
        self.design().is_some_and(|design| design.starts_with(OR_LATER))
    }

    /// The model's name with what its design is called: `Intel Xeon Processor (Emerald Rapids)`.
    pub fn named_model(&self) -> Option<String> {
        match (self.plain_model(), self.design()) {
            (Some(model), Some(design)) => {
                // The name of another design in brackets is a hypervisor's.
                let bare =
                    model.split_once(" (").filter(|_| self.is_later_design()).map_or(model.as_str(), |(bare, _)| bare);
                Some(format!("{} ({design})", bare.trim_end()))
            }
            (model, design) => model.or(design),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_design_cannot_do_reports_that_it_is_another_one() {
        let named = |vendor: &str, reported: &str, flags: &[&str]| {
            design_that_can(vendor, reported, |flag| flags.contains(&flag))
        };
        // A hypervisor's guest of 2026.
        let flags = ["avx512f", "avx512_vbmi2", "avx512_bf16", "amx_tile"];
        assert_eq!(named("GenuineIntel", "Rocket Lake", &flags), "≥ Sapphire Rapids");
        assert_eq!(named("GenuineIntel", "Rocket Lake", &flags[..2]), "Rocket Lake");
        assert_eq!(named("GenuineIntel", "Granite Rapids", &flags), "Granite Rapids");
        assert_eq!(named("GenuineIntel", "≥ Sapphire Rapids", &flags), "≥ Sapphire Rapids");
        assert_eq!(named("GenuineIntel", "Emerald Rapids", &["amx_fp16", "amx_tile"]), "≥ Granite Rapids");
        assert_eq!(named("GenuineIntel", "Cascade Lake", &flags[..2]), "≥ Ice Lake-SP");
        assert_eq!(named("GenuineIntel", "Skylake", &flags[..1]), "≥ Skylake-SP");
        assert_eq!(named("GenuineIntel", "Broadwell-EP", &["avx2"]), "Broadwell-EP");
        assert_eq!(named("AuthenticAMD", "Zen 3, Milan", &["avx512f"]), "≥ Zen 4");
        assert_eq!(named("AuthenticAMD", "Zen 4, Genoa", &["avx512f"]), "Zen 4, Genoa");
    }

    #[test]
    fn a_recorded_name_that_the_features_contradict_is_not_used() {
        let mut cpu = CpuFacts {
            vendor: Some("GenuineIntel".into()),
            model: Some("Intel(R) Xeon(R) Processor".into()),
            microarchitecture: Some("Rocket Lake".into()),
            features: vec!["avx2".into(), "amx_tile".into()],
            ..CpuFacts::default()
        };
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (≥ Sapphire Rapids)"));
        assert!(cpu.is_later_design());
        cpu.model = Some("Intel Xeon Processor (Cascadelake)".into());
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (≥ Sapphire Rapids)"));
        cpu.features.clear();
        assert_eq!(cpu.named_model().as_deref(), Some("Intel Xeon Processor (Cascadelake) (Rocket Lake)"));
    }
}
