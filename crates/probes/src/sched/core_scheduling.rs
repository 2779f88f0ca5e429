//! Probe sched.core_scheduling: what two threads do together on the siblings of one core, by whether they trust each other.

use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;
use rustix::io::Errno;
use rustix::thread::{
    CoreSchedulingScope, Pid, core_scheduling_cookie, create_core_scheduling_cookie, gettid,
    pull_core_scheduling_cookie,
};

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    axes: &[
        Axis::choice("cookies", "own", Points::quick(&["own"]).standard(&["shared", "none"])),
        Axis::placements("cpus", "smt_sibling", Points::quick(&["smt_sibling"])),
    ],
    needs: &[Need::Kernel(5, 14), Need::Cpus(2)],
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::CORE_SCHEDULING
};

/// Scope of a thread alone, not of its process.
const SCOPE: CoreSchedulingScope = CoreSchedulingScope::Thread;

fn measure(case: &mut Case) -> Result<()> {
    let cookies = case.param::<String>("cookies")?;
    let cpus = case.cpus::<2>()?;
    // Without cookies there is nothing that none could be compared with.
    core_scheduling_cookie(gettid(), SCOPE).map_err(lacks)?;
    let first = Mutex::new(None);
    case.workers(&cpus, |_| {
        // Locked until there is the cookie that the other thread takes.
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        Request::of(&cookies, &mut first).map_or(Ok(()), Request::make).map_err(lacks)?;
        Ok(|n: u64| _ = std::hint::black_box(arith::add_chain(n, 1, std::hint::black_box(1))))
    })
    .rate(1)
}

/// Cookie that a thread asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    /// A cookie that no other has.
    Create,
    /// Cookie of another thread of this process.
    Pull(Pid),
}

impl Request {
    /// Returns the request of the calling thread, which is the first where there is none.
    fn of(cookies: &str, first: &mut Option<Pid>) -> Option<Request> {
        match (cookies, *first) {
            ("own", _) => Some(Request::Create),
            ("shared", Some(first)) => Some(Request::Pull(first)),
            ("shared", None) => {
                *first = Some(gettid());
                Some(Request::Create)
            }
            _ => None,
        }
    }

    fn make(self) -> rustix::io::Result<()> {
        match self {
            Request::Create => create_core_scheduling_cookie(gettid(), SCOPE),
            Request::Pull(from) => pull_core_scheduling_cookie(from, SCOPE),
        }
    }
}

fn lacks(error: Errno) -> RoundError {
    RoundError::unable(ReasonCode::Kernel, say!("there is no core scheduling here (PR_SCHED_CORE)"), error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn each_asks_for_itself_and_takes_from_none_but_the_first() {
        for (cookies, wanted) in [("none", [false; 2]), ("own", [true; 2]), ("shared", [true; 2])] {
            let mut first = None;
            let mut ask = || on_a_thread(|| (gettid(), Request::of(cookies, &mut first)));
            let [(one, asked), (_, next)] = [ask(), ask()];
            assert_eq!([asked, next].map(|request| request.is_some()), wanted, "{cookies}");
            assert!(!matches!(asked, Some(Request::Pull(_))), "{cookies}");
            assert_eq!(next == Some(Request::Pull(one)), cookies == "shared");
        }
    }

    #[test]
    fn a_cookie_is_of_the_thread_that_asked_and_a_kernel_without_them_is_told() {
        let cookie = || core_scheduling_cookie(gettid(), SCOPE);
        let Ok(before) = cookie() else {
            let refused = on_a_thread(|| Request::Create.make()).map_err(lacks);
            return assert!(matches!(refused, Err(RoundError::Skipped(_))), "{refused:?}");
        };
        let mut first = None;
        std::thread::scope(|scope| {
            let (ready, wait) = std::sync::mpsc::channel();
            let (end, until) = std::sync::mpsc::channel::<()>();
            let first = &mut first;
            scope.spawn(move || {
                Request::of("shared", first).unwrap().make().unwrap();
                ready.send((gettid(), cookie().unwrap())).unwrap();
                let _ = until.recv();
            });
            let (holder, shared) = wait.recv().unwrap();
            let given = |request: Request| on_a_thread(|| request.make().and_then(|()| cookie()).unwrap());
            assert_eq!(given(Request::Pull(holder)), shared);
            let own = given(Request::Create);
            assert!(own != shared && own != before && shared != before, "{own} {shared} {before}");
            // Neither this thread nor those that begin later have any of theirs.
            assert_eq!([cookie(), on_a_thread(cookie)], [Ok(before); 2]);
            drop(end);
        });
        assert_eq!(cookie(), Ok(before));
    }

    #[test]
    fn every_kind_of_refusal_skips() {
        for (error, code) in [
            (Errno::INVAL, ReasonCode::Kernel),
            (Errno::NOSYS, ReasonCode::Kernel),
            (Errno::PERM, ReasonCode::Permission),
        ] {
            assert!(matches!(lacks(error), RoundError::Skipped(reason) if reason.code == Some(code)), "{error}");
        }
        assert!(matches!(lacks(Errno::NODEV), RoundError::Skipped(_)));
    }
}
