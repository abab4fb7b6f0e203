//! What `scontrol show job` prints, line by line.

use crate::jobs::{NOW, allocation, facts, held_job};
use expect_test::{Expect, expect};
use model::{
    ArrayPlace, ArraySpec, ArrayTask, GpuCount, JobId, JobInfo, JobRecord, JobState, MailEvent,
    MemoryRequest, NodeOptions, Outcome, PendingReason, Ran, RareOptions, Request, Seconds,
    ShowStyle, Timestamp, WaitStatus, show_job,
};
use std::sync::Arc;

#[track_caller]
fn check(job: &JobRecord, style: ShowStyle, want: Expect) {
    want.assert_eq(&shown(job, style).replace(" \n", "·\n"));
}

fn shown(job: &JobRecord, style: ShowStyle) -> String {
    let mut text = String::new();
    show_job(&mut text, &JobInfo::of(job, &facts()), style);
    text
}

#[test]
fn a_held_job() {
    check(
        &held_job(12),
        ShowStyle::default(),
        expect![[r#"
        JobId=12 JobName=fmtjob
           UserId=dave(1005) GroupId=dave(1005) MCS_label=N/A
           Priority=0 Nice=5 Account=proj1 QOS=normal
           JobState=PENDING Reason=JobHeldUser Dependency=(null)
           Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
           RunTime=00:00:00 TimeLimit=01:03:00 TimeMin=N/A
           SubmitTime=2023-11-14T22:13:20 EligibleTime=Unknown
           AccrueTime=Unknown
           StartTime=Unknown EndTime=Unknown Deadline=N/A
           SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main
           Partition=gpu AllocNode:Sid=host:0
           ReqNodeList=(null) ExcNodeList=(null)
           NodeList=
           NumNodes=1-1 NumCPUs=4 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
           TRES=cpu=4,mem=400M,node=1,billing=4,gres/gpu=1
           Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
           MinCPUsNode=2 MinMemoryCPU=100M MinTmpDiskNode=0
           Features=v100 DelayBoot=00:00:00
           OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
           Command=(null)
           WorkDir=/home/dave/golden
           Comment=cm·
           StdErr=/dev/null
           StdIn=/dev/null
           StdOut=/dev/null
           Power=
           TresPerNode=gres:gpu:1
          ·

    "#]],
    );
}

/// As `sbatch -n10 --ntasks-per-node=3` on 22.05.8.
#[test]
fn a_running_job_has_the_tasks_of_each_node_on_all() {
    let mut job = held_job(14);
    let request = Arc::make_mut(&mut job.request);
    (request.tasks, request.tasks_per_node) = (Some(10), Some(3));
    job.state = JobState::Running {
        since: NOW,
        allocation: allocation(4, &[0, 1, 2], &[]),
        limit: None,
        ending: None,
        suspension: None,
        held: None,
        end_moved_ms: 0,
    };
    let shown = shown(&job, ShowStyle::default());
    assert!(shown.contains("NumCPUs=12 NumTasks=12 "), "{shown}");
}

#[test]
fn a_running_job_with_its_holdings() {
    let mut job = held_job(13);
    job.eligible = Some(NOW);
    job.restarts = 1;
    Arc::make_mut(&mut job.submitter).command = Some("/home/dave/job.sh".to_owned());
    Arc::make_mut(&mut job.request).output = Some("logs/%x-%j.out".to_owned());
    Arc::make_mut(&mut job.request).memory = Some(MemoryRequest::PerNode(2048));
    Arc::make_mut(&mut job.request).min_nodes = Some(2);
    Arc::make_mut(&mut job.request).gpus_per_node = Some(GpuCount {
        kind: Some("v100".to_owned()),
        count: 2,
    });
    Arc::make_mut(&mut job.request).rare.mail_types = vec![MailEvent::End, MailEvent::Fail];
    job.state = JobState::Running {
        since: Timestamp(NOW.0 - 93_784_000),
        allocation: allocation(2, &[0, 1, 4], &[0, 1]),
        limit: Some(Seconds(100_000)),
        ending: None,
        suspension: None,
        held: None,
        end_moved_ms: 0,
    };
    let details = ShowStyle {
        details: true,
        ..ShowStyle::default()
    };
    check(
        &job,
        details,
        expect![[r#"
            JobId=13 JobName=fmtjob
               UserId=dave(1005) GroupId=dave(1005) MCS_label=N/A
               Priority=0 Nice=5 Account=proj1 QOS=normal
               JobState=RUNNING Reason=None Dependency=(null)
               Requeue=1 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=0:0
               DerivedExitCode=0:0
               RunTime=1-02:03:04 TimeLimit=1-03:46:40 TimeMin=N/A
               SubmitTime=2023-11-14T22:13:20 EligibleTime=Unknown
               AccrueTime=2023-11-14T22:13:20
               StartTime=2023-11-13T20:10:16 EndTime=2023-11-14T23:56:56 Deadline=N/A
               SuspendTime=None SecsPreSuspend=0 LastSchedEval=2023-11-13T20:10:16 Scheduler=Main
               Partition=gpu AllocNode:Sid=host:0
               ReqNodeList=(null) ExcNodeList=(null)
               NodeList=node[1-2]
               BatchHost=node1
               NumNodes=2 NumCPUs=6 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
               TRES=cpu=6,mem=400M,node=2,billing=6,gres/gpu=4,gres/gpu:v100=4
               Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
               JOB_GRES=gpu:v100:4
                 Nodes=node[1-2] CPU_IDs=0-1,4 Mem=200 GRES=gpu:v100:2(IDX:0-1)
               MinCPUsNode=2 MinMemoryNode=2G MinTmpDiskNode=0
               Features=v100 DelayBoot=00:00:00
               OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
               Command=/home/dave/job.sh
               WorkDir=/home/dave/golden
               Comment=cm·
               StdErr=/home/dave/golden/logs/fmtjob-13.out
               StdIn=/dev/null
               StdOut=/home/dave/golden/logs/fmtjob-13.out
               Power=
               TresPerNode=gres:gpu:v100:2
               MailUser=dave MailType=END,FAIL
              ·

        "#]],
    );
}

#[test]
fn an_array_that_waits_for_others_on_one_line() {
    let mut job = held_job(20);
    job.dependency =
        Some("afterok:3(unfulfilled),afterok:4(unfulfilled),singleton(unfulfilled)".to_owned());
    Arc::make_mut(&mut job.request).output = None;
    Arc::make_mut(&mut job.request).rare.comment = None;
    job.state = JobState::Pending {
        reason: PendingReason::Dependency,
    };
    job.array = Some(ArrayPlace {
        array_job: JobId(20),
        throttle: Some(3),
        task: ArrayTask::Waiting(ArraySpec {
            indices: vec![0, 5, 10, 15, 20],
            step: 1,
            throttle: Some(3),
        }),
    });
    let line = ShowStyle {
        one_line: true,
        ..ShowStyle::default()
    };
    check(
        &job,
        line,
        expect![[r#"
        JobId=20 ArrayJobId=20 ArrayTaskId=0,5,10,15,20%3 ArrayTaskThrottle=3 JobName=fmtjob UserId=dave(1005) GroupId=dave(1005) MCS_label=N/A Priority=0 Nice=5 Account=proj1 QOS=normal JobState=PENDING Reason=Dependency Dependency=afterok:3(unfulfilled),afterok:4(unfulfilled),singleton(unfulfilled) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:00 TimeLimit=01:03:00 TimeMin=N/A SubmitTime=2023-11-14T22:13:20 EligibleTime=Unknown AccrueTime=Unknown StartTime=Unknown EndTime=Unknown Deadline=N/A SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main Partition=gpu AllocNode:Sid=host:0 ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1-1 NumCPUs=4 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:* TRES=cpu=4,mem=400M,node=1,billing=4,gres/gpu=1 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=2 MinMemoryCPU=100M MinTmpDiskNode=0 Features=v100 DelayBoot=00:00:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) Command=(null) WorkDir=/home/dave/golden StdErr=/home/dave/golden/slurm-20_4294967294.out StdIn=/dev/null StdOut=/home/dave/golden/slurm-20_4294967294.out Power= TresPerNode=gres:gpu:1·
    "#]],
    );
}

#[test]
fn an_allocation_that_was_killed() {
    let mut job = held_job(30);
    job.batch = false;
    Arc::make_mut(&mut job.request).output = None;
    job.state = JobState::Ended {
        outcome: Outcome::Failed {
            status: WaitStatus::signal(11),
        },
        at: NOW,
        ran: Some(Ran {
            since: Timestamp(NOW.0 - 5000),
            allocation: allocation(1, &[0], &[]),
            limit: None,
            suspended_ms: 0,
        }),
    };
    check(
        &job,
        ShowStyle::default(),
        expect![[r#"
            JobId=30 JobName=fmtjob
               UserId=dave(1005) GroupId=dave(1005) MCS_label=N/A
               Priority=0 Nice=5 Account=proj1 QOS=normal
               JobState=FAILED Reason=JobLaunchFailure Dependency=(null)
               Requeue=1 Restarts=0 BatchFlag=0 Reboot=0 ExitCode=0:11
               RunTime=00:00:05 TimeLimit=UNLIMITED TimeMin=N/A
               SubmitTime=2023-11-14T22:13:20 EligibleTime=Unknown
               AccrueTime=Unknown
               StartTime=2023-11-14T22:13:15 EndTime=2023-11-14T22:13:20 Deadline=N/A
               SuspendTime=None SecsPreSuspend=0 LastSchedEval=2023-11-14T22:13:15 Scheduler=Main
               Partition=gpu AllocNode:Sid=host:0
               ReqNodeList=(null) ExcNodeList=(null)
               NodeList=node1
               BatchHost=node1
               NumNodes=1 NumCPUs=1 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
               TRES=cpu=1,mem=200M,node=1,billing=1
               Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
               MinCPUsNode=2 MinMemoryCPU=100M MinTmpDiskNode=0
               Features=v100 DelayBoot=00:00:00
               OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
               Command=(null)
               WorkDir=/home/dave/golden
               Comment=cm·
               Power=
               TresPerNode=gres:gpu:1
              ·

        "#]],
    );
}

#[test]
fn no_value_makes_a_line_of_its_own() {
    let mut job = held_job(12);
    Arc::make_mut(&mut job.request).name = "x\n   UserId=root(0)\x1b[2J".to_owned();
    Arc::make_mut(&mut job.request).rare.comment = Some("a\rb".to_owned());
    let text = shown(&job, ShowStyle::default());
    assert!(text.starts_with("JobId=12 JobName=x\\n   UserId=root(0)\\x1b[2J\n   UserId=dave"));
    assert!(text.contains("Comment=a\\rb"));
}

/// A job that waits shows the nodes that the scheduler found for it.
#[test]
fn a_job_that_spreads_waits_for_as_many_nodes_as_it_has_tasks() {
    #[track_caller]
    fn check(least: u32, most: Option<u32>, tasks: u32, want: u32) {
        let mut job = held_job(1);
        job.state = JobState::Pending {
            reason: PendingReason::Resources,
        };
        let request = Request {
            min_nodes: Some(least),
            max_nodes: most,
            tasks: Some(tasks),
            rare: RareOptions {
                node_options: Some(Box::new(NodeOptions {
                    spread: true,
                    ..NodeOptions::default()
                })),
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        };
        job.request = Arc::new(request);
        assert_eq!(JobInfo::of(&job, &facts()).node_count, want);
    }
    check(1, Some(3), 3, 3);
    check(1, Some(3), 9, 3);
    check(1, None, 3, 3);
    check(1, None, 9, 4);
    check(2, Some(2), 9, 2);
}

/// As recorded of 22.05.8: `squeue` and `scontrol` show all that it named, and accounting the one that it is in.
#[test]
fn a_job_that_named_several_reservations() {
    let check = |asked: Option<&str>, own: Option<&str>, shown: Option<&str>| {
        let mut job = held_job(14);
        job.reservation = own.map(str::to_owned);
        Arc::make_mut(&mut job.request).rare.reservation = asked.map(str::to_owned);
        let info = JobInfo::of(&job, &facts());
        assert_eq!(info.reservation.as_deref(), shown, "{asked:?} {own:?}");
        assert_eq!(info.counted_reservation.as_deref(), own);
    };
    check(Some("r,s"), Some("r"), Some("r,s"));
    check(Some("r,s"), Some("r,s"), Some("r,s"));
    check(Some("r"), Some("r"), Some("r"));
    check(None, None, None);
    // What drew it, or was named later, is none of those.
    check(None, Some("magnet"), Some("magnet"));
    check(Some("r,s"), Some("magnet"), Some("magnet"));
}
