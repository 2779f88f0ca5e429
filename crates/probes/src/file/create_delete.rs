//! Probe file.create_delete: small files that are made, and that are removed.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[Axis::ways("op", "create", Points::quick(&["create", "delete"])), super::SMALL, crate::place::PLACE],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["op", "size"] },
        FullFactorial { from: Profile::Standard, axes: &["op", "place"] },
    ],
    limit: Limit::KernelEntry,
    measure: Measure::Run(measure),
    ..crate::texts::file::CREATE_DELETE
};

/// Files of a pass: enough that it is long against reading the clock.
const FILES: usize = 200;

fn measure(case: &mut Case) -> Result<()> {
    let is_create = case.param::<String>("op")? == "create";
    let (names, content) = super::small_files(case, FILES)?;
    case.timed(|clock| {
        let start = clock.start();
        names.create(&content)?;
        let made = clock.end();
        let start_of_end = clock.start();
        names.delete()?;
        let took = if is_create { made.since(start) } else { clock.end().since(start_of_end) };
        Ok((took, names.count() as u64))
    })
    .time()
}
