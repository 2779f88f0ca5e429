//! The futex as a way to hand over a token.

use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::waits::Shared;
use crate::workloads::waits::{Alone, give, take};

/// A token by two words that processes share. Each turn: set the other's word, wake it, and sleep until the own word is set.
pub fn by_futex(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let words = Rc::new(Shared::new([Alone::<AtomicU32>::default(), Alone::default()])?);
    let (near, far) = (words.clone(), words);
    Exchange::start(
        cpus,
        move || give(&near[0].0).and_then(|()| take(&near[1].0)),
        move || Ok(move || take(&far[0].0).and_then(|()| give(&far[1].0))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::handover::exchange::tests::check;

    #[test]
    fn a_token_goes_to_and_fro() {
        check(by_futex);
    }
}
