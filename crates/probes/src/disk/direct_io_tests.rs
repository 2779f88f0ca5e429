//! Steadiness of rates.

use super::*;

#[test]
fn rates_are_steady_once_five_in_a_row_are_alike_and_those_that_never_settle_are_distinguished() {
    let mut falling = [10.0, 8.0, 6.0, 4.0, 4.1, 3.9, 4.0, 4.05].into_iter();
    assert_eq!(settle(MOST_UNSTEADY, || Ok(falling.next().unwrap())), Ok(Some(8)));
    assert_eq!(settle(MOST_UNSTEADY, || Ok(1.0)), Ok(Some(STEADY_SLICES)));
    let mut rising = std::iter::successors(Some(1.0), |rate| Some(rate * 1.2));
    assert_eq!(settle(MOST_UNSTEADY, || Ok(rising.next().unwrap())), Ok(None));
    assert!(settle(MOST_UNSTEADY, || Err(RoundError::wrong("broken"))).is_err());
}
