//! Before the ranks start.

use super::*;
use expect_test::expect;

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    check(
        with_checkpoints(facts()),
        "0 hello 0
         1 not-restored 0 ckpt-200
         2 restored 0 ckpt-100",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"restore","name":"ckpt-200"}
            1 not-restored 0 ckpt-200
                event {"event":"note","text":"checkpoint ckpt-200 can't be resumed from: hashes differ"}
                SetAside("ckpt-200")
                send {"order":"restore","name":"ckpt-100"}
            2 restored 0 ckpt-100
                event {"event":"resumed","checkpoint":"ckpt-100","step":100}
                send {"order":"watch","resume":"ckpt-100"}
                start ranks on n0 from ckpt-100
        "#]],
    );
    check(
        with_checkpoints(facts()),
        "0 hello 0
         1 not-restored 0 ckpt-200
         2 not-restored 0 ckpt-100",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"restore","name":"ckpt-200"}
            1 not-restored 0 ckpt-200
                event {"event":"note","text":"checkpoint ckpt-200 can't be resumed from: hashes differ"}
                SetAside("ckpt-200")
                send {"order":"restore","name":"ckpt-100"}
            2 not-restored 0 ckpt-100
                event {"event":"note","text":"checkpoint ckpt-100 can't be resumed from: hashes differ"}
                SetAside("ckpt-100")
                event {"event":"note","text":"no checkpoint could be resumed from: the training starts from its beginning"}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
        "#]],
    );
}

#[test]
fn all_nodes_agree_and_one_agent_a_disk_copies() {
    check(
        with_checkpoints(Facts {
            nodes: 3,
            ..facts()
        }),
        "0 hello 1
         0 hello-same-disk 2
         0 hello 0
         1 restored 0 ckpt-200
         2 not-restored 1 ckpt-200
         3 restored 1 ckpt-100
         3 restored 0 ckpt-100",
        expect![[r#"
            0 hello 1
            0 hello-same-disk 2
            0 hello 0
                send {"order":"roles","copiers":[0,1]}
                send {"order":"restore","name":"ckpt-200"}
            1 restored 0 ckpt-200
            2 not-restored 1 ckpt-200
                event {"event":"note","text":"checkpoint ckpt-200 can't be resumed from: hashes differ"}
                send {"order":"restore","name":"ckpt-100"}
            3 restored 1 ckpt-100
            3 restored 0 ckpt-100
                event {"event":"resumed","checkpoint":"ckpt-100","step":100}
                send {"order":"watch","resume":"ckpt-100"}
                start ranks on n0,n1,n2 from ckpt-100
        "#]],
    );
}

#[test]
fn agents_that_do_not_come_or_go_too_early() {
    check(
        Facts {
            nodes: 2,
            ..facts()
        },
        "0 hello 0\n60 tick\n70 tick",
        expect![[r#"
            0 hello 0
            60 tick
                send {"order":"finish","clean":true}
            70 tick
                event {"event":"failed","cause":"2 agents were started, 1 connected; the conductor's log has srun's output","status":1}
                Exit(1)
        "#]],
    );
    check(
        facts(),
        "0 hello 0\n9 agents 1",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            9 agents 1
                event {"event":"lost","cause":"the agents' step ended with 1"}
                AbortRanks
                StartAgents
        "#]],
    );
}

#[test]
fn staging_comes_first() {
    check(
        Facts {
            stage: true,
            ..facts()
        },
        "0 hello 0\n5 staged 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"stage"}
            5 staged 0
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
        "#]],
    );
}

#[test]
fn why_staging_failed_is_why_the_job_failed() {
    check(
        Facts {
            stage: true,
            ..facts()
        },
        "0 hello 0\n5 not-staged 0\n6 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"stage"}
            5 not-staged 0
                send {"order":"abort-stage"}
                send {"order":"finish","clean":true}
            6 agents 0
                event {"event":"failed","cause":"staging failed: no.tar is not there","status":1}
                Exit(1)
        "#]],
    );
}

/// The start resumed from the older one, and the newer one was put together beside it.
#[test]
fn what_all_nodes_keep_parts_of_is_put_together_before_it_is_resumed_from() {
    let facts = Facts {
        nodes: 2,
        keep_all: false,
        ..with_checkpoints(facts())
    };
    check(
        facts,
        "0 kept ckpt-300 0
         0 hello 0
         0 kept ckpt-300 1
         0 kept ckpt-150 1
         0 hello 1
         1 part ckpt-300 0
         1 part ckpt-300 1
         2 out ckpt-300
         3 restored 0 ckpt-300
         3 restored 1 ckpt-300",
        expect![[r#"
            0 kept ckpt-300 0
            0 hello 0
            0 kept ckpt-300 1
            0 kept ckpt-150 1
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                event {"event":"note","text":"checkpoint ckpt-300 is put together from what the nodes kept of an earlier start"}
                send {"order":"copy","name":"ckpt-300","from":[0,1]}
            1 part ckpt-300 0
            1 part ckpt-300 1
                publish ckpt-300: 2 parts, merge false
            2 out ckpt-300
                send {"order":"out","name":"ckpt-300"}
                event {"event":"checkpoint-out","name":"ckpt-300","step":300,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"restore","name":"ckpt-300"}
            3 restored 0 ckpt-300
            3 restored 1 ckpt-300
                event {"event":"resumed","checkpoint":"ckpt-300","step":300,"bytes":9}
                send {"order":"watch","resume":"ckpt-300"}
                start ranks on n0,n1 from ckpt-300
                send {"order":"forget","name":"ckpt-150"}
                send {"order":"forget","name":"ckpt-300"}
        "#]],
    );
}

#[test]
fn where_it_can_not_be_put_together_the_older_one_does() {
    let facts = Facts {
        nodes: 2,
        ..with_checkpoints(facts())
    };
    check(
        facts,
        "0 kept ckpt-300 0
         0 hello 0
         0 kept ckpt-300 1
         0 hello 1
         1 full ckpt-300
         1 part ckpt-300 1
         3 restored 0 ckpt-200
         3 restored 1 ckpt-200",
        expect![[r#"
            0 kept ckpt-300 0
            0 hello 0
            0 kept ckpt-300 1
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                event {"event":"note","text":"checkpoint ckpt-300 is put together from what the nodes kept of an earlier start"}
                send {"order":"copy","name":"ckpt-300","from":[0,1]}
            1 full ckpt-300
            1 part ckpt-300 1
                Discard([Part { incoming: "i", bytes: 9, took_ms: 3, proven: true, node: "n1", start: None, written: None }])
                event {"event":"checkpoint-not-out","name":"ckpt-300","why":"disk full"}
                send {"order":"restore","name":"ckpt-200"}
            3 restored 0 ckpt-200
            3 restored 1 ckpt-200
                event {"event":"resumed","checkpoint":"ckpt-200","step":200}
                send {"order":"watch","resume":"ckpt-200"}
                start ranks on n0,n1 from ckpt-200
                send {"order":"copy","name":"ckpt-300","from":[0,1]}
        "#]],
    );
}

/// They were removed before it was known that anything can be restored, and the node that was away had the rest.
#[test]
fn parts_that_are_nowhere_whole_stay_until_a_newer_one_is() {
    let mut known = KnownCheckpoint::named("ckpt-200");
    known.parts.nodes = vec!["n0".to_owned(), "n1".to_owned()];
    known.parts.of = 2;
    let facts = Facts {
        nodes: 2,
        checkpoints: WholeCheckpoints::new(vec![known]),
        ..facts()
    };
    check(
        facts,
        "0 kept ckpt-300 0
         0 kept ckpt-305 0
         0 hello 0
         0 hello 1
         1 restored 0 ckpt-200
         1 restored 1 ckpt-200
         2 complete ckpt-305
         3 out ckpt-250
         4 out ckpt-310",
        expect![[r#"
            0 kept ckpt-300 0
            0 kept ckpt-305 0
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"restore","name":"ckpt-200"}
            1 restored 0 ckpt-200
            1 restored 1 ckpt-200
                event {"event":"resumed","checkpoint":"ckpt-200","step":200}
                send {"order":"watch","resume":"ckpt-200"}
                start ranks on n0,n1 from ckpt-200
            2 complete ckpt-305
            3 out ckpt-250
                send {"order":"out","name":"ckpt-250"}
                event {"event":"checkpoint-out","name":"ckpt-250","step":250,"bytes":9,"took_ms":3,"proven":true}
            4 out ckpt-310
                send {"order":"out","name":"ckpt-310"}
                send {"order":"forget","name":"ckpt-300"}
                event {"event":"checkpoint-out","name":"ckpt-310","step":310,"bytes":9,"took_ms":3,"proven":true}
        "#]],
    );
}
