//! Titles of an environment's tables, from its runs.

use hostmark_model::{ISOLATE, Message, Text};
use hostmark_say::say;

use super::Environment;
use super::family::Space;
use super::kind::EnvironmentKind;
use super::sheet::{Sheet, at};

/// The layers that an environment's run names, in brackets; empty where it names none.
fn layers(environment: &Environment) -> String {
    let named = environment.runs.first().and_then(|run| run.settings.set.get(ISOLATE));
    named.map(|named| format!(" ({})", named.replace(',', ", "))).unwrap_or_default()
}

/// Title of the overhead of an environment's side over the base.
pub(super) fn overhead(kind: EnvironmentKind, side: Space, environment: &Environment) -> Message {
    let (name, layers) = (environment.name, layers(environment));
    match (kind, side) {
        (EnvironmentKind::First, Space::Kernel) => term!("Kernel overhead").into(),
        (EnvironmentKind::First, Space::User) => term!("OS overhead").into(),
        (EnvironmentKind::Guest, Space::Kernel) => term!("Hypervisor + kernel overhead").into(),
        (EnvironmentKind::Guest, Space::User) => term!("Hypervisor + guest OS overhead").into(),
        (EnvironmentKind::Container, Space::Kernel) => say!("Container layers{layers} + kernel overhead"),
        (EnvironmentKind::Container, Space::User) => say!("Container layers{layers} + OS overhead"),
        (EnvironmentKind::Free, Space::Kernel) => term!("Kernel overhead with all of the machine").into(),
        (EnvironmentKind::Free, Space::User) => term!("OS overhead with all of the machine").into(),
        (EnvironmentKind::Other, Space::Kernel) => say!("{name} + kernel overhead"),
        (EnvironmentKind::Other, Space::User) => say!("{name} + OS overhead"),
    }
}

/// The name of an environment's side; the side alone where the environment has no name.
pub(super) fn side_of(environment: &Environment, side: Space) -> Message {
    let (name, side) = (environment.name, side.name());
    if name.is_empty() {
        return side.into();
    }
    say!("{name}, {side}")
}

/// The title of the percentages of a side of an environment.
pub(super) fn title(sheet: &Sheet, environment: usize, side: Space, kind: EnvironmentKind) -> Message {
    let here = &sheet.environments[environment];
    let place = side_of(here, side);
    let Some(base) = &sheet.base else { return place };
    let (over, point) = (side_of(&sheet.environments[0], base.side), at(&base.point));
    // Without the kernel's side it is not the OS that the base lacks.
    let name = match base.side {
        Space::Kernel => overhead(kind, side, here),
        Space::User => term!("Overhead").into(),
    };
    let of = of_rates(sheet);
    say!("{name}: {place}, over {over}, {point}{of}")
}

/// End of a title of percentages where rates were turned into times.
pub(super) fn of_rates(sheet: &Sheet) -> Text {
    match sheet.is_of_rates() {
        true => term!(", in the time of an operation"),
        false => Text { en: "", zh: "" },
    }
}
