//! Names of x86 processors by family, model and stepping: a hypervisor may hide what the processor is called, and not these.

use hostmark_model::design_that_can;

/// What a design is called: from the Linux kernel's asm/intel-family.h, and AMD's and Hygon's revision guides.
struct Design {
    vendor: &'static str,
    family: u32,
    /// First and last.
    models: (u32, u32),
    name: &'static str,
}

const fn intel(model: u32, name: &'static str) -> Design {
    Design { vendor: "GenuineIntel", family: 6, models: (model, model), name }
}

const fn amd(family: u32, models: (u32, u32), name: &'static str) -> Design {
    Design { vendor: "AuthenticAMD", family, models, name }
}

const DESIGNS: &[Design] = &[
    intel(0x1a, "Nehalem"),
    intel(0x2c, "Westmere"),
    intel(0x2a, "Sandy Bridge"),
    intel(0x2d, "Sandy Bridge-EP"),
    intel(0x3a, "Ivy Bridge"),
    intel(0x3e, "Ivy Bridge-EP"),
    intel(0x3c, "Haswell"),
    intel(0x3f, "Haswell-EP"),
    intel(0x45, "Haswell"),
    intel(0x46, "Haswell"),
    intel(0x3d, "Broadwell"),
    intel(0x47, "Broadwell"),
    intel(0x4f, "Broadwell-EP"),
    intel(0x56, "Broadwell-DE"),
    intel(0x4e, "Skylake"),
    intel(0x5e, "Skylake"),
    intel(0x55, "Skylake-SP"),
    intel(0x5f, "Goldmont"),
    intel(0x86, "Tremont"),
    intel(0x8e, "Kaby Lake"),
    intel(0x9e, "Kaby Lake"),
    intel(0xa5, "Comet Lake"),
    intel(0xa6, "Comet Lake"),
    intel(0x6a, "Ice Lake-SP"),
    intel(0x6c, "Ice Lake-D"),
    intel(0x7e, "Ice Lake"),
    intel(0x8c, "Tiger Lake"),
    intel(0x8d, "Tiger Lake"),
    intel(0xa7, "Rocket Lake"),
    intel(0x97, "Alder Lake"),
    intel(0x9a, "Alder Lake"),
    intel(0xb7, "Raptor Lake"),
    intel(0xba, "Raptor Lake"),
    intel(0xbf, "Raptor Lake"),
    intel(0xaa, "Meteor Lake"),
    intel(0xac, "Meteor Lake"),
    intel(0xbd, "Lunar Lake"),
    intel(0xc5, "Arrow Lake"),
    intel(0xc6, "Arrow Lake"),
    intel(0x8f, "Sapphire Rapids"),
    intel(0xcf, "Emerald Rapids"),
    intel(0xad, "Granite Rapids"),
    intel(0xae, "Granite Rapids"),
    intel(0xaf, "Sierra Forest"),
    amd(0x17, (0x01, 0x01), "Zen, Naples"),
    amd(0x17, (0x08, 0x08), "Zen+"),
    amd(0x17, (0x11, 0x18), "Zen"),
    amd(0x17, (0x31, 0x31), "Zen 2, Rome"),
    amd(0x17, (0x47, 0xaf), "Zen 2"),
    amd(0x19, (0x01, 0x01), "Zen 3, Milan"),
    amd(0x19, (0x08, 0x08), "Zen 3"),
    amd(0x19, (0x20, 0x5f), "Zen 3"),
    amd(0x19, (0x11, 0x11), "Zen 4, Genoa"),
    amd(0x19, (0x18, 0x18), "Zen 4"),
    amd(0x19, (0x60, 0x7f), "Zen 4"),
    amd(0x19, (0xa0, 0xaf), "Zen 4c, Bergamo"),
    // A hypervisor's own model of the processor has the model 0.
    amd(0x1a, (0x00, 0x0f), "Zen 5, Turin"),
    amd(0x1a, (0x10, 0x1f), "Zen 5c, Turin"),
    amd(0x1a, (0x20, 0x4f), "Zen 5"),
    amd(0x1a, (0x60, 0x7f), "Zen 5"),
    Design { vendor: "HygonGenuine", family: 0x18, models: (0x00, 0xff), name: "Dhyana" },
];

/// The design's name, as far as what it can do does not contradict it; none of one that is not known.
pub(crate) fn name(vendor: &str, numbers: (u32, u32, u32), has: impl Fn(&str) -> bool) -> Option<String> {
    let (family, model, stepping) = numbers;
    Some(design_that_can(vendor, design(vendor, family, model, stepping)?, has))
}

fn design(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<&'static str> {
    let is_it =
        |one: &&Design| one.vendor == vendor && one.family == family && (one.models.0..=one.models.1).contains(&model);
    let known = DESIGNS.iter().find(is_it)?.name;
    Some(match (known, model, stepping) {
        // Later designs of one model.
        ("Skylake-SP", 0x55, 5..=9) => "Cascade Lake",
        ("Skylake-SP", 0x55, 10..) => "Cooper Lake",
        ("Kaby Lake", 0x8e, 10..) | ("Kaby Lake", 0x9e, 10..) => "Coffee Lake",
        _ => known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_are_recognized_by_model_and_stepping() {
        for (vendor, family, model, stepping, name) in [
            ("GenuineIntel", 6, 85, 4, Some("Skylake-SP")),
            ("GenuineIntel", 6, 94, 3, Some("Skylake")),
            ("GenuineIntel", 6, 106, 6, Some("Ice Lake-SP")),
            ("GenuineIntel", 6, 85, 7, Some("Cascade Lake")),
            ("GenuineIntel", 6, 85, 11, Some("Cooper Lake")),
            ("GenuineIntel", 6, 207, 2, Some("Emerald Rapids")),
            ("AuthenticAMD", 25, 1, 1, Some("Zen 3, Milan")),
            ("AuthenticAMD", 26, 2, 1, Some("Zen 5, Turin")),
            ("AuthenticAMD", 6, 207, 2, None),
            ("GenuineIntel", 6, 9999, 0, None),
        ] {
            assert_eq!(design(vendor, family, model, stepping), name);
        }
    }

    #[test]
    fn what_it_can_do_stands_before_its_numbers() {
        let named = |numbers, flags: &[&str]| name("GenuineIntel", numbers, |flag| flags.contains(&flag));
        assert_eq!(named((6, 0xa7, 1), &["avx512f", "amx_tile"]).as_deref(), Some("≥ Sapphire Rapids"));
        assert_eq!(named((6, 0xa7, 1), &["avx512f"]).as_deref(), Some("Rocket Lake"));
        assert_eq!(named((6, 9999, 0), &["amx_tile"]), None);
    }

    #[test]
    fn no_model_has_two_names() {
        for (at, one) in DESIGNS.iter().enumerate() {
            let overlaps = |other: &Design| {
                (other.vendor, other.family) == (one.vendor, one.family)
                    && other.models.0 <= one.models.1
                    && one.models.0 <= other.models.1
            };
            assert!(!DESIGNS[at + 1..].iter().any(overlaps), "{}", one.name);
        }
    }
}
