//! Check of `fleet report`: one slow host among made-up ones.

use std::time::Duration;

use hostmark_analysis::bilingual::same;
use hostmark_analysis::fleet::planted::MadeUp;
use hostmark_analysis::fleet::{Fleet, Gathering};
use hostmark_analysis::words;
use hostmark_say::say;

use super::bench::Bench;
use super::check::{Attempt, Check, Line};

/// Eight hosts of one kind, the first of which takes twice as long.
pub fn planted() -> MadeUp {
    MadeUp { odd: 1, shift: 0.5, ..MadeUp::usual(8, 3) }
}

/// The names of the odd hosts, in order.
pub fn odd(made_up: &MadeUp) -> Vec<String> {
    let mut gathering = Gathering::new(&[]);
    for host in 0..made_up.hosts {
        gathering.read(&format!("{host}.json"), made_up.run(host, 0).as_bytes());
    }
    let mut names: Vec<String> = Fleet::of(&gathering).odd().map(|(_, host)| host.name.clone()).collect();
    names.sort_unstable();
    names
}

/// The first host of a made-up fleet must be the only odd one.
pub fn fleet(bench: &mut Bench, made_up: &MadeUp) -> Line {
    let put_in = words(say!("{hosts} made-up hosts, one at half speed", hosts = made_up.hosts));
    let bound = words(say!("{name} alone", name = MadeUp::name(0)));
    let check = Check { id: "fleet", put_in, bound, limit: Duration::ZERO, puts_others_in: false };
    check.judge(bench, |_| {
        let names = odd(made_up);
        let back = match names.is_empty() {
            true => term!("no odd host").to_owned_text(),
            false => same(names.join(" ")),
        };
        Ok(Attempt { back, is_within: Ok(names == [MadeUp::name(0)]) })
    })
}
