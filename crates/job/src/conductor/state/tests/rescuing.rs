//! What a start does whose agents, or whose conductor, were lost.

use super::*;
use expect_test::expect;

/// What stands on the node is copied by fresh agents once the ranks are gone, then the run comes
/// back.
#[test]
fn fresh_agents_bring_out_what_lost_ones_had_not() {
    check_running(
        facts(),
        "9 agents 137
         9.1 hello 0
         9.2 ranks 143
         9.3 complete ckpt-1
         9.3 drained 1
         9.4 part ckpt-1
         9.5 out ckpt-1
         9.6 agents 0",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 hello 0
                send {"order":"kill"}
            9.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"roles","copiers":[0]}
                send {"order":"rescue"}
                send {"order":"drain","round":1,"until":14200,"ranks_gone":true,"finished":false}
            9.3 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            9.3 drained 1
            9.4 part ckpt-1
                publish ckpt-1: 1 parts, merge false
            9.5 out ckpt-1
                send {"order":"out","name":"ckpt-1"}
                event {"event":"checkpoint-out","name":"ckpt-1","step":1,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"finish","clean":true}
            9.6 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

/// Ranks that don't end with their srun are killed by the fresh agents, and not waited for longer
/// than that.
#[test]
fn ranks_that_stay_hold_nothing_up() {
    check_running(
        facts(),
        "9 agents 137
         9.1 hello 0
         24 tick",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 hello 0
                send {"order":"kill"}
            24 tick
                send {"order":"roles","copiers":[0]}
                send {"order":"rescue"}
                send {"order":"drain","round":1,"until":29000,"ranks_gone":true,"finished":false}
        "#]],
    );
    // No agent comes either.
    check_running(
        facts(),
        "9 agents 137
         24 tick
         34 tick",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            24 tick
                send {"order":"finish","clean":false}
            34 tick
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn a_training_that_is_done_is_done_whoever_is_lost_then() {
    let lost_after = "9 ranks 0
         9.1 agents 137
         9.2 hello 0
         9.3 drained 2
         9.4 agents 0";
    check_running(
        facts(),
        lost_after,
        expect![[r#"
        9 ranks 0
            event {"event":"ranks-ended","status":0,"first_failed":null}
            send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
        9.1 agents 137
            StartAgents
        9.2 hello 0
            send {"order":"roles","copiers":[0]}
            send {"order":"rescue"}
            send {"order":"drain","round":2,"until":14200,"ranks_gone":true,"finished":true}
        9.3 drained 2
            send {"order":"finish","clean":true}
        9.4 agents 0
            event {"event":"finished","status":0}
            Exit(0)
    "#]],
    );
    let lost_before = "9 agents 137
         9.1 ranks 0
         9.2 hello 0
         9.3 drained 1
         9.4 agents 0";
    check_running(
        facts(),
        lost_before,
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
            9.2 hello 0
                send {"order":"kill"}
                send {"order":"roles","copiers":[0]}
                send {"order":"rescue"}
                send {"order":"drain","round":1,"until":14200,"ranks_gone":true,"finished":true}
            9.3 drained 1
                send {"order":"finish","clean":true}
            9.4 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
    let lost_twice = "9 ranks 0
         9.1 agents 137
         9.2 hello 0
         9.3 agents 137";
    check_running(
        facts(),
        lost_twice,
        expect![[r#"
        9 ranks 0
            event {"event":"ranks-ended","status":0,"first_failed":null}
            send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
        9.1 agents 137
            StartAgents
        9.2 hello 0
            send {"order":"roles","copiers":[0]}
            send {"order":"rescue"}
            send {"order":"drain","round":2,"until":14200,"ranks_gone":true,"finished":true}
        9.3 agents 137
            send {"order":"finish","clean":false}
            event {"event":"finished","status":0}
            Exit(0)
    "#]],
    );
}

/// A job that is ended gets no further steps.
#[test]
fn agents_that_end_with_their_job_are_not_replaced() {
    check_running(
        facts(),
        "9 term
         9.1 agents 137
         9.2 cancelled",
        expect![[r#"
            9 term
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9.1 agents 137
                AbortRanks
                send {"order":"finish","clean":false}
            9.2 cancelled
                event {"event":"stopping","reason":"cancelled","left":25}
                event {"event":"terminated","reason":"cancelled"}
                Exit(143)
        "#]],
    );
    check_running(
        facts(),
        "9 agents 137
         9.1 term
         9.2 preempted
         9.3 agents 0",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 term
                send {"order":"finish","clean":false}
            9.2 preempted
                event {"event":"stopping","reason":"preempted","left":25}
            9.3 agents 0
                event {"event":"terminated","reason":"preempted"}
                Exit(143)
        "#]],
    );
}

#[test]
fn at_the_limit_the_limit_stays_the_reason() {
    check_running(
        facts(),
        "90 tick
         90.1 agents 137
         90.2 ranks 143
         90.3 hello 0
         90.4 drained 2
         90.5 agents 0
         90.6 requeued",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 agents 137
                AbortRanks
                StartAgents
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
            90.3 hello 0
                send {"order":"kill"}
                send {"order":"roles","copiers":[0]}
                send {"order":"rescue"}
                send {"order":"drain","round":2,"until":95300,"ranks_gone":true,"finished":false}
            90.4 drained 2
                send {"order":"finish","clean":true}
            90.5 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            90.6 requeued
                Exit(0)
        "#]],
    );
}

/// That of a start which saved a checkpoint.
pub(super) fn saved_some() -> TrainingProgress {
    let mut progress = TrainingProgress::default();
    progress.saved(&KnownCheckpoint::named("c1"), &WholeCheckpoints::default());
    progress
}

fn loss(trained: bool) -> Loss {
    Loss {
        cause: "the conductor was ended by signal 9".to_owned(),
        trained,
        progress: saved_some(),
    }
}

#[track_caller]
fn check_after(loss: Loss, script: &str, want: Expect) {
    let mut state = ConductorState::after(loss, facts(), Timestamp(9_000));
    want.assert_eq(&played(&mut state, script));
}

#[test]
fn after_a_lost_conductor_its_parent_brings_out_what_is_complete() {
    let script = "9.1 hello 0
         9.2 complete ckpt-1
         9.2 drained 1
         9.3 part ckpt-1
         9.4 out ckpt-1
         9.5 agents 0
         9.6 requeued";
    check_after(
        loss(false),
        script,
        expect![[r#"
        9.1 hello 0
            send {"order":"roles","copiers":[0]}
            send {"order":"rescue"}
            send {"order":"drain","round":1,"until":14100,"ranks_gone":true,"finished":false}
        9.2 complete ckpt-1
            send {"order":"copy","name":"ckpt-1","from":[0]}
        9.2 drained 1
        9.3 part ckpt-1
            publish ckpt-1: 1 parts, merge false
        9.4 out ckpt-1
            send {"order":"out","name":"ckpt-1"}
            event {"event":"checkpoint-out","name":"ckpt-1","step":1,"bytes":9,"took_ms":3,"proven":true}
            send {"order":"finish","clean":true}
        9.5 agents 0
            event {"event":"coming-back","how":"requeue"}
            Requeue
        9.6 requeued
            Exit(0)
    "#]],
    );
    check_after(
        loss(true),
        "9.1 hello 0\n9.2 drained 1\n9.3 agents 0",
        expect![[r#"
            9.1 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"rescue"}
                send {"order":"drain","round":1,"until":14100,"ranks_gone":true,"finished":true}
            9.2 drained 1
                send {"order":"finish","clean":true}
            9.3 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}

#[test]
fn without_its_batch_step_a_start_only_says_what_becomes_of_the_run() {
    let check = |loss, facts, want: Expect| {
        let (_, effects) = ConductorState::without_batch_step(loss, facts);
        let effects: Vec<String> = effects.iter().map(render).collect();
        want.assert_eq(&effects.join("\n"));
    };
    check(
        loss(false),
        facts(),
        expect![[r#"
            event {"event":"coming-back","how":"requeue"}
            Requeue"#]],
    );
    check(
        loss(true),
        facts(),
        expect![[r#"
            event {"event":"finished","status":0}
            Exit(0)"#]],
    );
    let unwanted = Comeback {
        after_loss: false,
        ..facts().comeback
    };
    let facts = Facts {
        comeback: unwanted,
        ..facts()
    };
    check(
        loss(false),
        facts,
        expect![[r#"
            event {"event":"failed","cause":"the conductor was ended by signal 9, and [resume] on does not name \"node-failure\": yard requeue continues it","status":null}
            Exit(1)"#]],
    );
}

#[test]
fn a_start_after_one_that_was_done_trains_nothing() {
    let trained = Facts {
        trained: true,
        stage: true,
        ..facts()
    };
    check(
        trained.clone(),
        "0 hello 0\n0.1 drained 1\n0.2 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                event {"event":"note","text":"the training was done when the start before this one was lost"}
                send {"order":"drain","round":1,"until":5000,"ranks_gone":true,"finished":true}
            0.1 drained 1
                send {"order":"finish","clean":true}
            0.2 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
    // Its last checkpoint was on the node only.
    check(
        trained,
        "0 kept ckpt-9\n0 hello 0\n0.1 drained 1\n0.2 part ckpt-9\n0.3 out ckpt-9\n0.4 agents 0",
        expect![[r#"
            0 kept ckpt-9
            0 hello 0
                send {"order":"roles","copiers":[0]}
                event {"event":"note","text":"the training was done when the start before this one was lost"}
                send {"order":"drain","round":1,"until":5000,"ranks_gone":true,"finished":true}
                send {"order":"copy","name":"ckpt-9","from":[0]}
            0.1 drained 1
            0.2 part ckpt-9
                publish ckpt-9: 1 parts, merge false
            0.3 out ckpt-9
                send {"order":"out","name":"ckpt-9"}
                event {"event":"checkpoint-out","name":"ckpt-9","step":9,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"finish","clean":true}
            0.4 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}
