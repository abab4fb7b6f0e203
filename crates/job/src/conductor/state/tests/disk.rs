//! Disks that take nothing for a while.

use super::*;
use expect_test::expect;

#[test]
fn a_run_folder_that_is_full_at_the_limit_is_tried_again_and_the_run_comes_back() {
    check_running(
        facts(),
        "10 complete c-1
         10 full c-1
         90 tick
         90 full c-1
         90 full c-1
         90 drained 1
         91 ranks 143
         91 full c-1
         91 drained 2
         91.5 tick
         92 tick
         92 full c-1
         99 tick
         99 agents 0
         99 requeued",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            10 full c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            90 tick
                send {"order":"copy","name":"c-1","from":[0]}
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90 full c-1
                send {"order":"copy","name":"c-1","from":[0]}
            90 full c-1
            90 drained 1
                send {"order":"terminate","by_cluster":false}
            91 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":96000,"ranks_gone":true,"finished":false}
                send {"order":"copy","name":"c-1","from":[0]}
            91 full c-1
            91 drained 2
            91.5 tick
            92 tick
                send {"order":"copy","name":"c-1","from":[0]}
            92 full c-1
            99 tick
                event {"event":"note","text":"c-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
                event {"event":"lost","cause":"the run folder takes nothing, and c-1 is on the node only"}
                event {"event":"coming-back","how":"requeue"}
                Requeue
            99 agents 0
            99 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn a_run_folder_that_has_room_again_in_time_costs_nothing() {
    check_running(
        facts(),
        "10 complete c-1
         90 tick
         90 full c-1
         90 drained 1
         91 ranks 143
         91 full c-1
         91 drained 2
         92 tick
         92 part c-1
         92 out c-1
         92 agents 0
         92 requeued",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90 full c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            90 drained 1
                send {"order":"terminate","by_cluster":false}
            91 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":96000,"ranks_gone":true,"finished":false}
                send {"order":"copy","name":"c-1","from":[0]}
            91 full c-1
            91 drained 2
            92 tick
                send {"order":"copy","name":"c-1","from":[0]}
            92 part c-1
                publish c-1: 1 parts, merge false
            92 out c-1
                send {"order":"out","name":"c-1"}
                event {"event":"checkpoint-out","name":"c-1","step":1,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"finish","clean":true}
            92 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            92 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn a_training_that_is_done_while_the_disk_is_full_waits_for_its_last_checkpoint() {
    let facts = Facts {
        deadlines: None,
        ..facts()
    };
    check_running(
        facts,
        "10 complete c-1
         20 ranks 0
         20 full c-1
         20 drained 1
         21 tick
         21 full c-1
         80 tick
         80 agents 0
         80 requeued",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            20 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":25000,"ranks_gone":true,"finished":true}
            20 full c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            20 drained 1
            21 tick
                send {"order":"copy","name":"c-1","from":[0]}
            21 full c-1
            80 tick
                event {"event":"note","text":"c-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
            80 agents 0
                event {"event":"finished","status":0,"left":"c-1 is not saved and stays on the node; yard requeue saves it where the run folder takes it again, or fetch it: rsync -a n0:/tmp/node/checkpoints/c-1 FOLDER"}
                Exit(0)
            80 requeued
        "#]],
    );
}

#[test]
fn an_older_checkpoint_than_one_that_is_out_is_not_waited_for() {
    check_running(
        facts(),
        "10 complete c-1
         10 full c-1
         20 complete c-2
         20 part c-2
         20 out c-2
         20 full c-1
         30 ranks 0
         30 full c-1
         30 drained 1
         30 agents 0",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            10 full c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            20 complete c-2
                send {"order":"copy","name":"c-2","from":[0]}
            20 part c-2
                publish c-2: 1 parts, merge false
            20 out c-2
                send {"order":"out","name":"c-2"}
                event {"event":"checkpoint-out","name":"c-2","step":2,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"copy","name":"c-1","from":[0]}
            20 full c-1
            30 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":35000,"ranks_gone":true,"finished":true}
                send {"order":"copy","name":"c-1","from":[0]}
            30 full c-1
            30 drained 1
                event {"event":"note","text":"c-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
            30 agents 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}

#[test]
fn what_a_retry_does_not_mend_is_not_waited_for() {
    check_running(
        facts(),
        "10 complete c-1
         20 ranks 0
         20 refused c-1
         20 drained 1
         20 agents 0",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            20 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":25000,"ranks_gone":true,"finished":true}
            20 refused c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            20 drained 1
                event {"event":"note","text":"c-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
            20 agents 0
                event {"event":"finished","status":0,"left":"c-1 is not saved and stays on the node; fetch it: rsync -a n0:/tmp/node/checkpoints/c-1 FOLDER"}
                Exit(0)
        "#]],
    );
}

/// A name of a pretended node leads nowhere.
#[test]
fn all_that_is_not_saved_is_told_with_how_to_fetch_it() {
    check_running(
        Facts {
            on_this_machine: true,
            ..facts()
        },
        "10 complete a-1
         10 complete b-1
         20 ranks 0
         20 refused a-1
         20 refused b-1
         20 drained 1
         20 agents 0",
        expect![[r#"
            10 complete a-1
                send {"order":"copy","name":"a-1","from":[0]}
            10 complete b-1
            20 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":25000,"ranks_gone":true,"finished":true}
            20 refused a-1
                event {"event":"checkpoint-not-out","name":"a-1","why":"disk full"}
                send {"order":"copy","name":"b-1","from":[0]}
            20 refused b-1
                event {"event":"checkpoint-not-out","name":"b-1","why":"disk full"}
            20 drained 1
                event {"event":"note","text":"a-1, b-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
            20 agents 0
                event {"event":"finished","status":0,"left":"a-1, b-1 are not saved and stay on the node; fetch them: cp -r /tmp/node/checkpoints/ FOLDER"}
                Exit(0)
        "#]],
    );
}

#[test]
fn a_disk_that_stays_full_ends_the_run_after_some_starts() {
    let facts = Facts {
        lost_before: 2,
        ..facts()
    };
    check_running(
        facts,
        "10 complete c-1
         90 tick
         90 full c-1
         90 drained 1
         91 ranks 143
         91 full c-1
         91 drained 2
         99 tick
         99 agents 0",
        expect![[r#"
            10 complete c-1
                send {"order":"copy","name":"c-1","from":[0]}
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90 full c-1
                event {"event":"checkpoint-not-out","name":"c-1","why":"disk full"}
            90 drained 1
                send {"order":"terminate","by_cluster":false}
            91 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":96000,"ranks_gone":true,"finished":false}
                send {"order":"copy","name":"c-1","from":[0]}
            91 full c-1
            91 drained 2
            99 tick
                event {"event":"note","text":"c-1 could not be copied and stays on the node in \"/tmp/node/checkpoints\" until the run's next start there"}
                send {"order":"finish","clean":false}
                event {"event":"failed","cause":"3 starts in a row were lost without a new checkpoint, the last because the run folder takes nothing, and c-1 is on the node only; compare the memory that the job requests with what it uses, look at the space left in the run folder, then yard requeue","status":null}
                Exit(1)
            99 agents 0
        "#]],
    );
}

#[test]
fn a_disk_that_refuses_what_the_start_needs_loses_the_start_alone() {
    check_running(
        facts(),
        "1 disk
         2 agents 0
         2 requeued",
        expect![[r#"
            1 disk
                AbortRanks
                send {"order":"finish","clean":false}
            2 agents 0
                event {"event":"lost","cause":"no room"}
                event {"event":"coming-back","how":"requeue"}
                Requeue
            2 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn what_an_earlier_start_left_on_the_node_is_resumed_from_and_copied_out() {
    check(
        with_checkpoints(facts()),
        "0 kept ckpt-300
         0 kept ckpt-100
         0 hello 0
         1 restored 0 ckpt-300
         2 part ckpt-300
         2 out ckpt-300",
        expect![[r#"
            0 kept ckpt-300
            0 kept ckpt-100
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"restore","name":"ckpt-300","kept":true}
            1 restored 0 ckpt-300
                event {"event":"note","text":"checkpoint ckpt-300 is taken from the node's own disk, where an earlier start left it"}
                event {"event":"resumed","checkpoint":"ckpt-300","step":300}
                send {"order":"watch","resume":"ckpt-300"}
                start ranks on n0 from ckpt-300
                send {"order":"forget","name":"ckpt-100"}
                send {"order":"copy","name":"ckpt-300","from":[0]}
            2 part ckpt-300
                publish ckpt-300: 1 parts, merge false
            2 out ckpt-300
                send {"order":"out","name":"ckpt-300"}
                event {"event":"checkpoint-out","name":"ckpt-300","step":300,"bytes":9,"took_ms":3,"proven":true,"again":true}
        "#]],
    );
}

#[test]
fn of_several_nodes_each_may_have_a_part_of_what_was_left() {
    let facts = Facts {
        nodes: 2,
        ..with_checkpoints(facts())
    };
    check(
        facts,
        "0 kept ckpt-300
         0 hello 0
         0 hello 1
         1 restored 0 ckpt-200
         1 restored 1 ckpt-200",
        expect![[r#"
            0 kept ckpt-300
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"restore","name":"ckpt-200"}
            1 restored 0 ckpt-200
            1 restored 1 ckpt-200
                event {"event":"resumed","checkpoint":"ckpt-200","step":200}
                send {"order":"watch","resume":"ckpt-200"}
                start ranks on n0,n1 from ckpt-200
                send {"order":"copy","name":"ckpt-300","from":[0,1]}
        "#]],
    );
}
