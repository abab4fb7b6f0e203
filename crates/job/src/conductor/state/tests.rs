//! Whole jobs as tables: what happens on the left, what the conductor does on the right.

use super::*;
use expect_test::{Expect, expect};

/// A job of 100 s with two seconds of each part of the grace: warn at 90 s, stop 95, kill 97,
/// leave 99.
fn facts() -> Facts {
    let at = |seconds: i64| Timestamp(seconds * 1000);
    Facts {
        nodes: 1,
        deadlines: Some(Deadlines {
            warn: at(90),
            stop: at(95),
            kill: at(97),
            leave: at(99),
        }),
        hello_by: at(60),
        stage: false,
        checkpoints: vec![],
        requeue: true,
        notify: false,
        stuck_before: 0,
        node_folder: "/tmp/node/checkpoints".into(),
    }
}

fn with_checkpoints(facts: Facts) -> Facts {
    let known = |step| Known {
        name: format!("ckpt-{step}"),
        step: Some(step),
    };
    Facts {
        checkpoints: vec![known(200), known(100)],
        ..facts
    }
}

/// One line of a script: `<second> <what happens>`.
fn happening(words: &[&str]) -> Happening {
    let name = |at: usize| words[at].to_owned();
    match words[0] {
        "tick" => Happening::Tick,
        "hello" | "hello-same-disk" => {
            let agent: u32 = words[1].parse().unwrap();
            let inode = if words[0] == "hello" {
                u64::from(agent)
            } else {
                0
            };
            let disk = DiskId {
                boot_id: "boot".into(),
                device: 1,
                inode,
            };
            let node = format!("n{agent}");
            let report = Report::Hello {
                node,
                node_index: agent,
                disk,
                address: "::1".into(),
                port: 4000,
            };
            Happening::Said(agent, report)
        }
        "staged" => Happening::Staged(Ok(())),
        "restored" => Happening::Said(
            words[1].parse().unwrap(),
            Report::Restored { name: name(2) },
        ),
        "not-restored" => {
            let report = Report::NotRestored {
                name: name(2),
                why: "hashes differ".into(),
            };
            Happening::Said(words[1].parse().unwrap(), report)
        }
        "complete" => Happening::Said(0, Report::Complete { name: name(1) }),
        "part" => {
            let report = Report::Part {
                name: name(1),
                incoming: "i".into(),
                bytes: 9,
                took_ms: 3,
                proven: true,
            };
            Happening::Said(0, report)
        }
        "full" => Happening::Said(
            0,
            Report::NotCopied {
                name: name(1),
                why: "disk full".into(),
            },
        ),
        "out" => {
            let step = name(1)
                .rsplit('-')
                .next()
                .and_then(|step| step.parse().ok());
            Happening::Published {
                name: name(1),
                result: Ok(Out {
                    step,
                    bytes: 9,
                    took_ms: 3,
                    proven: true,
                }),
            }
        }
        "drained" => Happening::Said(
            0,
            Report::Drained {
                round: words[1].parse().unwrap(),
            },
        ),
        "ranks" => {
            let status: i32 = words[1].parse().unwrap();
            let first_failed = (status != 0).then_some((1, status));
            Happening::RanksEnded {
                status,
                first_failed,
                cause: format!("rank 1 ended with {status}"),
            }
        }
        "agents" => Happening::AgentsEnded(words[1].parse().unwrap()),
        "term" => Happening::Terminated,
        "requeued" => Happening::Requeued(Ok(())),
        "not-requeued" => Happening::Requeued(Err("requeue is off".into())),
        other => panic!("{other}"),
    }
}

fn render(effect: &Effect) -> String {
    match effect {
        Effect::Send(order) => format!("send {}", order.line().trim()),
        Effect::Record(event) => format!("event {}", serde_json::to_string(event).unwrap()),
        Effect::StartRanks { hellos, resume } => {
            let resume = resume
                .as_ref()
                .map_or("nothing", |known| known.name.as_str());
            let nodes: Vec<&str> = hellos.iter().map(|hello| hello.node.as_str()).collect();
            format!("start ranks on {} from {resume}", nodes.join(","))
        }
        Effect::Publish { name, parts, merge } => {
            format!("publish {name}: {} parts, merge {merge}", parts.len())
        }
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn check(facts: Facts, script: &str, want: Expect) {
    let mut state = ConductorState::new(facts);
    let mut lines = String::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let seconds: f64 = words[0].parse().unwrap();
        #[expect(clippy::cast_possible_truncation, reason = "small test numbers")]
        let now = Timestamp((seconds * 1000.0) as i64);
        lines.push_str(line);
        lines.push('\n');
        for effect in state.handle(happening(&words[1..]), now) {
            lines.push_str(&format!("    {}\n", render(&effect)));
        }
    }
    want.assert_eq(&lines);
}

#[test]
fn runs_to_the_end() {
    check(
        facts(),
        "0 hello 0
         5 complete ckpt-1
         5 part ckpt-1
         5 out ckpt-1
         9 ranks 0
         9 drained 1
         9 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            5 complete ckpt-1
                send {"order":"copy","name":"ckpt-1","from":[0]}
            5 part ckpt-1
                publish ckpt-1: 1 parts, merge false
            5 out ckpt-1
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
                event {"event":"checkpoint-out","name":"ckpt-250","step":250,"bytes":9,"took_ms":3,"proven":true}
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.2 complete ckpt-300
                send {"order":"copy","name":"ckpt-300","from":[0]}
            90.2 drained 1
            90.3 part ckpt-300
                publish ckpt-300: 1 parts, merge false
            90.3 out ckpt-300
                event {"event":"checkpoint-out","name":"ckpt-300","step":300,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"signal","kill":false}
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
    check(
        facts(),
        "0 hello 0
         90 tick
         95 tick
         97 tick
         97.1 ranks 137
         99 tick
         99 tick",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            95 tick
                send {"order":"signal","kill":false}
            97 tick
                send {"order":"signal","kill":true}
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
fn a_program_that_is_told_may_end_well_and_still_comes_back() {
    check(
        Facts {
            notify: true,
            ..facts()
        },
        "0 hello 0
         90 tick
         90.1 drained 1
         91 complete ckpt-7
         91 part ckpt-7
         91 out ckpt-7
         91.5 ranks 0
         91.6 drained 2
         91.7 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"notify"}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
            91 complete ckpt-7
                send {"order":"copy","name":"ckpt-7","from":[0]}
            91 part ckpt-7
                publish ckpt-7: 1 parts, merge false
            91 out ckpt-7
                event {"event":"checkpoint-out","name":"ckpt-7","step":7,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"signal","kill":false}
            91.5 ranks 0
                event {"event":"ranks-ended","status":0,"first_failed":null}
                send {"order":"drain","round":2,"until":96500,"ranks_gone":true,"finished":false}
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
    check(
        facts(),
        "0 hello 0
         90 tick
         90.1 ranks 0
         90.2 drained 2
         90.3 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
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
                send {"order":"restore","name":"ckpt-100"}
            2 not-restored 0 ckpt-100
                event {"event":"note","text":"checkpoint ckpt-100 can't be resumed from: hashes differ"}
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
fn a_full_disk_does_not_stop_the_training() {
    check(
        facts(),
        "0 hello 0
         5 complete ckpt-1
         5 full ckpt-1
         6 complete ckpt-2
         6 part ckpt-2",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
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

#[test]
fn a_rank_that_fails_ends_the_job_with_its_code() {
    check(
        facts(),
        "0 hello 0
         9 ranks 3
         9 drained 1
         9 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
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

#[test]
fn cancelled_or_preempted() {
    check(
        facts(),
        "0 hello 0
         9 term
         9.1 ranks 143
         9.2 complete ckpt-5
         9.2 drained 2
         9.3 part ckpt-5
         9.4 out ckpt-5
         9.5 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            9 term
                event {"event":"stopping","reason":"cancelled","left":22}
                send {"order":"drain","round":1,"until":21500,"ranks_gone":false,"finished":false}
            9.1 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":14100,"ranks_gone":true,"finished":false}
            9.2 complete ckpt-5
                send {"order":"copy","name":"ckpt-5","from":[0]}
            9.2 drained 2
            9.3 part ckpt-5
                publish ckpt-5: 1 parts, merge false
            9.4 out ckpt-5
                event {"event":"checkpoint-out","name":"ckpt-5","step":5,"bytes":9,"took_ms":3,"proven":true}
                send {"order":"finish","clean":true}
            9.5 agents 0
                Exit(143)
        "#]],
    );
    check(
        facts(),
        "0 term\n10 tick",
        expect![[r#"
        0 term
            event {"event":"stopping","reason":"cancelled","left":22}
            send {"order":"finish","clean":false}
        10 tick
            Exit(143)
    "#]],
    );
}

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
                event {"event":"checkpoint-out","name":"ckpt-100","step":100,"bytes":9,"took_ms":3,"proven":true}
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"signal","kill":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"failed","cause":"2 jobs in a row reached their time limit without a new checkpoint; ask for more time or save more often, and see that the program resumes from {resume}","status":null}
                Exit(1)
        "#]],
    );
}

#[test]
fn what_can_not_come_back_says_so() {
    let script = "0 hello 0
         90 tick
         90.1 drained 1
         90.2 ranks 143
         90.2 drained 2
         90.3 agents 0
         90.4 not-requeued";
    check(
        facts(),
        script,
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"signal","kill":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"coming-back","how":"requeue"}
                Requeue
            90.4 not-requeued
                event {"event":"failed","cause":"the time limit came and the job could not be requeued: requeue is off; checkpoints are out, submit the run again","status":null}
                Exit(1)
        "#]],
    );
    check(
        Facts {
            requeue: false,
            ..facts()
        },
        script,
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
            90 tick
                event {"event":"stopping","reason":"limit","left":9}
                send {"order":"drain","round":1,"until":95000,"ranks_gone":false,"finished":false}
            90.1 drained 1
                send {"order":"signal","kill":false}
            90.2 ranks 143
                event {"event":"ranks-ended","status":143,"first_failed":[1,143]}
                send {"order":"drain","round":2,"until":95200,"ranks_gone":true,"finished":false}
            90.2 drained 2
                send {"order":"finish","clean":true}
            90.3 agents 0
                event {"event":"failed","cause":"the time limit came, and [resume] on does not name \"timeout\"","status":null}
                Exit(1)
            90.4 not-requeued
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
                send {"order":"finish","clean":false}
            70 tick
                event {"event":"failed","cause":"2 agents were started, 1 said hello; the conductor's log has what srun said","status":1}
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
                AbortRanks
                send {"order":"finish","clean":false}
                event {"event":"failed","cause":"the agents' step ended with 1 before the training did; the conductor's log has what srun said","status":1}
                Exit(1)
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
        "0 hello 0\n5 staged",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                Stage
            5 staged
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
        "#]],
    );
}

#[test]
fn a_job_without_a_limit() {
    check(
        Facts {
            deadlines: None,
            ..facts()
        },
        "0 hello 0
         9 ranks 0
         9 drained 1
         9 agents 0",
        expect![[r#"
            0 hello 0
                send {"order":"roles","copiers":[0]}
                send {"order":"watch","resume":null}
                start ranks on n0 from nothing
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
