//! Ranks that hang.

use super::*;
use expect_test::expect;
use train::OnHang;

fn hanging(on_hang: OnHang) -> Facts {
    Facts { on_hang, ..facts() }
}

#[test]
fn ranks_that_hang_are_looked_at_killed_and_come_back() {
    check_running(
        hanging(OnHang::Restart),
        "20 quiet 10
         21 stack 0 waits recv
         21 stack 1 works load
         21 looked 0
         22 ranks 137
         23 drained 1
         24 finished 0
         25 requeued",
        expect![[r#"
            20 quiet 10
                send {"order":"stacks"}
            21 stack 0 waits recv
            21 stack 1 works load
            21 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s; rank 1 is behind: load; rank 0: recv"}
                send {"order":"kill"}
            22 ranks 137
                event {"event":"ranks-ended","status":137,"first_failed":[1,137]}
                event {"event":"lost","cause":"the ranks hung for 10 s; rank 1 is behind: load"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":27000,"ranks_gone":true,"finished":false}
            23 drained 1
                send {"order":"finish","clean":true}
            24 finished 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            25 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn one_that_the_run_file_ends_fails_with_what_was_seen() {
    check_running(
        hanging(OnHang::End),
        "20 quiet 600
         34 tick
         35 tick
         36 ranks 137
         37 drained 1
         38 finished 0",
        expect![[r#"
            20 quiet 600
                send {"order":"stacks"}
            34 tick
            35 tick
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 min; n0 does not answer"}
                send {"order":"kill"}
            36 ranks 137
                event {"event":"ranks-ended","status":137,"first_failed":[1,137]}
                send {"order":"drain","round":1,"until":41000,"ranks_gone":true,"finished":false}
            37 drained 1
                send {"order":"finish","clean":true}
            38 finished 0
                event {"event":"failed","cause":"the ranks hung for 10 min; n0 does not answer","status":1}
                Exit(1)
        "#]],
    );
}

#[test]
fn one_that_goes_on_is_reported() {
    check_running(
        hanging(OnHang::Log),
        "20 quiet 10
         21 looked 0
         30 quiet 10
         31 looked 0
         32 ranks 0",
        expect![[r#"
            20 quiet 10
                send {"order":"stacks"}
            21 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s"}
            30 quiet 10
                send {"order":"stacks"}
            31 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s"}
            32 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":37000,"ranks_gone":true,"finished":true}
        "#]],
    );
}

#[test]
fn ranks_that_end_well_meanwhile_are_done() {
    check_running(
        hanging(OnHang::Restart),
        "20 quiet 10
         21 looked 0
         21 ranks 0
         22 drained 1
         23 finished 0",
        expect![[r#"
            20 quiet 10
                send {"order":"stacks"}
            21 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s"}
                send {"order":"kill"}
            21 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":1,"until":26000,"ranks_gone":true,"finished":true}
            22 drained 1
                send {"order":"finish","clean":true}
            23 finished 0
                event {"event":"finished","status":0}
                Exit(0)
        "#]],
    );
}

#[test]
fn ranks_that_no_signal_ends_hold_nothing_up() {
    check_running(
        hanging(OnHang::Restart),
        "20 quiet 10
         21 looked 0
         40 tick
         41 tick
         42 drained 1
         43 finished 0
         44 requeued",
        expect![[r#"
            20 quiet 10
                send {"order":"stacks"}
            21 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s"}
                send {"order":"kill"}
            40 tick
            41 tick
                AbortRanks
                event {"event":"lost","cause":"the ranks hung for 10 s"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":46000,"ranks_gone":true,"finished":false}
            42 drained 1
                send {"order":"finish","clean":true}
            43 finished 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            44 requeued
                Exit(0)
        "#]],
    );
}

#[test]
fn three_that_hung_in_a_row_are_no_matter_of_memory() {
    check_running(
        Facts {
            lost_before: 2,
            ..hanging(OnHang::Restart)
        },
        "20 quiet 10
         21 looked 0
         22 ranks 137
         23 drained 1
         24 finished 0",
        expect![[r#"
            20 quiet 10
                send {"order":"stacks"}
            21 looked 0
                event {"event":"hung","cause":"the ranks hang: no output, no progress and no GPU at work for 10 s"}
                send {"order":"kill"}
            22 ranks 137
                event {"event":"ranks-ended","status":137,"first_failed":[1,137]}
                event {"event":"lost","cause":"the ranks hung for 10 s"}
                send {"order":"kill"}
                send {"order":"drain","round":1,"until":27000,"ranks_gone":true,"finished":false}
            23 drained 1
                send {"order":"finish","clean":true}
            24 finished 0
                event {"event":"failed","cause":"3 starts in a row were lost without a new checkpoint, the last because the ranks hung for 10 s; see in yard show where each rank stood, set [watch] hang longer if it was at work, then yard requeue","status":null}
                Exit(1)
        "#]],
    );
}
