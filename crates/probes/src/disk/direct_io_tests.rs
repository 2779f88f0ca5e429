//! Steadiness of rates.

use super::*;

#[test]
fn rates_are_steady_once_five_in_a_row_are_alike() {
    let mut falling = [10.0, 8.0, 6.0, 4.0, 4.1, 3.9, 4.0, 4.05].into_iter();
    assert_eq!(settle(MOST_UNSTEADY, || Ok(falling.next().unwrap())), Ok(Some(8)));
    assert_eq!(settle(MOST_UNSTEADY, || Ok(1.0)), Ok(Some(STEADY_SLICES)));
}

#[test]
fn rates_that_never_settle_are_distinguished() {
    let mut rate = 1.0;
    let rising = || {
        rate *= 1.2;
        Ok(rate)
    };
    assert_eq!(settle(MOST_UNSTEADY, rising), Ok(None));
    assert!(settle(MOST_UNSTEADY, || Err(RoundError::wrong("broken"))).is_err());
}
