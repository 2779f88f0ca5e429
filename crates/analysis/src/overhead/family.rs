//! Work that is done inside the kernel and in user space alike: which cases of which probes are the same work.

use hostmark_model::{CaseRecord, Params, Text};

/// Space in which an operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Kernel,
    User,
}

/// The side that is nearer to the hardware first.
pub(super) const SPACES: [Space; 2] = [Space::Kernel, Space::User];

impl Space {
    /// Label behind the name of an environment.
    pub(super) fn name(self) -> Text {
        match self {
            Space::Kernel => term!("inside the kernel"),
            Space::User => term!("in user space"),
        }
    }

    /// Label in the head of a column.
    pub(super) fn short(self) -> Text {
        match self {
            Space::Kernel => term!("kernel", "CPU time"),
            Space::User => term!("user"),
        }
    }
}

/// The cases of one side of an operation: a probe, where it stands on axes.
#[derive(Debug)]
pub(super) struct OperationCases {
    pub(super) probe: &'static str,
    pub(super) at: &'static [(&'static str, &'static str)],
}

/// Operation that is repeated.
#[derive(Debug)]
pub(super) struct FamilyOperation {
    pub(super) name: Text,
    pub(super) kernel: Option<OperationCases>,
    pub(super) user: OperationCases,
}

impl FamilyOperation {
    pub(super) fn source(&self, side: Space) -> Option<&OperationCases> {
        match side {
            Space::Kernel => self.kernel.as_ref(),
            Space::User => Some(&self.user),
        }
    }
}

/// Operations that are held against each other. Their points differ by [`FREE`] axes alone.
#[derive(Debug)]
pub(super) struct OperationFamily {
    pub(super) title: Text,
    /// Name before a conclusion.
    pub(super) name: Text,
    pub(super) operations: &'static [FamilyOperation],
    /// An axis on which all of its cases stand at the same value, whichever that is.
    pub(super) alike: Option<&'static str>,
    /// True where the base has interrupts off; else they stay on, as the work waits for them.
    pub(super) is_base_without_irq: bool,
    /// True where a case that lacks an axis is one of its cases.
    pub(super) may_lack_axes: bool,
}

pub(super) const BIND: &str = "bind";
pub(super) const IRQ: &str = "irq";
const FREE: [&str; 2] = [BIND, IRQ];
/// The point of [`BIND`] at which the plan chooses the CPU: neither free nor the same CPU everywhere.
const CHOSEN: &str = "cpu";

const READ: Text = term!("READ");
const WRITE: Text = term!("WRITE");

/// A page of a file that the page cache holds. The conclusions of the report that this view follows are drawn from it.
pub(super) static FILE: OperationFamily = OperationFamily {
    title: term!("File access: 4 KiB at the start of a file, read and overwritten, without O_SYNC"),
    name: term!("file"),
    operations: &[
        FamilyOperation {
            name: READ,
            kernel: Some(OperationCases { probe: "file.kernel_block", at: &[("op", "read")] }),
            user: OperationCases { probe: "file.block", at: &[("op", "read"), ("through", "cache")] },
        },
        FamilyOperation {
            name: WRITE,
            kernel: Some(OperationCases { probe: "file.kernel_block", at: &[("op", "write")] }),
            user: OperationCases { probe: "file.block", at: &[("op", "write"), ("through", "cache")] },
        },
    ],
    alike: None,
    is_base_without_irq: false,
    may_lack_axes: true,
};

static DIRECT: OperationFamily = OperationFamily {
    title: term!("File access past the page cache (O_DIRECT): what compares disks"),
    name: term!("file past the page cache"),
    operations: &[
        FamilyOperation {
            name: READ,
            kernel: None,
            user: OperationCases { probe: "file.block", at: &[("op", "read"), ("through", "direct")] },
        },
        FamilyOperation {
            name: WRITE,
            kernel: None,
            user: OperationCases { probe: "file.block", at: &[("op", "write"), ("through", "direct")] },
        },
    ],
    alike: None,
    is_base_without_irq: false,
    may_lack_axes: false,
};

static CPU: OperationFamily = OperationFamily {
    title: term!("CPU: a prime sieve"),
    name: Text { en: "CPU", zh: "CPU" },
    operations: &[FamilyOperation {
        name: term!("SIEVE"),
        kernel: Some(OperationCases { probe: "cpu.kernel_sieve", at: &[] }),
        user: OperationCases { probe: "cpu.sieve", at: &[("threads", "1"), ("copies", "1")] },
    }],
    alike: None,
    is_base_without_irq: true,
    may_lack_axes: false,
};

static MEMORY: OperationFamily = OperationFamily {
    title: term!("Memory: 8-byte loads and stores at random places, base pages"),
    name: term!("memory"),
    operations: &[
        FamilyOperation {
            name: READ,
            kernel: Some(OperationCases { probe: "memory.kernel_random_access", at: &[("op", "read")] }),
            user: OperationCases {
                probe: "memory.random_access",
                at: &[("op", "read"), ("within", "all"), ("page", "base")],
            },
        },
        FamilyOperation {
            name: WRITE,
            kernel: Some(OperationCases { probe: "memory.kernel_random_access", at: &[("op", "write")] }),
            user: OperationCases {
                probe: "memory.random_access",
                at: &[("op", "write"), ("within", "all"), ("page", "base")],
            },
        },
    ],
    alike: Some("size"),
    is_base_without_irq: true,
    may_lack_axes: false,
};

/// All of them, in the order of the view.
pub(super) static FAMILIES: [&OperationFamily; 4] = [&FILE, &DIRECT, &CPU, &MEMORY];

impl OperationFamily {
    /// Operation, side and point of a case; none where it is none of the family's.
    pub(super) fn place(&self, case: &CaseRecord) -> Option<(usize, Space, Params)> {
        let has = |(axis, wanted): &(&str, &str)| match case.params.get(axis) {
            Some(value) => value == *wanted,
            None => self.may_lack_axes,
        };
        let is_of = |source: &OperationCases| source.probe == case.probe && source.at.iter().all(has);
        let sides =
            |operation: &FamilyOperation| SPACES.into_iter().find(|side| operation.source(*side).is_some_and(is_of));
        let (index, side) =
            self.operations.iter().enumerate().find_map(|(index, operation)| Some((index, sides(operation)?)))?;
        let is_wanted = match case.params.get(BIND) {
            Some(bind) => bind != CHOSEN,
            None => self.may_lack_axes,
        };
        let is_free = |(axis, _): &&(String, String)| FREE.contains(&axis.as_str());
        is_wanted.then(|| (index, side, Params(case.params.0.iter().filter(is_free).cloned().collect())))
    }

    /// The value of the axis that all of its cases have alike; empty where there is no such axis.
    pub(super) fn alike<'a>(&self, case: &'a CaseRecord) -> &'a str {
        self.alike.and_then(|axis| case.params.get(axis)).unwrap_or_default()
    }
}

/// The points of [`BIND`] that are measured.
const BOUND: [&str; 3] = [FREE_OF_CPUS, "0", "last"];
/// The one at which the scheduler chooses.
pub(super) const FREE_OF_CPUS: &str = "none";

impl OperationFamily {
    /// The cases of its tables, by probe and the axes on which they may not be at their default.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
        let of = |source: &'static OperationCases, more: Vec<(&'static str, &'static str)>| {
            (source.probe, source.at.iter().copied().chain(more).collect())
        };
        // Where interrupts stay on, one case is enough to be told why.
        let is_asked = |bind: &str, irq: &str| self.is_base_without_irq || irq == "on" || bind == FREE_OF_CPUS;
        self.operations.iter().flat_map(move |operation| {
            let points = BOUND.into_iter().flat_map(|bind| ["on", "off"].map(|irq| (bind, irq)));
            let kernel = points
                .filter(|(bind, irq)| is_asked(bind, irq))
                .filter_map(|(bind, irq)| Some(of(operation.kernel.as_ref()?, vec![(BIND, bind), (IRQ, irq)])));
            let user = BOUND.into_iter().map(|bind| of(&operation.user, vec![(BIND, bind)]));
            kernel.chain(user).collect::<Vec<_>>()
        })
    }
}

/// Tells whether a case belongs to a family, and stands in its tables.
pub(super) fn is_part(case: &CaseRecord) -> bool {
    FAMILIES.iter().any(|family| family.place(case).is_some())
}
