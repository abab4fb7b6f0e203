//! Checkpoints that can't be saved.

use super::*;
use expect_test::expect;

#[test]
fn a_full_disk_does_not_stop_the_training() {
    check_running(
        facts(),
        "5 complete ckpt-1
         5 full ckpt-1
         6 complete ckpt-2
         6 part ckpt-2",
        expect![[r#"
            5 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            5 full ckpt-1
                event {"event":"checkpoint-not-out","name":"ckpt-1","why":"disk full"}
            6 complete ckpt-2
                send {"order":"copy","name":"ckpt-2","from":[0]}
            6 part ckpt-2
                publish ckpt-2: 1 parts, merge false
        "#]],
    );
}

/// The old copy alone might have taken all of the time that is left.
#[test]
fn the_newest_goes_before_a_large_copy_when_time_is_short() {
    check_running(
        facts(),
        "80 complete ckpt-1 90000
         82 saving ckpt-1 1000 90000
         83 complete ckpt-2
         84 saving ckpt-1 2000 90000
         90 tick
         90.1 full ckpt-1
         90.2 part ckpt-2
         90.3 out ckpt-2",
        expect![[r#"
            80 complete ckpt-1 90000
                send {"order":"copy","name":"ckpt-1","from":[0]}
            82 saving ckpt-1 1000 90000
            83 complete ckpt-2
            84 saving ckpt-1 2000 90000
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
                send {"order":"break-off","name":"ckpt-1"}
            90.1 full ckpt-1
                send {"order":"copy","name":"ckpt-2","from":[0]}
            90.2 part ckpt-2
                publish ckpt-2: 1 parts, merge false
            90.3 out ckpt-2
                send {"order":"out","name":"ckpt-2"}
                event {"event":"checkpoint-out","name":"ckpt-2","step":2,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"copy","name":"ckpt-1","from":[0]}
        "#]],
    );
}

#[test]
fn what_found_no_room_is_tried_again_later_and_at_the_end() {
    check_running(
        facts(),
        "5 complete ckpt-1
         5 full ckpt-1
         34 tick
         35 tick
         35 full ckpt-1
         90 tick
         90 full ckpt-1
         90.1 drained 1
         90.2 ranks 143
         90.3 part ckpt-1
         90.4 out ckpt-1
         90.4 drained 2",
        expect![[r#"
            5 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            5 full ckpt-1
                event {"event":"checkpoint-not-out","name":"ckpt-1","why":"disk full"}
            34 tick
            35 tick
                send {"order":"copy","name":"ckpt-1","from":[0]}
            35 full ckpt-1
            90 tick
                event {"event":"stopping","reason":"limit","left":10}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
                send {"order":"copy","name":"ckpt-1","from":[0]}
            90 full ckpt-1
            90.1 drained 1
                send {"order":"terminate","by_cluster":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
                send {"order":"copy","name":"ckpt-1","from":[0]}
            90.3 part ckpt-1
                publish ckpt-1: 1 parts, merge false
            90.4 out ckpt-1
                send {"order":"out","name":"ckpt-1"}
                event {"event":"checkpoint-out","name":"ckpt-1","step":1,"bytes":9,"took_ms":3,"proven":true}
            90.4 drained 2
                send {"order":"finish","clean":true}
        "#]],
    );
}

#[test]
fn where_the_newest_are_kept_an_older_one_is_not_tried_again() {
    check_running(
        Facts {
            keep_all: false,
            ..facts()
        },
        "5 complete ckpt-1
         5 full ckpt-1
         6 complete ckpt-2
         6 part ckpt-2
         6 out ckpt-2
         40 tick",
        expect![[r#"
            5 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            5 full ckpt-1
                event {"event":"checkpoint-not-out","name":"ckpt-1","why":"disk full"}
            6 complete ckpt-2
                send {"order":"copy","name":"ckpt-2","from":[0]}
            6 part ckpt-2
                publish ckpt-2: 1 parts, merge false
            6 out ckpt-2
                send {"order":"out","name":"ckpt-2"}
                send {"order":"forget","name":"ckpt-1"}
                event {"event":"checkpoint-out","name":"ckpt-2","step":2,"bytes":9,"took_ms":3,"proven":true}
            40 tick
        "#]],
    );
}

/// It was resumed from as whole: while it was put together nothing was saved that could lack a part, and the change to
/// a manifest that is being written was lost.
#[test]
fn what_a_node_begins_to_write_while_others_parts_are_put_together_is_lacking_in_it() {
    check(
        Facts {
            nodes: 2,
            ..facts()
        },
        "0 hello 0
         0 hello 1
         5 complete ckpt-1
         15 tick
         15 part ckpt-1 0
         15 no-part ckpt-1 1
         16 writes 1
         17 out-of-one ckpt-1",
        expect![[r#"
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"watch","resume":null}
                start ranks on n0,n1 from nothing
            5 complete ckpt-1
            15 tick
                send {"order":"copy","name":"ckpt-1","from":[0,1]}
            15 part ckpt-1 0
            15 no-part ckpt-1 1
                publish ckpt-1: 1 parts, merge false
            16 writes 1
            17 out-of-one ckpt-1
                Lack([("ckpt-1", 1)])
                send {"order":"out","name":"ckpt-1"}
                event {"event":"note","text":"checkpoint ckpt-1 has the part of n0 only, and nothing tells whether all 2 nodes had one: it is kept, and resumed from only where no other has all parts"}
                event {"event":"checkpoint-out","name":"ckpt-1","step":1,"bytes":9,"took_ms":3,"proven":true}
        "#]],
    );
}
