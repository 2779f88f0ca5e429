//! Which way of taking turns a forecast takes for TCP.

use super::made::{one_cpu, value};
use super::{change, en, expected, remove, row};

#[test]
fn between_two_pipes_the_slower_way_of_tcp_counts() {
    let rate = |close: f64, behind: f64| {
        let mut run = one_cpu();
        change(&mut run, "memory_socket_memory_close", |measured| measured.estimate.typical = 1e9 / close);
        change(&mut run, "memory_socket_memory_behind", |measured| measured.estimate.typical = 1e9 / behind);
        expected(&en(&run), "zero_pipe_socket_pipe_null")[1].clone()
    };
    assert_eq!(rate(0.25, 0.5), value(1e9 / 0.92));
    assert_eq!(rate(0.25, 0.15), value(1e9 / 0.67));
    for path in ["memory_socket_memory_close", "memory_socket_memory_behind"] {
        let mut run = one_cpu();
        remove(&mut run, path);
        let text = en(&run);
        assert!(row(&text, "Measured and expected", "zero_pipe_socket_pipe_null").contains("–("));
        assert!(text.contains(&format!("not measured or not believed: {path}")), "{text}");
    }
}
