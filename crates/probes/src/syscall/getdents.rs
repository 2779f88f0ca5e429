//! Probe syscall.getdents: a directory is read from its beginning to its end, by the number of its entries.

use crate::workloads::storage::files;
use crate::workloads::storage::path_ops::Directory;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::count("entries", "100", Points::quick(&["100"]).standard(&["1", "1000"]).thorough(&["10000"])),
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::GETDENTS
};

fn measure(case: &mut Case) -> Result<()> {
    let entries: usize = case.param("entries")?;
    let path = crate::place::directory(case)?.join("entries");
    std::fs::create_dir(&path).call("mkdir")?;
    for number in 0..entries {
        files::write(&path.join(format!("{number:08}")), b"", 0o600)?;
    }
    let mut directory = Directory::open(&path)?;
    let (names, bytes) = directory.count()?;
    if names != entries {
        let text = say!("{names} of {entries} names were read");
        return Err(RoundError::wrong(text));
    }
    case.calls(|| directory.read_all(bytes)).time()
}
