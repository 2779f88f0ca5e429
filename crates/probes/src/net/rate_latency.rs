//! Probe net.rate_latency: small requests while a bulk flow fills the link (bufferbloat).

mod echo;

use hostmark_engine::prelude::*;

use super::tcp_bandwidth::{Direction, Flows, StreamOptions};
use crate::authenticated::connect;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, IDLE, ADDED, RATE],
    related: &["net.tcp", "net.tcp_bandwidth", "net.open_loop"],
    axes: &[
        Axis::choice(
            "load",
            "receive",
            Points::Listed { quick: &["receive"], standard: &["send", "both"], thorough: &[] },
        )
        .of_links(),
        Axis::near_and_free("cpus"),
    ],
    blocking: true,
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &echo::UNDER_LOAD, measure },
    ..crate::texts::net::RATE_LATENCY
};

const IDLE: Quantity = Quantity::given("idle", Unit::Nanoseconds, Better::Lower, term!("round trip without load"));
const ADDED: Quantity = Quantity::given("added", Unit::Nanoseconds, Better::Lower, term!("added by the load"));
const RATE: Quantity = Quantity::given("rate", Unit::BytesPerSecond, Better::Higher, term!("rate of the bulk flow"));

fn measure(case: &mut Case) -> Result<()> {
    let far = case.far_end()?.clone();
    let terms = StreamOptions::plain(case.param::<Direction>("load")?);
    let message = case.buffer(terms.message, Pages::Base, None)?;
    let control = connect(&far)?;
    let mut echo = echo::EchoClient::connect(&far)?;
    let (mut idle, mut loaded, mut carried) = (Vec::new(), Vec::new(), None);
    let grant_ns = case.grant_ns();
    std::thread::scope(|scope| {
        let mut load = None;
        let mut control = Some(control);
        case.timed(|clock| {
            if let Some(control) = control.take() {
                idle = echo.idle(clock, grant_ns)?;
                let flows =
                    Flows::over(scope, &terms, message.bytes(), (std::slice::from_ref(&far), vec![control]), &[])?;
                let look = flows.settle(clock)?;
                load = Some((flows, look));
            }
            let ticks = echo.exchange(clock)?;
            echo::keep(&mut loaded, clock.ns(ticks));
            // What the bulk flow carried is looked at between exchanges; one that broke off has none.
            if let Some((flows, look)) = &mut load {
                carried = look.so_far(flows)?.or(carried);
            }
            Ok(ticks)
        })
        .singly()
        .time()?;
        load.map_or(Ok(()), |(flows, _)| flows.end().map(drop))
    })?;
    let added = median(&loaded).zip(median(&idle)).map(|(loaded, idle)| loaded - idle);
    case.also(IDLE.name, idle)?;
    case.also(ADDED.name, added)?;
    case.also(RATE.name, carried.map(|[received, sent]| (received + sent) * 1e9))
}
