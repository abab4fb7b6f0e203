//! Jobs as tables: what happens on the left, what the conductor does on the right.

mod comeback;
mod copying;
mod disk;
mod ends;
mod gathering;
mod hanging;
mod histories;
mod life;
mod losing;
mod rescuing;
mod trainings;

use super::*;
use crate::protocol::{Copying, DiskId, Progress};
use expect_test::Expect;
use folder::KnownCheckpoint;

/// A job of 100 s with two seconds of each part of the grace: warn at 90 s, stop 95, kill 97,
/// leave 99, end 100.
fn facts() -> Facts {
    let at = |seconds: i64| Timestamp(seconds * 1000);
    Facts {
        nodes: 1,
        deadlines: Some(Deadlines {
            warn: at(90),
            stop: at(95),
            kill: at(97),
            leave: at(99),
            end: at(100),
        }),
        hello_by: at(60),
        stage: false,
        checkpoints: WholeCheckpoints::default(),
        comeback: Comeback {
            after_limit: true,
            after_loss: true,
            by: ResumeBy::Requeue,
            may_submit: true,
            successor: None,
        },
        notify: false,
        stuck_before: 0,
        lost_before: 0,
        own_checkpoints: false,
        trained: false,
        keep_all: true,
        by_marker: false,
        kill_wait: Duration::from_secs(30),
        node_folder: "/tmp/node/checkpoints".into(),
        on_this_machine: false,
        grace: Duration::from_secs(60),
        on_hang: train::OnHang::Log,
    }
}

fn with_checkpoints(facts: Facts) -> Facts {
    let known = |step: u64| KnownCheckpoint::named(&format!("ckpt-{step}"));
    Facts {
        checkpoints: WholeCheckpoints::new(vec![known(200), known(100)]),
        ..facts
    }
}

/// One line of a script: `<second> <what happens>`.
fn event(words: &[&str]) -> StateEvent {
    let name = |at: usize| words[at].to_owned();
    let agent = |at: usize| words.get(at).map_or(0, |agent| agent.parse().unwrap());
    match words[0] {
        "tick" => StateEvent::Tick,
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
            StateEvent::Report(agent, report)
        }
        "staged" => StateEvent::Report(words[1].parse().unwrap(), Report::Staged),
        "not-staged" => StateEvent::Report(
            words[1].parse().unwrap(),
            Report::NotStaged {
                why: "no.tar is not there".to_owned(),
            },
        ),
        "restored" => StateEvent::Report(
            words[1].parse().unwrap(),
            Report::Restored { name: name(2) },
        ),
        "not-restored" => {
            let report = Report::NotRestored {
                name: name(2),
                why: "hashes differ".into(),
                is_damaged: true,
            };
            StateEvent::Report(words[1].parse().unwrap(), report)
        }
        "complete" => {
            let bytes = words.get(2).map_or(9, |bytes| bytes.parse().unwrap());
            let name = name(1);
            let written = None;
            let report = Report::Complete {
                name,
                bytes,
                written,
            };
            StateEvent::Report(0, report)
        }
        "part" => {
            let report = Report::Part {
                name: name(1),
                incoming: "i".into(),
                bytes: 9,
                took_ms: 3,
                proven: true,
                start: None,
                written: None,
            };
            StateEvent::Report(agent(2), report)
        }
        "writes" => StateEvent::Report(words[1].parse().unwrap(), Report::Writes),
        "no-part" => StateEvent::Report(agent(2), Report::NoPart { name: name(1) }),
        "full" | "refused" => StateEvent::Report(
            0,
            Report::NotCopied {
                name: name(1),
                why: "disk full".into(),
                again: true,
                disk: words[0] == "full",
            },
        ),
        "kept" => StateEvent::Report(
            agent(2),
            Report::Kept {
                name: name(1),
                written: None,
                bytes: None,
                start: None,
            },
        ),
        "quiet" => StateEvent::Quiet {
            quiet: Duration::from_secs(words[1].parse().unwrap()),
        },
        "stack" => StateEvent::Report(
            0,
            Report::Stack(crate::rank_stack::RankStack {
                rank: words[1].parse().unwrap(),
                standing: serde_json::from_str(&format!("{:?}", words[2])).unwrap(),
                place: name(3),
            }),
        ),
        "looked" => StateEvent::Report(words[1].parse().unwrap(), Report::Looked),
        "disk" => StateEvent::DiskRefuses {
            cause: "no room".into(),
        },
        "out" | "out-of-one" => {
            let mut known = KnownCheckpoint {
                bytes: Some(9),
                proven: true,
                ..KnownCheckpoint::named(words[1])
            };
            if words[0] == "out-of-one" {
                known.parts = crate::conductor::copies::PartsAsked {
                    least: 1,
                    of: 2,
                    unconfirmed: true,
                }
                .parts_of(vec!["n0".to_owned()]);
            }
            StateEvent::Published {
                name: name(1),
                result: Ok(Out { known, took_ms: 3 }),
            }
        }
        "drained" => StateEvent::Report(
            0,
            Report::Drained {
                round: words[1].parse().unwrap(),
            },
        ),
        "ranks" => {
            let status: i32 = words[1].parse().unwrap();
            let first_failed = (status != 0).then_some((1, status));
            StateEvent::RanksEnded {
                exited: false,
                status,
                first_failed,
                lost: false,
                cause: format!("rank 1 ended with {status}"),
            }
        }
        "finished" => StateEvent::Report(words[1].parse().unwrap(), Report::Finished),
        "agents" => StateEvent::AgentsEnded(words[1].parse().unwrap()),
        "wrapper-killed" => StateEvent::RanksEnded {
            exited: false,
            status: 137,
            first_failed: None,
            lost: true,
            cause: "rank 1 could not say why".to_owned(),
        },
        "term" => StateEvent::Terminated,
        "unexplained" => StateEvent::CancelCause(CancelCause::default()),
        "node-lost" => StateEvent::CancelCause(CancelCause {
            lost_nodes: vec![name(1)],
            ..CancelCause::default()
        }),
        "agent-killed" => StateEvent::AgentsLost(crate::srun_words::SrunLoss::Tasks {
            tasks: vec![words[1].parse().unwrap()],
            nodes: format!("n{}", words[1]),
            how: "Killed".to_owned(),
        }),
        "saving" => {
            let [bytes, of] = [words[2], words[3]].map(|text| text.parse().unwrap());
            let (kind, name) = (Copying::Save, name(1));
            let progress = Some(Progress {
                kind,
                name,
                bytes,
                of,
            });
            StateEvent::Report(0, Report::Alive { progress })
        }
        "alive" => StateEvent::Report(words[1].parse().unwrap(), Report::Alive { progress: None }),
        "drained-by" => StateEvent::Report(
            words[1].parse().unwrap(),
            Report::Drained {
                round: words[2].parse().unwrap(),
            },
        ),
        "cancelled" | "preempted" | "timeout" => StateEvent::CancelCause(CancelCause {
            reason: Some(match words[0] {
                "cancelled" => StopReason::Cancelled,
                "preempted" => StopReason::Preempted,
                _ => StopReason::Limit,
            }),
            until: words
                .get(1)
                .map(|second| Timestamp(second.parse::<i64>().unwrap() * 1000)),
            lost_nodes: Vec::new(),
        }),
        "waits" => StateEvent::SuccessorSubmitted(Ok(words[1].parse().unwrap())),
        "no-successor" => StateEvent::SuccessorSubmitted(Err("sbatch says no".into())),
        "requeued" => StateEvent::Requeued(Ok(())),
        "not-requeued" => StateEvent::Requeued(Err("requeue is off".into())),
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
        Effect::Publish {
            name, parts, merge, ..
        } => {
            format!("publish {name}: {} parts, merge {merge}", parts.len())
        }
        other => format!("{other:?}"),
    }
}

/// All that a job's script brings about, from the agents' start on.
#[track_caller]
fn check(facts: Facts, script: &str, want: Expect) {
    let mut state = ConductorState::new(facts);
    let begun: String = state.begin().iter().map(line_of).collect();
    want.assert_eq(&format!("{begun}{}", played(&mut state, script)));
}

/// What a script brings about in a job of one node whose ranks have started at second 0, from its
/// first checkpoint where it has one.
#[track_caller]
fn check_running(facts: Facts, script: &str, want: Expect) {
    let resumed = facts
        .checkpoints
        .candidates(Vec::new())
        .first()
        .map(|best| best.known.name.clone());
    let mut state = ConductorState::new(facts);
    let _ = state.begin();
    let restored = resumed.map(|name| format!("0 restored 0 {name}"));
    let started = played(
        &mut state,
        &format!("0 hello 0\n{}", restored.unwrap_or_default()),
    );
    assert!(started.contains("start ranks"), "{started}");
    want.assert_eq(&played(&mut state, script));
}

/// Each line of a script, and below it what the conductor does.
fn played(state: &mut ConductorState, script: &str) -> String {
    let mut text = String::new();
    let lines = script.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let seconds: f64 = words[0].parse().unwrap();
        #[expect(clippy::cast_possible_truncation, reason = "small test numbers")]
        let now = Timestamp((seconds * 1000.0) as i64);
        text.push_str(&format!("{line}\n"));
        for effect in state.handle(event(&words[1..]), now) {
            text.push_str(&line_of(&effect));
        }
    }
    text
}

fn line_of(effect: &Effect) -> String {
    format!("    {}\n", render(effect))
}
