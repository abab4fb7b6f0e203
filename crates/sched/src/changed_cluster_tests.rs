//! A cluster that changes under its jobs: nothing that runs or waits is lost, and what is free is counted
//! by the new one.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::testing::machine;
use crate::{Event, Job, Saved, State};
use cluster_file::ClusterFile;
use model::{JobId, JobState, NodeName, Outcome, Request, Submitter, Timestamp, reason_text};
use resources::{Cluster, Trust};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000);

fn cluster(text: &str) -> Arc<Cluster> {
    let file = ClusterFile::parse("test", text).unwrap();
    Arc::new(Cluster::build(&file, Trust::All))
}

/// Jobs of Ann: what each asks for, in the words of the cluster.
fn state_with(cluster: Arc<Cluster>, cpus: u32, jobs: &[&Request]) -> State {
    let mut state = State::new(cluster, (0..cpus).collect());
    jobs.iter().for_each(|request| submit(&mut state, request));
    state.schedule(NOW);
    state
}

fn submit(state: &mut State, request: &Request) {
    let submitter = Submitter {
        uid: 7,
        user: "ann".to_owned(),
        ..Submitter::default()
    };
    let id = state.new_id();
    state.apply(Event::Submitted {
        record: Box::new(Job::submitted(
            id,
            request.clone(),
            Arc::new(submitter),
            NOW,
        )),
        array: None,
        history: Vec::new(),
        at: NOW,
    });
}

/// Where each job stands, in ascending id.
fn stands(state: &State) -> Vec<String> {
    let each = state.live().map(|record| match &record.state {
        JobState::Running { allocation, .. } => {
            let nodes = allocation.nodes.iter().map(|share| share.node.to_string());
            format!("R {}", nodes.collect::<Vec<_>>().join(","))
        }
        waits => reason_text(waits).into_owned(),
    });
    each.collect()
}

fn end(state: &mut State, job: u32) {
    state.apply(Event::Gone {
        job: JobId(job),
        outcome: Outcome::Completed,
        at: NOW,
    });
    state.schedule(NOW);
}

/// The cluster becomes another one: at once, and where the engine was started anew meanwhile.
#[track_caller]
fn check(before: &State, after: &Arc<Cluster>, cpus: u32, want: &[&str], once_one_ended: &[&str]) {
    let mut changed = before.clone();
    changed.apply(Event::Reconfigured {
        cluster: Arc::clone(after),
        at: NOW,
    });
    let saved = Saved {
        next_id: before.next_id(),
        version: before.version(),
        live: before.live().cloned().collect(),
        ..Saved::default()
    };
    let rebuilt = State::rebuild(Arc::clone(after), (0..cpus).collect(), saved, NOW);
    for mut state in [changed, rebuilt] {
        state.schedule(NOW);
        assert_eq!(stands(&state), want);
        end(&mut state, 1);
        assert_eq!(stands(&state), once_one_ended);
        let first = |state: &State| state.running().next().map(|job| job.id.0);
        while let Some(job) = first(&state) {
            end(&mut state, job);
        }
        let idle = resources::Free::idle(after);
        assert_eq!(*state.free(), idle, "all is given back");
    }
}

fn on(node: &str) -> Request {
    Request::default().with_rare(|rare| rare.nodelist = Arc::new(vec![NodeName::new(node)]))
}

fn cpus(count: u32) -> Request {
    Request {
        tasks: Some(count),
        ..Request::default()
    }
}

#[test]
fn a_node_less_under_running_jobs() {
    let nodes = |names: &str| {
        cluster(&format!(
            "[nodes.n]\nnames = \"{names}\"\ncpus = 2\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n"
        ))
    };
    let whole = cpus(2);
    let before = state_with(nodes("n[1-2]"), 0, &[&whole, &whole, &whole, &on("n2")]);
    assert_eq!(stands(&before), ["R n1", "R n2", "Resources", "Priority"]);
    // What runs on the node goes on; what names it waits for it to come back.
    check(
        &before,
        &nodes("n1"),
        0,
        &["R n1", "R n2", "Resources", "BadConstraints"],
        &["R n2", "R n1", "BadConstraints"],
    );
    check(
        &before,
        &nodes("n[1-3]"),
        0,
        &["R n1", "R n2", "R n3", "Resources"],
        &["R n2", "R n3", "Resources"],
    );
}

#[test]
fn a_limit_lower_than_what_runs() {
    let most = |jobs: u32| {
        cluster(&format!(
            "[nodes.n]\nnames = \"n1\"\ncpus = 8\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
             [qos.normal]\nmax_jobs_per_user = {jobs}\n"
        ))
    };
    let one = Request {
        qos: Some("normal".to_owned()),
        ..cpus(1)
    };
    let before = state_with(most(2), 0, &[&one, &one, &one]);
    let waits = "QOSMaxJobsPerUserLimit";
    assert_eq!(stands(&before), ["R n1", "R n1", waits]);
    check(
        &before,
        &most(1),
        0,
        &["R n1", "R n1", waits],
        &["R n1", waits],
    );
    check(&before, &most(3), 0, &["R n1"; 3], &["R n1"; 2]);
}

#[test]
fn an_account_that_is_gone() {
    let with = |accounts: &str| {
        cluster(&format!(
            "[nodes.n]\nnames = \"n1\"\ncpus = 8\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n{accounts}"
        ))
    };
    let account = "[account.lab]\nmax_jobs = 1\n[user.ann]\naccounts = [\"lab\"]\n";
    let one = Request {
        account: Some("lab".to_owned()),
        ..cpus(1)
    };
    let before = state_with(with(account), 0, &[&one, &one]);
    assert_eq!(stands(&before), ["R n1", "AssocMaxJobsLimit"]);
    check(&before, &with(""), 0, &["R n1", "R n1"], &["R n1"]);
}

#[test]
fn a_machine_that_shrank() {
    let before = state_with(machine(4), 4, &[&cpus(4), &cpus(4), &cpus(1)]);
    let runs = stands(&before).remove(0);
    assert_eq!(stands(&before)[1..], ["Resources", "Priority"]);
    check(
        &before,
        &machine(2),
        2,
        &[&runs, "BadConstraints", "Resources"],
        &["BadConstraints", &runs],
    );
}

/// Accounts that are above themselves are each met once, by jobs and by limits.
#[test]
fn an_account_below_itself() {
    let text = "[nodes.n]\nnames = \"n1\"\ncpus = 8\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n\
        [account.a]\nparent = \"b\"\ngroup_jobs = 1\n[account.b]\nparent = \"a\"\n\
        [user.ann]\naccounts = [\"b\"]\n[priority]\nfair_share = 1000\n";
    let one = cpus(1);
    let mut state = state_with(cluster(text), 0, &[&one, &one]);
    assert_eq!(stands(&state), ["R n1", "AssocGrpJobsLimit"]);
    end(&mut state, 1);
    assert_eq!(stands(&state), ["R n1"]);
}

/// The first of 100,000 fails, and each of the others would never start: all end, without recursion.
#[test]
fn a_hundred_thousand_dependencies_in_a_chain_that_fails() {
    let mut state = state_with(machine(1), 1, &[&cpus(1)]);
    for former in 1..100_000 {
        let request = cpus(1).with_rare(|rare| {
            rare.dependency = Some(format!("afterok:{former}"));
            rare.kill_on_invalid_dep = Some(true);
        });
        submit(&mut state, &request);
    }
    state.apply(Event::Gone {
        job: JobId(1),
        outcome: Outcome::NodeFail,
        at: NOW,
    });
    state.schedule(NOW);
    assert_eq!(
        (state.live().count(), state.take_changes().ended.len()),
        (0, 100_000)
    );
}
