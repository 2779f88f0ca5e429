//! How much the cores do in a cycle by themselves, by the best that the run has seen of each kind.

use hostmark_model::{Event, HostFacts};

/// Adds a cycle of each kind of core, by its place among those of the host; of all where they are alike.
#[derive(Debug, Default)]
pub(super) struct Widths(Vec<(Option<usize>, f64)>);

impl Widths {
    /// Takes a round on `cpu` into account.
    pub(super) fn add(&mut self, host: &HostFacts, cpu: Option<&usize>, events: &[Event]) {
        let Some(Event::Done { noise }) = events.last() else { return };
        let (Some(cpu), Some(width)) = (cpu, noise.width.filter(|width| width.is_finite())) else { return };
        let kind = host.kind_of_core(*cpu);
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, most)) => *most = most.max(width),
            None => self.0.push((kind, width)),
        }
    }

    /// That of the core of `cpu`; none while none of its kind was seen.
    pub(super) fn of(&self, host: &HostFacts, cpu: Option<&usize>) -> Option<f64> {
        let kind = host.kind_of_core(*cpu?);
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, width)| *width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostmark_model::{CoreKindFact, RoundNoise};

    fn seen(width: f64) -> Vec<Event> {
        vec![Event::Done { noise: RoundNoise { width: Some(width), ..RoundNoise::default() } }]
    }

    #[test]
    fn the_best_of_all_cores_stands_for_each_and_each_kind_has_its_own() {
        let (mut host, mut widths) = (HostFacts::default(), Widths::default());
        assert_eq!(widths.of(&host, Some(&0)), None);
        widths.add(&host, Some(&0), &seen(2.6));
        widths.add(&host, Some(&1), &seen(5.0));
        widths.add(&host, Some(&1), &seen(4.0));
        widths.add(&host, Some(&1), &[]);
        assert_eq!(widths.of(&host, Some(&0)), Some(5.0));
        let of_kind = |cpus: &[usize]| CoreKindFact { cpus: cpus.to_vec(), ..CoreKindFact::default() };
        host.cpu.kinds = vec![of_kind(&[0]), of_kind(&[1])];
        let mut widths = Widths::default();
        widths.add(&host, Some(&0), &seen(5.0));
        widths.add(&host, Some(&1), &seen(3.0));
        assert_eq!((widths.of(&host, Some(&0)), widths.of(&host, Some(&1))), (Some(5.0), Some(3.0)));
    }
}
