//! One of several nodes, or one of several agents, is lost.

use super::*;
use expect_test::expect;

fn two_nodes() -> Facts {
    Facts {
        nodes: 2,
        deadlines: None,
        ..facts()
    }
}

const STARTED: &str = "0 hello 0
    0 hello 1";

/// The cluster ends the job for it: the loss is written down, and what the other node has is not
/// waited for from both.
#[test]
fn a_job_that_ends_with_a_node_was_lost() {
    check(
        two_nodes(),
        &format!(
            "{STARTED}
             9 term
             9.1 node-lost n1
             9.2 ranks 143
             9.3 drained-by 0 2
             9.4 finished 0"
        ),
        expect![[r#"
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"watch","resume":null}
                start ranks on n0,n1 from nothing
            9 term
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9.1 node-lost n1
                event {"event":"stopping","reason":"node-lost","left":25}
                event {"event":"lost","cause":"node n1 was lost"}
            9.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":14200,"ranks_gone":true,"finished":false}
                send {"order":"finish","clean":true}
            9.3 drained-by 0 2
            9.4 finished 0
                event {"event":"terminated","reason":"node-lost"}
                Exit(143)
        "#]],
    );
}

/// An agent that was killed alone: fresh ones take the place of all.
#[test]
fn an_agent_that_is_killed_alone() {
    check(
        two_nodes(),
        &format!(
            "{STARTED}
             9 agent-killed 1
             9.1 hello 0
             9.1 hello 1
             9.2 ranks 143
             9.3 drained-by 0 1
             9.3 drained-by 1 1
             9.4 agents 0"
        ),
        expect![[r#"
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"watch","resume":null}
                start ranks on n0,n1 from nothing
            9 agent-killed 1
                event {"event":"lost","cause":"the agent on n1 was lost: Killed"}
                AbortRanks
                StartAgents
            9.1 hello 0
            9.1 hello 1
                send {"order":"kill"}
            9.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"roles","copiers":[0,1]}
                send {"order":"rescue"}
                send {"order":"drain","round":1,"until":14200,"ranks_gone":true,"finished":false}
            9.3 drained-by 0 1
            9.3 drained-by 1 1
                send {"order":"finish","clean":true}
            9.4 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
        "#]],
    );
}

#[test]
fn an_agent_that_says_nothing_any_more() {
    check(
        two_nodes(),
        &format!(
            "{STARTED}
             50 alive 0
             90 tick"
        ),
        expect![[r#"
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"watch","resume":null}
                start ranks on n0,n1 from nothing
            50 alive 0
            90 tick
                event {"event":"lost","cause":"the agent on n1 was not heard of for 90 s"}
                AbortRanks
                StartAgents
        "#]],
    );
    // This process stood still itself.
    check(
        two_nodes(),
        &format!(
            "{STARTED}
             200 tick
             201 alive 0
             201 alive 1"
        ),
        expect![[r#"
            0 hello 0
            0 hello 1
                send {"order":"roles","copiers":[0,1]}
                send {"order":"watch","resume":null}
                start ranks on n0,n1 from nothing
            200 tick
            201 alive 0
            201 alive 1
        "#]],
    );
}
