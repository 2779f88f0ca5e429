//! Distances and what is combined of them hold their level, whatever the number of members.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::made_up::normal;

fn far(values: &[Option<f64>], beside: &Variances) -> Vec<Option<f64>> {
    distances(values, beside).into_iter().map(|apart| apart.map(|apart| apart.distance())).collect()
}

#[test]
#[ignore = "takes long"]
fn p_values_of_normal_members_hold_their_level_whatever_their_number() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for count in [5, 6, 8, 12, 20, 30, 60, 200] {
        let (trials, mut at_5, mut at_1_in_1000) = (30_000 / count * 10, 0, 0);
        for _ in 0..trials {
            let values: Vec<Option<f64>> = (0..count).map(|_| Some(normal(&mut random))).collect();
            for distance in far(&values, &Variances::default()).into_iter().flatten() {
                let p = p_of(distance, freedom(count));
                at_5 += usize::from(p <= 0.05);
                at_1_in_1000 += usize::from(p <= 0.001);
            }
        }
        let all = (trials * count) as f64;
        let shares = (at_5 as f64 / all, at_1_in_1000 as f64 / all);
        assert!((0.025..0.062).contains(&shares.0), "{count}: {shares:?}");
        assert!((0.0002..0.00135).contains(&shares.1), "{count}: {shares:?}");
    }
}

#[test]
fn a_far_member_moves_neither_the_others_nor_what_it_is_held_against() {
    let mut values: Vec<Option<f64>> = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005].map(Some).to_vec();
    let before = far(&values, &Variances::default());
    values.extend([Some(9.0), None]);
    let after = far(&values, &Variances::default());
    assert!(after[6].unwrap() > 100.0 && after[7].is_none());
    for (one, other) in before.iter().zip(&after) {
        assert!((one.unwrap() - other.unwrap()).abs() < 1.5, "{before:?} {after:?}");
    }
}

#[test]
fn what_never_varies_has_a_floor_and_what_is_measured_less_often_weighs_less() {
    let values = [Some(0.0), Some(0.0), Some(0.0), Some(0.0), Some(0.004)];
    let at = |beside: &Variances| far(&values, beside)[4].unwrap();
    assert!(at(&Variances { floor: 0.005, ..Variances::default() }) < 1.0);
    assert_eq!(far(&[Some(3.0); 6], &Variances::default()), [Some(0.0); 6]);
    let own = [0.0, 0.0, 0.0, 0.0, 1e-4];
    assert!(
        at(&Variances { floor: 0.001, own: &own, prior: None })
            < at(&Variances { floor: 0.001, ..Variances::default() })
    );
    let prior = Some(Prior { variance: 1e-4, freedom: 4.0 });
    assert!(at(&Variances { floor: 0.001, own: &[], prior }) < at(&Variances { floor: 0.001, ..Variances::default() }));
    assert_eq!(far(&[Some(1.0), Some(2.0)], &Variances::default()), [None, None]);
}

#[test]
fn tails_are_recognized_by_what_lies_far_out_and_not_by_the_farthest() {
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let normals: Vec<f64> = (0..4000).map(|_| normal(&mut random)).collect();
    let of = |values: &[f64]| Tails::of(values, (0.5, 0.9), 200.0);
    assert!(of(&normals).freedom > 20.0 && of(&normals).scale < 1.1, "{:?}", of(&normals));
    let heavy: Vec<f64> = normals
        .chunks_exact(4)
        .map(|four| four[0] / ((four[1].powi(2) + four[2].powi(2) + four[3].powi(2)) / 3.0).sqrt())
        .collect();
    assert!((2.2..4.5).contains(&of(&heavy).freedom), "{:?}", of(&heavy));
    let mut odd = normals.clone();
    odd.iter_mut().take(40).for_each(|value| *value += 100.0);
    assert!(of(&odd).freedom > 12.0, "{:?}", of(&odd));
    assert_eq!(of(&[]).freedom, 1.0);
    assert_eq!(Tails::of(&[0.0; 5], (0.5, 0.9), 9.0), Tails { freedom: 9.0, scale: 1.0 });
}

#[test]
fn what_is_usual_within_and_heavy_without_is_reported_far_out() {
    // Nine in ten are normal, one in ten scatters by three times as much.
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let mut value = || (if normal(&mut random) > 1.2816 { 3.0 } else { 1.0 }) * normal(&mut random);
    let known: Vec<f64> = (0..8000).map(|_| value()).collect();
    let tails = Tails::of(&known, (0.9, 0.99), 200.0);
    let beyond = (0..200_000).filter(|_| tails.p(value()) <= 1e-4).count();
    assert!(beyond <= 30, "{beyond} {tails:?}");
}

#[test]
fn p_values_that_depend_on_each_other_combine_to_one_that_holds_its_level() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    for shared in [0.0, 0.5, 0.95_f64] {
        let mut found = 0;
        for _ in 0..40_000 {
            let common = normal(&mut random);
            let p: Vec<(f64, f64)> = (0..10)
                .map(|_| shared.sqrt() * common + (1.0 - shared).sqrt() * normal(&mut random))
                .map(|z| (p_of(z, 1e6), 1.0))
                .collect();
            found += usize::from(combined(&p).unwrap() <= 0.005);
        }
        assert!((120..260).contains(&found), "{shared}: {found} of 40000");
    }
    assert_eq!(combined(&[]), None);
    assert!((combined(&[(0.03, 2.0)]).unwrap() - 0.03).abs() < 1e-12);
    // One that is next to nothing is divided by its share of the weights, and is not lost behind one that is next to 1.
    let one_of_ten: Vec<(f64, f64)> = (0..10).map(|index| (if index == 0 { 1e-12 } else { 1.0 }, 1.0)).collect();
    assert!((combined(&one_of_ten).unwrap() / 1e-11 - 1.0).abs() < 1e-6);
}

#[test]
fn the_scatter_between_members_is_what_their_own_does_not_explain() {
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let members: Vec<Vec<f64>> = (0..400)
        .map(|_| {
            let own = 0.03 * normal(&mut random);
            (0..3).map(|_| own + 0.04 * normal(&mut random)).collect()
        })
        .collect();
    let means: Vec<f64> = members.iter().map(|member| member.iter().sum::<f64>() / 3.0).collect();
    let inside = within(&members).unwrap();
    assert!((inside / 0.04 - 1.0).abs() < 0.08, "{inside}");
    let found = between(crate::scale::qn(&means).unwrap(), inside / 3.0_f64.sqrt());
    assert!((found / 0.03 - 1.0).abs() < 0.15, "{found}");
    assert_eq!((between(0.01, 0.02), within(&[[1.0], [2.0]])), (0.0, None));
}
