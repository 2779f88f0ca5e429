//! Names of Arm processors, which tell only an implementer and a part number.

/// Implementer codes (MIDR_EL1 bits 31:24), as Arm assigned them.
const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// (implementer, part, name), by implementer and part.
const PARTS: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse N2"),
    (0x41, 0xd4a, "Neoverse E1"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse V3AE"),
    (0x41, 0xd84, "Neoverse V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"),
    (0x41, 0xd8e, "Neoverse N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "Kunpeng 920 (TaiShan v110)"),
    (0x48, 0xd02, "TaiShan v120"),
    (0x4e, 0x004, "Carmel"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0x800, "Kryo 2xx Gold"),
    (0x51, 0x804, "Kryo 4xx Gold"),
    (0x51, 0x805, "Kryo 4xx Silver"),
    (0x51, 0xc00, "Falkor"),
    (0x51, 0xc01, "Saphira"),
    (0x61, 0x022, "M1 Icestorm"),
    (0x61, 0x023, "M1 Firestorm"),
    (0x61, 0x024, "M1 Pro Icestorm"),
    (0x61, 0x025, "M1 Pro Firestorm"),
    (0x61, 0x028, "M1 Max Icestorm"),
    (0x61, 0x029, "M1 Max Firestorm"),
    (0x61, 0x032, "M2 Blizzard"),
    (0x61, 0x033, "M2 Avalanche"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0x70, 0x662, "FTC662"),
    (0x70, 0x663, "FTC663"),
    (0xc0, 0xac3, "AmpereOne"),
    (0xc0, 0xac4, "AmpereOne AC04"),
];

/// Amazon's own processors carry Arm's ids; each generation uses another core, so that on EC2 the core names the chip.
const GRAVITONS: &[(u32, &str)] = &[
    (0xd08, "AWS Graviton"),
    (0xd0c, "AWS Graviton2"),
    (0xd40, "AWS Graviton3"),
    (0xd4f, "AWS Graviton4"),
    (0xd84, "AWS Graviton5"),
];

/// Who designed the processor.
pub(crate) fn implementer(code: u32) -> Option<&'static str> {
    IMPLEMENTERS.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

/// A name of implementer and part: `Arm Neoverse N1`; the bare numbers where they are unknown.
pub(crate) fn model(implementer_code: u32, part: u32, on_ec2: bool) -> String {
    let core = match (implementer(implementer_code), name_of(implementer_code, part)) {
        (Some(maker), Some(name)) => format!("{maker} {name}"),
        (Some(maker), None) => format!("{maker} part {part:#05x}"),
        _ => format!("implementer {implementer_code:#04x} part {part:#05x}"),
    };
    let graviton = GRAVITONS.iter().find(|(known, _)| on_ec2 && implementer_code == 0x41 && *known == part);
    match graviton {
        Some((_, chip)) => format!("{chip} ({core})"),
        None => core,
    }
}

fn name_of(implementer: u32, part: u32) -> Option<&'static str> {
    PARTS.iter().find(|known| (known.0, known.1) == (implementer, part)).map(|known| known.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_known_implementer_and_stands_once() {
        assert!(PARTS.iter().all(|part| implementer(part.0).is_some()));
        assert!(PARTS.windows(2).all(|pair| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1)));
        assert!(GRAVITONS.iter().all(|(part, _)| name_of(0x41, *part).is_some()));
    }

    #[test]
    fn unknown_parts_keep_their_numbers() {
        assert_eq!(model(0x41, 0xd0c, false), "Arm Neoverse N1");
        assert_eq!(model(0x41, 0xd40, true), "AWS Graviton3 (Arm Neoverse V1)");
        assert_eq!(model(0xc0, 0xac3, true), "Ampere AmpereOne");
        assert_eq!(model(0x41, 0xfff, true), "Arm part 0xfff");
        assert_eq!(model(0x99, 0x1, false), "implementer 0x99 part 0x001");
    }
}
