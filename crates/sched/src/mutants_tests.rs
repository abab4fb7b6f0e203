//! Each fault that is put into the scheduler is noticed, and by which property.

use super::{any_cluster, any_history, between_cycles, promises};
use crate::fault::{self, Fault};
use crate::priority::{Decay, Usage};
use model::{Seconds, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// From so many seeds each fault is noticed.
const SEEDS: u8 = 20;

/// A fault, the histories in which it shows, and how the property begins that notices it.
#[rustfmt::skip]
const MUTANTS: &[(Fault, Histories, &str)] = &[
    (Fault::GivesNothingBack, Histories::Plain, "[\"held\"]"),
    (Fault::GivesBackTwice, Histories::Plain, "[\"held\"]"),
    (Fault::SuspensionFreesGpus, Histories::Plain, "gpus: "),
    (Fault::StaysQueued, Histories::Plain, "[\"ready\"]"),
    (Fault::DrainIgnored, Histories::Plain, "nodes: "),
    (Fault::WholeIgnored, Histories::Unlimited, "sharing: "),
    (Fault::UserIgnored, Histories::Plain, "users: "),
    (Fault::PassesLimitByOne, Histories::Plain, "limits: jobs of an account"),
    (Fault::OneLevelOnly, Histories::Plain, "limits: jobs of an account"),
    (Fault::ArrayCountsOne, Histories::Plain, "in queue"),
    (Fault::StaysCounted, Histories::Plain, "ledger: "),
    (Fault::LaterIdFirst, Histories::Plain, "order: "),
    (Fault::TierIgnored, Histories::Plain, "tiers: "),
    (Fault::NodesNotWithdrawn, Histories::Plain, "tiers: "),
    (Fault::PromiseIgnored, Histories::Promises, "promises: "),
    (Fault::SpentTwice, Histories::Promises, "promises: more is held"),
    (Fault::LimitIgnored, Histories::Promises, "promises: "),
    (Fault::StaleMemo, Histories::Plain, "memory: "),
    (Fault::BoundTooHigh, Histories::Promises, "memory: "),
    (Fault::MarksForgotten, Histories::Plain, "[\"held\", \"marks\"]"),
    (Fault::SplitKeepsIndex, Histories::AnyHistory, "left == right"),
    (Fault::NoneSpared, Histories::Preempted, "spared: more"),
    (Fault::WrongVictims, Histories::Preempted, "worth: "),
    (Fault::StalePlan, Histories::Plain, "[\"plan\"]"),
    (Fault::PlannedNow, Histories::Plain, "plan: "),
    (Fault::OffersTooMuch, Histories::Plain, "does not start with"),
    (Fault::StoppedForGood, Histories::Stopped, "are stopped for good"),
    (Fault::NotQueuedAgain, Histories::Requeued, "comes back: "),
    (Fault::ClassIgnored, Histories::Plain, "never: "),
    (Fault::HalfLifeDividedBy, Histories::Usage, "usage: NaN"),
    (Fault::AddsUndecayed, Histories::Usage, "usage: "),
    (Fault::ReservationIgnored, Histories::Plain, "reserved: "),
    (Fault::TypeIgnored, Histories::Rich, "types: "),
    (Fault::SocketsNotTaken, Histories::Rich, "sockets: "),
    (Fault::SharedByOneMore, Histories::Rich, "shared: "),
    (Fault::OvertakesBetweenCycles, Histories::BetweenCycles, "order: "),
];

#[derive(Clone, Copy, Debug)]
enum Histories {
    Plain,
    Rich,
    Unlimited,
    Requeued,
    Stopped,
    AnyHistory,
    Promises,
    Preempted,
    Usage,
    BetweenCycles,
}

/// What became of histories of which one failed.
struct Noticed {
    /// What did not hold.
    property: String,
    /// The history, made as small as it still fails.
    history: String,
}

impl Histories {
    /// What the first of so many histories fails of that fails, made smaller in so many attempts.
    fn failure(self, seed: u8, cases: u32, shrinks: u32) -> Option<Noticed> {
        let from = |seed| TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        let config = Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: shrinks,
            ..Config::default()
        };
        let runner = TestRunner::new_with_rng(config, from(seed));
        match self {
            Histories::Plain => first(runner, any_cluster::any_plain_case(), any_cluster::play),
            Histories::Rich => first(runner, any_cluster::any_rich_case(), any_cluster::play),
            Histories::Unlimited => {
                first(runner, any_cluster::any_unlimited_case(), any_cluster::play)
            }
            Histories::Requeued => preempted(runner, "requeue"),
            Histories::Stopped => preempted(runner, "suspend"),
            Histories::AnyHistory => first(runner, any_history::any_case(), |steps| {
                any_history::play(steps)
            }),
            Histories::Promises => first(runner, promises::any_promised(), promises::keep_promises),
            Histories::Preempted => first(
                runner,
                promises::any_preempted(),
                promises::spare_the_worthy,
            ),
            Histories::Usage => first(runner, any_usage(), usage_is_free_of_ticks),
            Histories::BetweenCycles => {
                first(runner, between_cycles::any_case(), between_cycles::play)
            }
        }
    }
}

fn preempted(runner: TestRunner, mode: &'static str) -> Option<Noticed> {
    first(
        runner,
        any_cluster::any_preempted_case(mode),
        any_cluster::play,
    )
}

fn first<S: Strategy>(
    mut runner: TestRunner,
    strategy: S,
    play: impl Fn(&S::Value),
) -> Option<Noticed> {
    let played = runner.run(&strategy, |case| {
        play(&case);
        Ok(())
    });
    match played {
        Ok(()) => None,
        Err(TestError::Fail(reason, case)) => Some(Noticed {
            property: reason.message().to_owned(),
            history: format!("{case:?}"),
        }),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

type Amounts = (u64, Vec<i64>, f64);

fn any_usage() -> impl Strategy<Value = Amounts> {
    let half_life = prop_oneof![1 => Just(0_u64), 4 => 1_u64..100_000];
    (
        half_life,
        prop::collection::vec(0_i64..5000, 1..20),
        0.0_f64..64.0,
    )
}

/// A job that is looked at in between used the same as one that is not.
fn usage_is_free_of_ticks((half_life, parts, rate): &Amounts) {
    let decay = Decay::of_half_life(Seconds(*half_life));
    let (mut stepped, mut now) = (Usage::default(), 0);
    for length in parts {
        now += length;
        stepped.add(
            rate * decay.sum(*length as f64 / 1000.0),
            Timestamp(now),
            decay,
        );
    }
    let whole = rate * decay.sum(now as f64 / 1000.0);
    let stepped = stepped.at(Timestamp(now), decay);
    let is_same = (stepped - whole).abs() <= 1e-6 * whole.max(1.0);
    assert!(is_same, "usage: {stepped} in steps, {whole} at once");
}

/// How a fault is noticed within so many histories.
fn noticed(fault: Fault, histories: Histories, seed: u8, cases: u32) -> Option<String> {
    let noticed = fault::with(fault, || histories.failure(seed, cases, 0));
    noticed.map(|noticed| noticed.property)
}

mod slow {
    use super::*;

    #[test]
    fn each_mutant_is_noticed_by_its_property() {
        let mut wrong = Vec::new();
        for (fault, histories, property) in MUTANTS {
            let noticed = noticed(*fault, *histories, 1, 1000);
            let said = noticed.unwrap_or_else(|| "not noticed".to_owned());
            if !said.contains(property) || property.is_empty() {
                wrong.push(format!(
                    "{fault:?}: {}",
                    said.lines().next().unwrap_or_default()
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_history_that_fails_is_shown_small() {
        for (fault, histories) in [
            (Fault::GivesBackTwice, Histories::Plain),
            (Fault::SplitKeepsIndex, Histories::AnyHistory),
            (Fault::SpentTwice, Histories::Promises),
        ] {
            let noticed = fault::with(fault, || histories.failure(1, 1000, 2000));
            let history = noticed.expect("it is noticed").history;
            assert!(history.len() < 1500, "{fault:?}: {history}");
        }
    }

    #[test]
    #[ignore = "ten thousand histories, and each mutant from many seeds"]
    fn each_mutant_from_any_seed_and_nothing_without_one() {
        let mut missed = Vec::new();
        for (fault, histories, _) in MUTANTS {
            let unseen =
                (0..SEEDS).filter(|seed| noticed(*fault, *histories, *seed, 1000).is_none());
            missed.extend(unseen.map(|seed| format!("{fault:?} is not noticed from seed {seed}")));
        }
        assert!(missed.is_empty(), "{}", missed.join("\n"));
        for seed in 0..5 {
            for (_, histories, _) in MUTANTS.iter().step_by(4) {
                let failure = histories.failure(seed, 2000, 1000);
                let said = failure.map(|it| format!("{}: {}", it.property, it.history));
                assert_eq!(said, None, "{histories:?} from seed {seed}");
            }
        }
    }
}
