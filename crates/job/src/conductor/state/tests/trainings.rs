//! Several trainings of one job.

use super::*;

fn two() -> Trainings {
    let states = [0, 1].map(|trial| (TrialId(trial), ConductorState::new(facts())));
    Trainings::new(states)
}

/// What each training has done to it, in words.
#[track_caller]
fn check(trainings: &mut Trainings, concerns: Concerns, what: &str, at: i64, want: &[(u32, &str)]) {
    let words: Vec<&str> = what.split_whitespace().collect();
    let effects = trainings.handle(concerns, &event(&words), Timestamp(at * 1000));
    let said: Vec<(u32, String)> = effects
        .iter()
        .map(|(trial, effect)| (trial.0, format!("{effect:?}")))
        .collect();
    let short: Vec<(u32, &str)> = said
        .iter()
        .map(|(trial, words)| (*trial, words.split([' ', '(']).next().unwrap_or(words)))
        .collect();
    assert_eq!(short, want, "{said:?}");
}

#[test]
fn what_happens_to_one_is_not_known_of_another() {
    let mut trainings = two();
    assert!(trainings.begin().is_empty());
    let first = Concerns::Trial(TrialId(0));
    let starts = [(0, "Send"), (0, "Send"), (0, "StartRanks")];
    check(&mut trainings, first, "hello 0 0", 1, &starts);
    // The other still waits for its agents, and is due by then.
    assert_eq!(trainings.next_due(), Some(Timestamp(60_000)));
    check(
        &mut trainings,
        Concerns::Trial(TrialId(7)),
        "hello 0 0",
        2,
        &[],
    );
}

#[test]
fn what_happens_to_the_job_happens_to_all_and_it_exits_once() {
    let mut trainings = two();
    let mut exits = Vec::new();
    for second in [60, 61, 70, 98, 99, 100, 101] {
        let effects = trainings.handle(Concerns::Job, &StateEvent::Tick, Timestamp(second * 1000));
        exits.extend(
            effects
                .into_iter()
                .filter(|(_, effect)| matches!(effect, Effect::Exit(_))),
        );
        let ended = trainings.handle(
            Concerns::Job,
            &StateEvent::AgentsEnded(1),
            Timestamp(second * 1000),
        );
        exits.extend(
            ended
                .into_iter()
                .filter(|(_, effect)| matches!(effect, Effect::Exit(_))),
        );
    }
    assert_eq!(exits, [(TrialId(1), Effect::Exit(1))]);
    assert_eq!(trainings.next_due(), None);
}
