//! What a turn costs: what changed, however many jobs wait.

use super::*;
use std::time::{Duration, Instant};

/// A machine's one CPU runs the first of so many jobs.
fn world_with(waiting: u32) -> World {
    let mut world = World::new(1);
    for _ in 0..=waiting {
        world.submit(Request::default());
    }
    world.state.schedule(world.now);
    world.state.take_changes();
    world
}

/// One job ends and the next starts; the rows that changed.
fn turn(world: &mut World) -> usize {
    let job = world.state.running().next().unwrap().id;
    world.state.apply(Event::Gone {
        job,
        outcome: Outcome::Completed,
        at: world.now,
    });
    assert_eq!(world.state.schedule(world.now).len(), 1);
    let changes = world.state.take_changes();
    changes.live.len() + changes.ended.len()
}

/// The quickest of some turns: what else the machine does must not count.
fn quickest(world: &mut World) -> Duration {
    let one = |_| {
        let begun = Instant::now();
        turn(world);
        let _counts = (world.state.running_count(), world.state.waiting_count());
        let _newest = world.state.newer(world.state.version() - 1).count();
        begun.elapsed()
    };
    (0..50).map(one).min().unwrap()
}

#[test]
fn a_turn_changes_no_row_of_a_job_that_goes_on_waiting() {
    let mut world = world_with(10_000);
    // The one that ended, the one that started, and the next in line, whose reason is another.
    assert_eq!(turn(&mut world), 3);
}

#[test]
fn a_turn_walks_through_no_waiting_jobs() {
    let few = quickest(&mut world_with(100));
    let many = quickest(&mut world_with(10_000));
    // A walk would take a hundred times as long.
    assert!(
        many < few * 25,
        "{few:?} with 100 jobs, {many:?} with 10000"
    );
}
