//! Whether and how the run comes back.

use super::*;
use expect_test::expect;

#[test]
fn without_progress_it_ends_with_words() {
    check(
        with_checkpoints(Facts {
            stuck_before: 1,
            ..facts()
        }),
        "0 hello 0
         1 restored 0 ckpt-200
         50 complete ckpt-100
         50 part ckpt-100
         50 out ckpt-100
         90 tick
         90.1 drained 1
         90.2 ranks 143
         90.2 drained 2
         90.3 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"restore","name":"ckpt-200"}
            1 restored 0 ckpt-200
                event {"event":"resumed","checkpoint":"ckpt-200","step":200}
                send {"order":"watch","resume":"ckpt-200"}
                start ranks on n0 from ckpt-200
            50 complete ckpt-100
                send {"order":"copy","name":"ckpt-100","from":[0]}
            50 part ckpt-100
                publish ckpt-100: 1 parts, merge false
            50 out ckpt-100
                send {"order":"out","name":"ckpt-100"}
                event {"event":"checkpoint-out","name":"ckpt-100","step":100,"bytes":9,"took_ms":3,"proven":true,"again":true}
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"failed","cause":"2 jobs in a row reached their time limit without a new checkpoint; ask for more time or save more often, see that the program resumes from {resume}, or set [resume] own_checkpoints = true where it keeps checkpoints of its own","status":null}
                Exit(1)
        "#]],
    );
}

#[test]
fn what_can_not_come_back_says_so() {
    let script = "90 tick
         90.1 drained 1
         90.2 ranks 143
         90.2 drained 2
         90.3 agents 0
         90.4 not-requeued";
    check_running(
        facts(),
        script,
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            90.4 not-requeued
                SubmitSuccessor
        "#]],
    );
    check_running(
        Facts {
            comeback: Comeback {
                after_limit: false,
                ..facts().comeback
            },
            ..facts()
        },
        script,
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"failed","cause":"the time limit came, and [resume] on does not name \"timeout\": yard requeue continues it","status":null}
                Exit(1)
            90.4 not-requeued
        "#]],
    );
}

/// The way in which another job takes over.
fn by_successor(successor: Option<u32>) -> Facts {
    Facts {
        comeback: Comeback {
            by: ResumeBy::Successor,
            successor,
            ..facts().comeback
        },
        ..facts()
    }
}

const TO_THE_LIMIT: &str = "90 tick
         90.1 drained 1
         90.2 ranks 143
         90.2 drained 2
         90.3 agents 0";

#[test]
fn a_successor_waits_from_the_start_and_takes_over() {
    check(
        by_successor(None),
        &format!("0 waits 8\n0 hello 0\n{TO_THE_LIMIT}\n90.4 waits 8"),
        expect![[r#"
                SubmitSuccessor
            0 waits 8
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                SubmitSuccessor
            90.4 waits 8
                event {"event":"coming-back","how":{"successor":{"job":8}}}
                Exit(0)
        "#]],
    );
    // This job was requeued by someone: its successor waits still.
    check(
        by_successor(Some(8)),
        "0 hello 0",
        expect![[r#"
        0 hello 0
            send {"order":"roles","copiers":[0]}
            send {"order":"watch","resume":null}
            start ranks on n0 from nothing
    "#]],
    );
}

/// It was said to take over, and nothing went on.
#[test]
fn a_successor_that_was_cancelled_does_not_take_over() {
    check_running(
        by_successor(Some(8)),
        &format!("{TO_THE_LIMIT}\n90.4 no-successor"),
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                SubmitSuccessor
            90.4 no-successor
                event {"event":"failed","cause":"the job that takes over could not be submitted: sbatch says no; checkpoints are saved, and yard requeue continues from them","status":null}
                DropSuccessor(8)
                Exit(1)
        "#]],
    );
}

/// The run said that it comes back, and never did.
#[test]
fn a_successor_that_was_cancelled_does_not_take_over_after_a_loss() {
    check_running(
        by_successor(Some(8)),
        "9 agents 137
         9.1 agents 137
         9.2 no-successor",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 agents 137
                send {"order":"finish","clean":false}
                SubmitSuccessor
            9.2 no-successor
                event {"event":"failed","cause":"the job that takes over could not be submitted: sbatch says no; checkpoints are saved, and yard requeue continues from them","status":null}
                DropSuccessor(8)
                Exit(1)
        "#]],
    );
}

#[test]
fn no_job_takes_over_from_a_run_that_is_done() {
    check_running(
        by_successor(Some(8)),
        "9 ranks 0
         9 drained 1
         9 agents 0",
        expect![[r#"
            9 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"finished","status":0}
                DropSuccessor(8)
                Exit(0)
        "#]],
    );
    check(
        by_successor(Some(8)),
        "0 term\n0 cancelled\n10 tick",
        expect![[r#"
            0 term
                send {"order":"finish","clean":true}
            0 cancelled
                event {"event":"stopping","reason":"cancelled","left":25}
            10 tick
                event {"event":"terminated","reason":"cancelled"}
                DropSuccessor(8)
                Exit(143)
        "#]],
    );
    check(
        by_successor(Some(8)),
        "0 term\n0 preempted\n10 tick",
        expect![[r#"
            0 term
                send {"order":"finish","clean":true}
            0 preempted
                event {"event":"stopping","reason":"preempted","left":25}
            10 tick
                event {"event":"terminated","reason":"preempted"}
                Exit(143)
        "#]],
    );
}

#[test]
fn a_successor_that_could_not_be_submitted_is_tried_again_at_the_end() {
    check(
        by_successor(None),
        &format!("0 no-successor\n0 hello 0\n{TO_THE_LIMIT}\n90.4 waits 9"),
        expect![[r#"
                SubmitSuccessor
            0 no-successor
                event {"event":"note","text":"the job that takes over could not be submitted: sbatch says no; it is tried again at the end"}
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                SubmitSuccessor
            90.4 waits 9
                event {"event":"coming-back","how":{"successor":{"job":9}}}
                Exit(0)
        "#]],
    );
    check_running(
        Facts {
            comeback: Comeback {
                may_submit: false,
                ..by_successor(None).comeback
            },
            ..facts()
        },
        TO_THE_LIMIT,
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"failed","cause":"no job waits to take over, and this cluster's nodes can't submit a job; checkpoints are saved, and yard requeue continues from them","status":null}
                Exit(1)
        "#]],
    );
}

#[test]
fn where_requeueing_is_refused_a_successor_takes_over() {
    check_running(
        facts(),
        &format!("{TO_THE_LIMIT}\n90.4 not-requeued\n90.5 waits 9"),
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            90.4 not-requeued
                SubmitSuccessor
            90.5 waits 9
                event {"event":"coming-back","how":{"successor":{"job":9}}}
                Exit(0)
        "#]],
    );
}

#[test]
fn a_killed_wrapper_or_agent_is_a_lost_node() {
    check_running(
        facts(),
        "9 wrapper-killed
         9 drained 1
         9 agents 0
         9 requeued",
        expect![[r#"
            9 wrapper-killed
                event {"event":"ranks-ended","status":137,"first_failed":null}
                event {"event":"lost","cause":"rank 1 could not say why"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":false}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            9 requeued
                Exit(0)
        "#]],
    );
    check_running(
        by_successor(Some(8)),
        "9 agents 137
         9.1 agents 137
         9.2 waits 8",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 agents 137
                send {"order":"finish","clean":false}
                SubmitSuccessor
            9.2 waits 8
                event {"event":"coming-back","how":{"successor":{"job":8}}}
                Exit(0)
        "#]],
    );
    check_running(
        Facts {
            comeback: Comeback {
                after_loss: false,
                ..facts().comeback
            },
            ..facts()
        },
        "9 agents 137
         9.1 agents 137",
        expect![[r#"
            9 agents 137
                event {"event":"lost","cause":"the agents' step was ended by signal 9"}
                AbortRanks
                StartAgents
            9.1 agents 137
                send {"order":"finish","clean":false}
                event {"event":"failed","cause":"the agents' step was ended by signal 9, and [resume] on does not name \"node-failure\": yard requeue continues it","status":null}
                Exit(1)
        "#]],
    );
}

#[test]
fn the_third_loss_in_a_row_without_a_checkpoint_is_the_last() {
    let lost = Facts {
        lost_before: 2,
        ..facts()
    };
    check_running(
        lost.clone(),
        "9 wrapper-killed
         9 drained 1
         9 agents 0",
        expect![[r#"
            9 wrapper-killed
                event {"event":"ranks-ended","status":137,"first_failed":null}
                event {"event":"lost","cause":"rank 1 could not say why"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":false}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"failed","cause":"3 starts in a row were lost without a new checkpoint, the last because rank 1 could not say why; compare the memory that the job requests with what it uses, look at the space left in the run folder, then yard requeue","status":null}
                Exit(1)
        "#]],
    );
    check_running(
        lost,
        "5 complete ckpt-1
         5 part ckpt-1
         5 out ckpt-1
         9 wrapper-killed
         9 drained 1
         9 agents 0",
        expect![[r#"
            5 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            5 part ckpt-1
                publish ckpt-1: 1 parts, merge false
            5 out ckpt-1
                send {"order":"out","name":"ckpt-1"}
                event {"event":"checkpoint-out","name":"ckpt-1","step":1,"bytes":9,"took_ms":3,"proven":true}
            9 wrapper-killed
                event {"event":"ranks-ended","status":137,"first_failed":null}
                event {"event":"lost","cause":"rank 1 could not say why"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":false}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn a_start_that_was_killed_brings_the_run_back() {
    let lost = |facts: Facts| {
        let loss = Loss {
            cause: "signal 9".to_owned(),
            trained: false,
            progress: TrainingProgress::default(),
        };
        let (_, effects) = ConductorState::without_batch_step(loss, facts);
        effects.iter().map(render).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        event {"event":"coming-back","how":"requeue"}
        Requeue"#]]
    .assert_eq(&lost(facts()));
    expect!["SubmitSuccessor"].assert_eq(&lost(by_successor(Some(8))));
    let often = Facts {
        lost_before: 2,
        ..facts()
    };
    expect![[r#"
        event {"event":"failed","cause":"3 starts in a row were lost without a new checkpoint, the last because signal 9; compare the memory that the job requests with what it uses, look at the space left in the run folder, then yard requeue","status":null}
        Exit(1)"#]].assert_eq(&lost(often.clone()));
    // The program's checkpoints are not seen: it comes back as often as it takes.
    let own = Facts {
        own_checkpoints: true,
        ..often
    };
    expect![[r#"
        event {"event":"coming-back","how":"requeue"}
        Requeue"#]]
    .assert_eq(&lost(own));
}

#[test]
fn a_successor_that_is_just_being_submitted_is_known_before_the_job_ends() {
    check_running(
        by_successor(None),
        "9 ranks 0
         9 drained 1
         9 agents 0
         9.1 waits 8",
        expect![[r#"
            9 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"finished","status":0}
            9.1 waits 8
                DropSuccessor(8)
                Exit(0)
        "#]],
    );
}
