//! Timeouts: how long this program waits for other processes and hosts before it gives them up.

use std::ffi::OsStr;
use std::sync::LazyLock;
use std::time::Duration;

use rustix::event::{Timespec, poll};

/// The environment variable by which tests shorten the timeouts: a factor such as `0.2`. Only builds with debug assertions obey it.
pub const VARIABLE: &str = "HOSTMARK_TIMING";
/// Leases after which an end of a link is given up.
pub const LEASES: u32 = 2;
/// No timeout becomes shorter than this: a loaded machine needs seconds for what takes no time elsewhere.
const FLOOR: Duration = Duration::from_secs(3);

/// Waits for so long before the next look, or less where the kernel refuses, at which a sleep of the standard library panics.
pub(crate) fn pause(time: Duration) {
    let _ = poll(&mut [], Timespec::try_from(time).ok().as_ref());
}

/// Defines [`Timing`] from names, meanings and seconds.
macro_rules! timing {
    ($($(#[$meaning:meta])* $name:ident: $seconds:literal,)*) => {
        /// All timeouts of seconds or minutes. None passes unless something hangs or was asked to end, and no value that is
        /// measured depends on them.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Timing {
            $($(#[$meaning])* pub $name: Duration,)*
            factor: f64,
        }

        impl Default for Timing {
            fn default() -> Timing {
                Timing { $($name: Duration::from_secs($seconds),)* factor: 1.0 }
            }
        }

        impl Timing {
            /// Each multiplied by `factor`, down to some seconds.
            pub fn scaled(self, factor: f64) -> Timing {
                let scaled = |time: Duration| time.mul_f64(factor).max(time.min(FLOOR));
                Timing { $($name: scaled(self.$name),)* factor }
            }
        }
    };
}

timing! {
    /// The shortest lease. A link may stand still for half a minute, and what was measured meanwhile comes all the same.
    lease: 20,
    /// A login, and each step of copying the program.
    login: 60,
    /// A connection to a server, or the whole handshake with it.
    dial: 15,
    /// The whole handshake as the server has it.
    handshake: 10,
    /// The other host's kernel acknowledges what was sent: longer than a link may stand still.
    unacknowledged: 90,
    /// The first word of a process of ours: it comes after milliseconds, also on a busy host.
    start: 5,
    /// Far ends say something before they listen.
    listen: 15,
    /// A run that was asked to stop sends what it has.
    stop: 20,
    /// A process ends that was asked to, was killed or has closed its output; a run's last word is acknowledged.
    end: 5,
    /// The first answer of QEMU, which gets its memory before, and of a guest that has booted.
    boot: 30,
    /// QEMU's monitor answers a request.
    monitor: 10,
    /// A guest says that its agent has ended.
    guest_end: 15,
    /// The same agent ends, as the guest has it: sooner, so that its word comes in time.
    guest_agent_end: 12,
    /// Slurm answers what costs it nothing.
    slurm: 30,
    /// Slurm releases an allocation.
    release: 20,
    /// Kubernetes answers, and its pods are gone from its list.
    kubernetes: 60,
    /// A pod starts: its image has to come.
    pod: 300,
}

/// The timeouts of this process.
pub fn timing() -> &'static Timing {
    static TIMING: LazyLock<Timing> =
        LazyLock::new(|| of_variable(std::env::var_os(VARIABLE).as_deref(), cfg!(debug_assertions)));
    &TIMING
}

impl Timing {
    /// The lease of an end that may have to be silent for so long.
    pub fn lease_of(&self, silent: Duration) -> Duration {
        silent.mul_f64(self.factor).max(self.lease)
    }

    /// An end of a link that says nothing for so long is given up, if it asked for no longer lease.
    pub fn silence(&self) -> Duration {
        self.lease * LEASES
    }
}

/// The timeouts for this value of [`VARIABLE`].
fn of_variable(value: Option<&OsStr>, is_debug: bool) -> Timing {
    let factor: Option<f64> = value.filter(|_| is_debug).and_then(|value| value.to_str()?.parse().ok());
    match factor {
        Some(factor) if (0.0..=1.0).contains(&factor) => Timing::default().scaled(factor),
        _ => Timing::default(),
    }
}

/// Bytes that a link carries in a second at least.
pub const SLOWEST_LINK: usize = 32 << 10;

/// Longest time for so many bytes to arrive.
pub fn on_the_way(bytes: usize) -> Duration {
    Duration::from_secs((bytes / SLOWEST_LINK) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_shortens_what_is_long_and_only_in_a_debug_build() {
        let of = |value: &str, is_debug| of_variable(Some(OsStr::new(value)), is_debug);
        let short = of("0.2", true);
        assert_eq!([short.lease, short.login, short.silence()], [4, 12, 8].map(Duration::from_secs));
        assert_eq!(short.end, FLOOR);
        let lease_of = |timing: Timing| [5, 100].map(|silent| timing.lease_of(Duration::from_secs(silent)).as_secs());
        assert_eq!((lease_of(short), lease_of(Timing::default())), ([4, 20], [20, 100]));
        assert_eq!(of("0.2", false), Timing::default());
        assert_eq!(of_variable(None, true), Timing::default());
        for no_factor in ["", "-1", "1.5", "NaN", "inf", "fast"] {
            assert_eq!(of(no_factor, true), Timing::default(), "{no_factor}");
        }
    }
}
