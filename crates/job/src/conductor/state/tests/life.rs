//! Whole lives of a job.

use super::*;
use expect_test::expect;

#[test]
fn runs_to_the_end() {
    check_running(
        facts(),
        "5 complete ckpt-1
         5 part ckpt-1
         5 out ckpt-1
         9 ranks 0
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
            9 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":14000,"ranks_gone":true,"finished":true}
            9 drained 1
                send {"order":"finish","clean":true}
            9 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}

#[test]
fn reaches_its_limit_and_comes_back() {
    check(
        with_checkpoints(facts()),
        "0 hello 0
         1 restored 0 ckpt-200
         50 complete ckpt-250
         50 part ckpt-250
         50 out ckpt-250
         90 tick
         90.2 complete ckpt-300
         90.2 drained 1
         90.3 part ckpt-300
         90.3 out ckpt-300
         90.5 ranks 143
         90.6 drained 2
         90.7 agents 0
         90.9 requeued",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"restore","name":"ckpt-200"}
            1 restored 0 ckpt-200
                event {"event":"resumed","checkpoint":"ckpt-200","step":200}
                send {"order":"watch","resume":"ckpt-200"}
                start ranks on n0 from ckpt-200
            50 complete ckpt-250
                send {"order":"copy","name":"ckpt-250","from":[0]}
            50 part ckpt-250
                publish ckpt-250: 1 parts, merge false
            50 out ckpt-250
                send {"order":"out","name":"ckpt-250"}
                event {"event":"checkpoint-out","name":"ckpt-250","step":250,"bytes":9,"took_ms":3,"proven":true}
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.2 complete ckpt-300
                send {"order":"copy","name":"ckpt-300","from":[0]}
            90.2 drained 1
            90.3 part ckpt-300
                publish ckpt-300: 1 parts, merge false
            90.3 out ckpt-300
                send {"order":"out","name":"ckpt-300"}
                event {"event":"checkpoint-out","name":"ckpt-300","step":300,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"terminate","by_cluster":false}
            90.5 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95500,"ranks_gone":true,"finished":false}
            90.6 drained 2
                send {"order":"finish","clean":true}
            90.7 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            90.9 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn ranks_that_do_not_stop_are_killed() {
    check_running(
        facts(),
        "90 tick
         95 tick
         97 tick
         97.1 ranks 137
         99 tick
         99 tick",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            95 tick
                send {"order":"terminate","by_cluster":false}
            97 tick
                send {"order":"kill"}
            97.1 ranks 137
                event {"event":"ranks-ended","status":137,"first_failed":[1,137]}
                send {"order":"drain","round":2,"until":99000,"ranks_gone":true,"finished":false}
            99 tick
                event {"event":"note","text":"time was over before everything was copied out"}
                send {"order":"finish","clean":false}
                event {"event":"coming-back","how":"requeue"}
                Requeue
            99 tick
        "#]],
    );
}

#[test]
fn a_program_that_is_told_and_crashes_comes_back_and_that_is_said() {
    check_running(
        Facts {
            notify: true,
            ..facts()
        },
        "90 tick
         91 ranks 139
         91.5 drained 2
         91.7 agents 0",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"notify"}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            91 ranks 139
                event {"event":"ranks-ended","status":139,"first_failed":[1,139]}
                event {"event":"note","text":"after it was asked to save and end: rank 1 ended with 139"}
                send {"order":"drain","round":2,"until":96000,"ranks_gone":true,"finished":false}
            91.5 drained 2
                send {"order":"finish","clean":true}
            91.7 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn a_program_that_is_told_may_end_well_and_still_comes_back() {
    check_running(
        Facts {
            notify: true,
            ..facts()
        },
        "90 tick
         90.1 drained 1
         91 complete ckpt-7
         91 part ckpt-7
         91 out ckpt-7
         91.5 ranks 0
         91.6 drained 2
         91.7 agents 0",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"notify"}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
            91 complete ckpt-7
                send {"order":"copy","name":"ckpt-7","from":[0]}
            91 part ckpt-7
                publish ckpt-7: 1 parts, merge false
            91 out ckpt-7
                send {"order":"out","name":"ckpt-7"}
                event {"event":"checkpoint-out","name":"ckpt-7","step":7,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"terminate","by_cluster":false}
            91.5 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":2,"until":96500,"ranks_gone":true,"finished":true}
            91.6 drained 2
                send {"order":"finish","clean":true}
            91.7 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn finishes_in_its_last_seconds() {
    check_running(
        facts(),
        "90 tick
         90.1 ranks 0
         90.2 drained 2
         90.3 agents 0",
        expect![[r#"
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":2,"until":95100,"ranks_gone":true,"finished":true}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}

#[test]
fn a_job_without_a_limit() {
    check_running(
        Facts {
            deadlines: None,
            ..facts()
        },
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
                Exit(0)
        "#]],
    );
}
