//! Maker, model, firmware and memory modules.

use hostmark_model::{FirmwareFacts, MemoryModule};

use crate::root::Root;

const DMI_DIR: &str = "/sys/class/dmi/id";
/// The firmware's table entries of type 17, one a slot; root alone may read them.
const ENTRY_DIR: &str = "/sys/firmware/dmi/entries";
/// Directory of a loaded EDAC driver, which everybody may read.
const EDAC_DIR: &str = "/sys/devices/system/edac/mc";
/// The largest machines have 96 slots.
const MOST_MODULES: usize = 192;

pub(crate) fn read(root: &Root) -> FirmwareFacts {
    let text = |name: &str| root.text(&format!("{DMI_DIR}/{name}"));
    let mut memory_modules = from_tables(root);
    if memory_modules.is_empty() {
        memory_modules = from_edac(root);
    }
    FirmwareFacts {
        vendor: text("sys_vendor"),
        product: text("product_name").or_else(|| root.text("/sys/firmware/devicetree/base/model")),
        bios_version: text("bios_version"),
        bios_date: text("bios_date"),
        memory_modules,
    }
}

fn from_tables(root: &Root) -> Vec<MemoryModule> {
    let names = root.names(ENTRY_DIR);
    let slots = names.iter().filter(|name| name.starts_with("17-")).take(MOST_MODULES);
    slots.filter_map(|name| module(&root.bytes(&format!("{ENTRY_DIR}/{name}/raw"))?)).collect()
}

/// SMBIOS structure "Memory Device"; None for an empty slot and for a damaged entry.
fn module(entry: &[u8]) -> Option<MemoryModule> {
    let word = |at: usize| Some(u16::from_le_bytes([*entry.get(at)?, *entry.get(at + 1)?]));
    let length = usize::from(*entry.get(1)?);
    let size_bytes = match word(0x0c)? {
        0 | 0xffff => return None,
        // Too large for the field: mebibytes in a longer one.
        0x7fff => u64::from(word(0x1c)?) << 20 | u64::from(word(0x1e)? & 0x7fff) << 36,
        size if size & 0x8000 != 0 => u64::from(size & 0x7fff) << 10,
        size => u64::from(size) << 20,
    };
    let kind = match *entry.get(0x12)? {
        0x18 => Some("DDR3"),
        0x1a => Some("DDR4"),
        0x1e => Some("LPDDR4"),
        0x20 => Some("HBM"),
        0x21 => Some("HBM2"),
        0x22 => Some("DDR5"),
        0x23 => Some("LPDDR5"),
        _ => None,
    };
    // The configured rate where the structure is long enough to hold it, else the module's own.
    let configured = (length > 0x21).then(|| word(0x20)).flatten().filter(|rate| *rate > 0);
    let rate = configured.or_else(|| word(0x15)).filter(|rate| *rate > 0 && *rate < 0xffff);
    let slot = usize::from(*entry.get(0x10)?);
    Some(MemoryModule {
        slot: string(entry.get(length..)?, slot),
        kind: kind.map(str::to_owned),
        size_bytes,
        transfers_per_s: rate.map(|millions| u64::from(millions) * 1_000_000),
    })
}

/// The n-th of the strings that follow a structure; 0 is none.
fn string(strings: &[u8], number: usize) -> Option<String> {
    let text = strings.split(|byte| *byte == 0).nth(number.checked_sub(1)?)?;
    let text = String::from_utf8_lossy(text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn from_edac(root: &Root) -> Vec<MemoryModule> {
    let mut modules = Vec::new();
    for controller in root.names(EDAC_DIR).iter().filter(|name| name.starts_with("mc")) {
        for name in root.names(&format!("{EDAC_DIR}/{controller}")) {
            if !(name.starts_with("dimm") || name.starts_with("rank")) || modules.len() == MOST_MODULES {
                continue;
            }
            let text = |file: &str| root.text(&format!("{EDAC_DIR}/{controller}/{name}/{file}"));
            let mebibytes = text("size").and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
            if mebibytes > 0 {
                modules.push(MemoryModule {
                    slot: text("dimm_label"),
                    kind: text("dimm_mem_type"),
                    size_bytes: mebibytes << 20,
                    transfers_per_s: None,
                });
            }
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of 0x28 bytes with these words, and its strings.
    fn entry(words: &[(usize, u16)], kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x28];
        (bytes[0], bytes[1], bytes[0x10], bytes[0x12]) = (17, 0x28, 2, kind);
        for (at, word) in words {
            bytes[*at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        bytes.extend(b"maker\0DIMM_A1\0\0");
        bytes
    }

    #[test]
    fn a_module_reports_slot_kind_size_and_rate() {
        let found = module(&entry(&[(0x0c, 0x7fff), (0x1c, 0), (0x1e, 1), (0x15, 6400), (0x20, 5600)], 0x22)).unwrap();
        assert_eq!((found.slot.as_deref(), found.kind.as_deref()), (Some("DIMM_A1"), Some("DDR5")));
        assert_eq!((found.size_bytes, found.transfers_per_s), (64 << 30, Some(5_600_000_000)));
        assert_eq!(module(&entry(&[(0x0c, 16384)], 0x1a)).unwrap().size_bytes, 16 << 30);
    }

    #[test]
    fn empty_slots_and_damaged_entries_are_no_modules() {
        let whole = entry(&[(0x0c, 16384), (0x15, 3200)], 0x1a);
        assert!(module(&entry(&[], 0x1a)).is_none());
        for length in 0..0x28 {
            assert!(module(&whole[..length]).is_none(), "{length}");
        }
    }
}
