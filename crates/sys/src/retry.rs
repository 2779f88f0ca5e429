//! Something that is tried again while it is in use: for half a second, which is long for what has been killed.

use std::time::Duration;

/// How often it is tried, and how long is waited before it is tried again.
const MOST_TURNS: usize = 100;
const TURN: Duration = Duration::from_millis(5);

/// Does it again and again until it says that it is done; whether it ever did.
pub fn until(mut is_done: impl FnMut() -> bool) -> bool {
    (0..MOST_TURNS).any(|turn| {
        if turn > 0 {
            std::thread::sleep(TURN);
        }
        is_done()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_done_until_it_is_done_and_not_for_ever() {
        let after = |wanted: usize| {
            let mut turns = 0;
            let is_done = until(|| {
                turns += 1;
                turns == wanted
            });
            (is_done, turns)
        };
        assert_eq!((after(1), after(3), after(usize::MAX)), ((true, 1), (true, 3), (false, MOST_TURNS)));
    }
}
