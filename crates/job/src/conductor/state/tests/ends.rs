//! Unwanted ends.

use super::*;
use expect_test::expect;

#[test]
fn a_rank_that_fails_ends_the_job_with_its_code() {
    check_running(
        facts(),
        "9 ranks 3
         9 drained 1
         9 agents 0",
        expect![[r#"
            9 ranks 3
                event {"event":"ranks-ended","status":3,"first_failed":[1,3]}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":false}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"failed","cause":"rank 1 ended with 3","status":3}
                Exit(3)
        "#]],
    );
}

/// They stay: were the batch step killed now, they would bring the run back.
#[test]
fn what_becomes_of_the_run_is_said_before_the_agents_leave() {
    check_running(
        facts(),
        "9 ranks 0
         9 drained 1
         9.1 finished 0",
        expect![[r#"
            9 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
            9 drained 1
                send {"order":"finish","clean":true}
            9.1 finished 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
    check_running(
        facts(),
        "90 tick
         90 drained 1
         91 ranks 143
         91 drained 2
         91 finished 0
         92 requeued",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90 drained 1
                send {"order":"terminate","by_cluster":false}
            91 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":96000,"ranks_gone":true,"finished":false}
            91 drained 2
                send {"order":"finish","clean":true}
            91 finished 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            92 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn cancelled_or_preempted() {
    check_running(
        facts(),
        "9 term
         9 unexplained
         9.1 ranks 143
         9.2 complete ckpt-5
         9.2 drained 2
         9.3 part ckpt-5
         9.4 out ckpt-5
         9.5 agents 0",
        expect![[r#"
            9 term
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9 unexplained
                event {"event":"stopping","reason":"cancelled","left":25}
            9.1 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":14100,"ranks_gone":true,"finished":false}
            9.2 complete ckpt-5
                send {"order":"copy","name":"ckpt-5","from":[0]}
            9.2 drained 2
            9.3 part ckpt-5
                publish ckpt-5: 1 parts, merge false
            9.4 out ckpt-5
                send {"order":"out","name":"ckpt-5"}
                event {"event":"checkpoint-out","name":"ckpt-5","step":5,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"finish","clean":true}
            9.5 agents 0
                event {"event":"terminated","reason":null}
                Exit(143)
        "#]],
    );
    check(
        facts(),
        "0 term\n0.1 unexplained\n10 tick",
        expect![[r#"
            0 term
                send {"order":"finish","clean":true}
            0.1 unexplained
                event {"event":"stopping","reason":"cancelled","left":25}
            10 tick
                event {"event":"terminated","reason":null}
                Exit(143)
        "#]],
    );
}

/// The cluster sends it to all of the job's processes, ranks too.
#[test]
fn ranks_get_no_second_sigterm_when_their_job_is_cancelled() {
    check_running(
        facts(),
        "9 term
         9 drained 1
         9 unexplained
         21.5 tick
         30 tick",
        expect![[r#"
            9 term
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9 drained 1
                send {"order":"terminate","by_cluster":true}
            9 unexplained
                event {"event":"stopping","reason":"cancelled","left":25}
            21.5 tick
            30 tick
                send {"order":"kill"}
        "#]],
    );
}

#[test]
fn a_preemption_leaves_as_long_as_the_cluster_says() {
    check_running(
        facts(),
        "9 term
         9 preempted 69
         30 complete ckpt-5
         30 part ckpt-5
         30 out ckpt-5",
        expect![[r#"
            9 term
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9 preempted 69
                event {"event":"stopping","reason":"preempted","left":50}
            30 complete ckpt-5
                send {"order":"copy","name":"ckpt-5","from":[0]}
            30 part ckpt-5
                publish ckpt-5: 1 parts, merge false
            30 out ckpt-5
                send {"order":"out","name":"ckpt-5"}
                event {"event":"checkpoint-out","name":"ckpt-5","step":5,"bytes":9,"took_ms":3,"proven":true}
        "#]],
    );
}

#[test]
fn slurms_own_end_at_the_limit_does_not_keep_the_run_from_coming_back() {
    check_running(
        facts(),
        "90 tick
         91 term
         91.05 timeout
         91.1 ranks 143
         91.2 drained 2
         91.3 agents 0",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            91 term
            91.05 timeout
                event {"event":"stopping","reason":"limit","left":9}
            91.1 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":96100,"ranks_gone":true,"finished":false}
            91.2 drained 2
                send {"order":"finish","clean":true}
            91.3 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn cancelled_while_it_stages_leaves_nothing_on_the_nodes() {
    check(
        Facts {
            stage: true,
            ..facts()
        },
        "0 hello 0
         5 term
         6 agents 0
         6.1 cancelled",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"stage"}
            5 term
                send {"order":"abort-stage"}
                send {"order":"finish","clean":true}
            6 agents 0
            6.1 cancelled
                event {"event":"stopping","reason":"cancelled","left":24}
                event {"event":"terminated","reason":"cancelled"}
                Exit(143)
        "#]],
    );
}

/// A rank crashed moments after it had written a checkpoint of a format that does not tell whether it is whole: the
/// node's only copy was removed.
#[test]
fn what_may_be_the_newest_checkpoint_of_a_failed_run_stays_on_its_node() {
    let unfinished = |state: &mut ConductorState, name: &str, may_be_whole| {
        let report = Report::Unfinished {
            name: name.to_owned(),
            why: "it may be half".to_owned(),
            may_be_whole,
        };
        let _ = state.handle(StateEvent::Report(0, report), Timestamp(9_000));
    };
    let end = |ranks: &str, name: &str, may_be_whole: bool| {
        let mut state = ConductorState::new(with_checkpoints(facts()));
        played(&mut state, "0 hello 0\n0 restored 0 ckpt-200");
        played(&mut state, &format!("9 {ranks}"));
        unfinished(&mut state, name, may_be_whole);
        played(&mut state, "9 drained 1")
    };
    let stays = end("ranks 1", "ckpt-300", true);
    assert!(stays.contains(r#""clean":false"#), "{stays}");
    assert!(
        stays.contains("ckpt-300 may be complete and stays on the node; fetch it: rsync"),
        "{stays}"
    );
    for (ranks, name, may_be_whole) in [
        ("ranks 1", "ckpt-300", false),
        ("ranks 1", "ckpt-200", true),
        // It comes back by itself.
        ("wrapper-killed", "ckpt-300", true),
    ] {
        let goes = end(ranks, name, may_be_whole);
        assert!(goes.contains(r#""clean":true"#), "{ranks} {name}: {goes}");
    }
}
