//! How many times as good one side is as the other, and with what certainty.
//!
//! The interval is a bootstrap's: rounds are drawn with replacement, both sides of a round together, and each time the
//! ratio of the medians is computed. Rounds are interleaved, so a disturbance of both sides in a round cancels out.

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng};

use super::quantity;
use crate::stats::{middle, quantile, sorted};
use crate::workload::Direction;

/// Rounds from which on there is a verdict. Of two equal sides, either wins all of five rounds in 1 of 16 cases, and all
/// of four in 1 of 8.
pub(crate) const ROUNDS: usize = 5;

/// Draws of a bootstrap: the ends of the interval are steady in the second digit.
const DRAWS: usize = 2_000;

/// Differences below this are shown as none, with two decimals.
const SHOWN: f64 = 0.005;

/// An interval that spans 1 within this distance shows the absence of a difference; a wider interval shows nothing.
const NEAR: f64 = 0.05;

/// The verdict on a pair of sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours is better.
    Better,
    /// Ours is worse.
    Worse,
    /// The interval spans 1, and no ratio far from it.
    Same,
    /// The interval spans 1, and more than [`NEAR`] beyond it.
    Unclear,
    /// There are fewer than five rounds, which can not tell.
    TooFew,
}

impl Verdict {
    /// The word for it, of values with this unit.
    pub(crate) fn word(self, unit: &str) -> &'static str {
        match self {
            Verdict::Better if unit == "B" => "smaller",
            Verdict::Worse if unit == "B" => "larger",
            Verdict::Better => "faster",
            Verdict::Worse => "slower",
            Verdict::Same => "no difference",
            Verdict::Unclear => "unclear",
            Verdict::TooFew => "too few rounds",
        }
    }
}

/// How many of these verdicts there are, in words. An incomparable pair has `None`.
pub(crate) fn counted(verdicts: impl Iterator<Item = Option<Verdict>>) -> String {
    let verdicts: Vec<_> = verdicts.collect();
    let count = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let [better, worse, same] =
        [Verdict::Better, Verdict::Worse, Verdict::Same].map(|verdict| count(Some(verdict)));
    let mut text = format!("better in {better}, worse in {worse}, no difference in {same}");
    let hint = format!(": take {ROUNDS} rounds or more");
    for (verdict, words, hint) in [
        (Some(Verdict::Unclear), "unclear", ""),
        (Some(Verdict::TooFew), "too few rounds to tell", &hint),
        (None, "nothing to compare", ""),
    ] {
        if count(verdict) > 0 {
            text += &format!(", {words} in {}{hint}", count(verdict));
        }
    }
    text
}

/// How many times as good ours is as theirs: 2 is twice the rate or half the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speedup {
    /// Of the medians.
    pub(crate) middle: f64,
    /// The lower end of an interval of 95 per cent.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
    /// Whether it is better, if known.
    pub(crate) verdict: Verdict,
}

/// The rounds in which both sides have a number, each with our value and theirs.
pub(crate) fn pairs(ours: &[f64], theirs: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let rounds = ours.iter().copied().zip(theirs.iter().copied());
    rounds.filter(|(ours, theirs)| !ours.is_nan() && !theirs.is_nan())
}

/// The ends of an interval of 95 per cent of the results of `of` on `rounds`, drawn with replacement.
fn bootstrap<T: Copy>(rounds: &[T], of: impl Fn(&[T]) -> Option<f64>) -> Option<[f64; 2]> {
    // The same rounds have the same interval, in every report.
    let mut random = SmallRng::seed_from_u64(1);
    let mut drawn = rounds.to_vec();
    let values = (0..DRAWS).filter_map(|_| {
        drawn.fill_with(|| rounds[random.random_range(0..rounds.len())]);
        of(&drawn)
    });
    let values = sorted(values.collect());
    (!values.is_empty()).then(|| [0.025, 0.975].map(|share| quantile(&values, share)))
}

/// The same of their median, of as many as have a verdict.
pub(crate) fn interval(samples: &[f64]) -> Option<[f64; 2]> {
    let known: Vec<_> = samples.iter().copied().filter(|value| !value.is_nan()).collect();
    if known.len() < ROUNDS { None } else { bootstrap(&known, middle) }
}

impl Speedup {
    /// The speed-up over these rounds, each with our value and theirs. `None` if a value, such as 0, has no digits to compare.
    pub(crate) fn of(rounds: &[(f64, f64)], direction: Direction, unit: &str) -> Option<Self> {
        let comparable = |value: f64| value.is_finite() && quantity::has_digits(value, unit);
        if !rounds.iter().all(|&(ours, theirs)| comparable(ours) && comparable(theirs)) {
            return None;
        }
        let ratio = |rounds: &[(f64, f64)]| {
            let (ours, theirs): (Vec<_>, Vec<_>) = rounds.iter().copied().unzip();
            let (ours, theirs) = (middle(&ours)?, middle(&theirs)?);
            Some(match direction {
                Direction::Higher => ours / theirs,
                Direction::Lower => theirs / ours,
            })
        };
        let known = ratio(rounds)?;
        let [low, high] = bootstrap(rounds, ratio)?;
        let verdict = match () {
            () if rounds.len() < ROUNDS => Verdict::TooFew,
            () if low >= 1.0 + SHOWN => Verdict::Better,
            () if high <= 1.0 - SHOWN => Verdict::Worse,
            () if (1.0 - NEAR..=1.0 + NEAR).contains(&low) && high <= 1.0 + NEAR => Verdict::Same,
            () => Verdict::Unclear,
        };
        let known = Speedup { middle: known, low, high, verdict };
        [low, high].iter().all(|end| end.is_normal()).then_some(known)
    }

    /// Whether ours is worse by more than `bound` with the whole interval.
    pub(crate) fn is_worse(&self, bound: f64) -> bool {
        self.verdict == Verdict::Worse && 1.0 / self.high > 1.0 + bound
    }

    /// The word for whether it is worse by more than `bound`.
    pub(crate) fn beyond(&self, bound: f64) -> &'static str {
        let [low, high] = [1.0 / self.high, 1.0 / self.low];
        match () {
            () if self.verdict == Verdict::TooFew => "too few pairs",
            () if self.is_worse(bound) => "worse",
            () if high > 1.0 + bound && high - low > 2.0 * bound => {
                "unclear: the instructions decide"
            }
            () => "not worse",
        }
    }

    /// The text, with the interval.
    pub(crate) fn text(&self) -> String {
        let number = |value: f64| match value {
            0.01..1000.0 => format!("{value:.2}"),
            _ => format!("{value:.1e}"),
        };
        format!("{} ({} to {})", number(self.middle), number(self.low), number(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::{Speedup, Verdict, interval};
    use crate::workload::Direction::{self, Higher, Lower};

    /// Ten values with some noise, around this value.
    fn around(value: f64, seed: u32) -> Vec<f64> {
        let noise = |round: u32| f64::from((round * 7 + seed * 3) % 10) / 100.0;
        (0..10).map(|round| value * (0.955 + noise(round))).collect()
    }

    fn of(ours: &[f64], theirs: &[f64], direction: Direction) -> Option<Speedup> {
        let rounds: Vec<_> = ours.iter().copied().zip(theirs.iter().copied()).collect();
        Speedup::of(&rounds, direction, "s")
    }

    fn verdict(ours: &[f64], theirs: &[f64], direction: Direction) -> Verdict {
        of(ours, theirs, direction).expect("comparable").verdict
    }

    #[test]
    fn equal_and_alike_values_do_not_differ() {
        let one = around(1.0, 0);
        let same = of(&one, &one, Lower).expect("comparable");
        assert_eq!((same.low, same.middle, same.high), (1.0, 1.0, 1.0));
        assert_eq!(same.verdict, Verdict::Same);
        let alike = of(&one, &around(1.0, 5), Lower).expect("comparable");
        assert!(alike.low < 1.0 && 1.0 < alike.high, "{alike:?}");
        assert_eq!(alike.verdict, Verdict::Same);
    }

    #[test]
    fn twice_as_much_is_better_or_worse() {
        let (one, two) = (around(1.0, 0), around(2.0, 5));
        let speedup = of(&two, &one, Higher).expect("comparable");
        assert!(1.8 < speedup.low && speedup.low <= speedup.middle, "{speedup:?}");
        assert!(speedup.middle <= speedup.high && speedup.high < 2.2, "{speedup:?}");
        assert_eq!(speedup.verdict, Verdict::Better);
        assert_eq!(verdict(&two, &one, Lower), Verdict::Worse);
        assert_eq!(verdict(&one, &two, Lower), Verdict::Better);
    }

    #[test]
    fn a_shared_slow_round_hides_no_difference() {
        // Drawn apart, the medians would be anywhere between 1 and 81.
        let drift = [1.0, 3.0, 9.0, 27.0, 81.0];
        let speedup = of(&drift.map(|value| value * 0.5), &drift, Lower).expect("comparable");
        assert_eq!((speedup.low, speedup.high), (2.0, 2.0), "a draw has both sides of its rounds");
    }

    #[test]
    fn four_rounds_are_too_few() {
        assert_eq!(verdict(&[1.0; 4], &[2.0; 4], Lower), Verdict::TooFew);
        assert_eq!(verdict(&[1.0; 5], &[2.0; 5], Lower), Verdict::Better);
    }

    #[test]
    fn an_interval_beyond_the_bound_is_worse_around_it_unclear() {
        for (low, high, word) in [
            (1.031, 1.2, "worse"),
            (1.029, 1.2, "unclear: the instructions decide"),
            (0.9, 1.031, "unclear: the instructions decide"),
            (1.01, 1.05, "not worse"),
            (0.8, 1.029, "not worse"),
        ] {
            let verdict = if low > 1.005 { Verdict::Worse } else { Verdict::Unclear };
            let speedup = Speedup { middle: 1.0, low: 1.0 / high, high: 1.0 / low, verdict };
            assert_eq!(speedup.beyond(0.03), word, "{low} to {high}");
            assert_eq!(speedup.is_worse(0.03), word == "worse", "{low} to {high}");
        }
    }

    #[test]
    fn a_number_without_digits_has_no_ratio() {
        for value in [0.0, -1.0, 1e-11, f64::NAN, f64::INFINITY] {
            assert!(of(&[1.0, value, 1.0], &[1.0; 3], Lower).is_none(), "{value}");
            assert!(of(&[1.0; 3], &[value; 3], Higher).is_none(), "{value}");
        }
        assert!(of(&[f64::MAX; 2], &[1e-9; 2], Higher).is_none(), "no infinite ratio either");
        assert!(of(&[], &[], Lower).is_none());
        assert!(Speedup::of(&[(0.05, 0.01)], Lower, "switches").is_none());
    }

    #[test]
    fn the_interval_of_a_median_ignores_a_far_round() {
        assert_eq!(interval(&[1.0; 5]), Some([1.0, 1.0]));
        let mut samples = around(1.0, 3);
        samples[4] = 50.0;
        let [low, high] = interval(&samples).expect("ten rounds");
        assert!((0.9..=1.0).contains(&low) && (1.0..1.05).contains(&high), "{low} {high}");
        assert_eq!(interval(&samples[..4]), None, "the range would be no better");
    }

    #[test]
    fn no_ratio_is_shown_as_0() {
        let text = |ours, theirs| of(&[ours], &[theirs], Lower).expect("comparable").text();
        assert_eq!(text(1.0, 2.0), "2.00 (2.00 to 2.00)");
        assert_eq!(text(1e6, 1.0), "1.0e-6 (1.0e-6 to 1.0e-6)");
        assert_eq!(text(1.0, 1e6), "1.0e6 (1.0e6 to 1.0e6)");
    }
}
