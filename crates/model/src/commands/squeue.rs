//! What `squeue` prints: from job records to lines, without a look at anything else.

use crate::commands::squeue_order::{sort_jobs, sort_steps};
use crate::commands::{JobName, SqueueArgs, StateFilter};
use crate::fields::{Format, JobField, StepField, StepInfo};
use crate::records::{ArrayTaskInfo, JobInfo, JobRecord, JobStateName, StepRecord, ViewFacts};
use crate::values::{NodeName, parse_licences};
use std::sync::Arc;

const JOB_COLUMNS: &str = "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,statecompact:.2 ,timeused:.10 ,numnodes:.6 ,reasonlist:0";
const LONG_JOB_COLUMNS: &str = "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,state:.8 ,timeused:.10 ,timelimit:.9 ,numnodes:.6 ,reasonlist:0";
const STEP_COLUMNS: &str = "%.15i %.8j %.9P %.8u %.9M %N";

/// What a command prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Data.
    pub stdout: String,
    /// Talk, line by line.
    pub stderr: Vec<String>,
    /// The exit status.
    pub status: u8,
}

impl SqueueArgs {
    /// Jobs that are to be listed, in the order of the listing. `me` is the caller; `nodes` is
    /// what `--nodelist` names.
    #[must_use]
    pub fn select(
        &self,
        records: &[JobRecord],
        facts: &ViewFacts,
        me: u32,
        nodes: Option<&[NodeName]>,
    ) -> Vec<JobInfo> {
        let mut jobs = Vec::with_capacity(records.len());
        for record in records {
            // Large, and of a long queue: moved once.
            let mut job = JobInfo::of(record, facts);
            if self.takes(&job, me, nodes)
                && !self.hides(&job, facts)
                && self.keep_named_elements(&mut job)
            {
                jobs.push(job);
            }
        }
        if self.each_element {
            jobs = jobs.into_iter().flat_map(each_element).collect();
        } else {
            join_waiting(&mut jobs);
        }
        if self.each_partition {
            jobs = jobs.into_iter().flat_map(each_partition).collect();
            jobs.retain(|job| self.takes_partition(job));
        }
        for job in &mut jobs {
            job.in_mebibytes = self.in_mebibytes;
        }
        if self.is_data() && self.sort.is_none() {
            jobs.sort_by_key(JobInfo::place_among_records);
        } else {
            sort_jobs(&mut jobs, self.sort.as_deref());
        }
        jobs
    }

    /// Prints jobs as [`SqueueArgs::select`] gave them.
    #[must_use]
    pub fn print_jobs(&self, jobs: &[JobInfo], facts: &ViewFacts) -> Printed {
        let format: Format<JobField> = match (&self.format, &self.long_format) {
            (Some(letters), _) => Format::by_letters(letters),
            (None, Some(names)) => Format::by_names(names),
            (None, None) if self.long => Format::by_names(LONG_JOB_COLUMNS),
            (None, None) => Format::by_names(JOB_COLUMNS),
        };
        let mut text = self.heading(facts, jobs.len());
        if !self.no_header {
            format.put(&mut text, JobField::header_cell);
        }
        for job in jobs {
            format.put(&mut text, |field| (field.value)(job));
        }
        printed(text, &format.complaints)
    }

    /// Prints the steps of jobs, selected and in order.
    #[must_use]
    pub fn print_steps(
        &self,
        jobs: &[JobInfo],
        steps: &[StepRecord],
        facts: &ViewFacts,
    ) -> Printed {
        let format: Format<StepField> = match (&self.format, &self.long_format) {
            (Some(letters), _) => Format::by_letters(letters),
            (None, Some(names)) => Format::by_names(names),
            (None, None) => Format::by_letters(STEP_COLUMNS),
        };
        let mut infos: Vec<StepInfo> = steps
            .iter()
            .filter_map(|step| {
                let job = jobs.iter().find(|job| job.id == step.job.0)?;
                Some(StepInfo {
                    step: step.clone(),
                    job: job.clone(),
                })
            })
            .filter(|info| self.takes_step(info) && self.names_component(info))
            .collect();
        sort_steps(&mut infos, self.sort.as_deref());
        let mut text = self.heading(facts, infos.len());
        if !self.no_header {
            format.put(&mut text, StepField::header_cell);
        }
        for info in &infos {
            format.put(&mut text, |field| (field.value)(info));
        }
        printed(text, &format.complaints)
    }

    /// A step of a heterogeneous job stands under each component's own number, and is found by it alone.
    fn names_component(&self, info: &StepInfo) -> bool {
        let Some(place) = info.job.component() else {
            return true;
        };
        let is_own = |name: &JobName| name.job == place.leader.0 + place.offset;
        let names = self.steps.iter().flatten().map(|(name, _)| name);
        let mut names = names.chain(self.jobs.iter().flatten()).peekable();
        names.peek().is_none() || names.any(is_own)
    }

    /// The date that stands over a long listing, and with `--verbose` how many rows come.
    fn heading(&self, facts: &ViewFacts, rows: usize) -> String {
        let mut text = String::new();
        let is_dated = self.long || self.every.is_some() || self.is_verbose();
        if is_dated
            && !self.no_header
            && let Ok(now) = jiff::Timestamp::from_millisecond(facts.now.0)
        {
            let now = now.to_zoned(facts.moments.zone.clone());
            text = format!("{}\n", now.strftime("%a %b %d %H:%M:%S %Y"));
        }
        if self.is_verbose() {
            let seconds = facts.now.0 / 1000;
            text.push_str(&format!("last_update_time={seconds} records={rows}\n"));
        }
        text
    }

    /// The users whose jobs alone can be listed, by name or number; `me` is the caller.
    #[must_use]
    pub fn only_users(&self, me: u32) -> Option<Vec<String>> {
        if self.me {
            return Some(vec![me.to_string()]);
        }
        self.users.clone()
    }

    fn takes_licences(&self, job: &JobInfo) -> bool {
        let Some(wanted) = &self.licenses else {
            return true;
        };
        let own = job.licenses().and_then(parse_licences);
        let mut own = own.into_iter().flatten();
        own.any(|own| wanted.contains(&own.name))
    }

    /// Whether all partitions of a job are hidden, and neither they nor the job were asked for.
    fn hides(&self, job: &JobInfo, facts: &ViewFacts) -> bool {
        let is_hidden = |name: &str| facts.partitions.get(name).is_some_and(|it| it.is_hidden);
        !self.all && self.jobs.is_none() && job.partition.split(',').all(is_hidden)
    }

    fn takes(&self, job: &JobInfo, me: u32, nodes: Option<&[NodeName]>) -> bool {
        let any_case = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref()
                .is_none_or(|list| list.iter().any(|word| word.eq_ignore_ascii_case(value)))
        };
        let users = self.users.as_ref().is_none_or(|users| {
            users
                .iter()
                .any(|user| *user == job.user() || user.parse() == Ok(job.uid()))
        });
        let jobs = self.jobs.as_ref();
        jobs.is_none_or(|names| names.iter().any(|name| is_named(job, *name)))
            && self.takes_licences(job)
            && any_case(&self.accounts, job.account().unwrap_or_default())
            && any_case(&self.qos, &job.qos)
            && any_case(&self.names, job.name())
            && self.takes_state(job)
            && nodes.is_none_or(|nodes| job.nodes.iter().any(|node| nodes.contains(node)))
            && users
            && (!self.me || job.uid() == me)
            && self
                .reservation
                .as_ref()
                .is_none_or(|name| job.reservation.as_deref() == Some(name))
            && self.takes_partition(job)
    }

    fn takes_partition(&self, job: &JobInfo) -> bool {
        self.partitions.as_ref().is_none_or(|partitions| {
            let mut own = job.partition.split(',');
            own.any(|one| partitions.iter().any(|partition| partition == one))
        })
    }

    fn takes_state(&self, job: &JobInfo) -> bool {
        match &self.states {
            StateFilter::All => true,
            StateFilter::Only(names) => names.contains(&job.state),
            // Ended jobs too, while the controller remembers them.
            StateFilter::Live if self.is_data() => true,
            StateFilter::Live => matches!(
                job.state,
                JobStateName::Pending
                    | JobStateName::SpecialExit
                    | JobStateName::Running
                    | JobStateName::Configuring
                    | JobStateName::Suspended
                    | JobStateName::Stopped
                    | JobStateName::StageOut
                    | JobStateName::Completing
            ),
        }
    }

    fn takes_step(&self, info: &StepInfo) -> bool {
        self.steps.as_ref().is_none_or(|names| {
            names
                .iter()
                .any(|(job, step)| *step == info.step.step && is_named(&info.job, *job))
        })
    }

    /// Of elements that wait together only those that `--jobs` names.
    fn keep_named_elements(&self, job: &mut JobInfo) -> bool {
        let Some(names) = &self.jobs else {
            return true;
        };
        let Some(array) = &mut job.array else {
            return true;
        };
        let ArrayTaskInfo::Waiting(tasks) = &mut array.task else {
            return true;
        };
        let whole = names
            .iter()
            .any(|name| name.task.is_none() && (name.job == array.job || name.job == job.id));
        if !whole {
            tasks.retain(|task| {
                names
                    .iter()
                    .any(|name| name.job == array.job && name.task == Some(*task))
            });
            match tasks.as_slice() {
                [] => return false,
                [one] => array.task = ArrayTaskInfo::One(*one),
                _ => {}
            }
        }
        true
    }
}

fn is_named(job: &JobInfo, name: JobName) -> bool {
    let array = job.array.as_ref();
    match name.task {
        None => {
            let leader = job.component().map(|place| place.leader.0);
            let of_array = array.is_some_and(|array| array.job == name.job);
            name.job == job.id || of_array || leader == Some(name.job)
        }
        Some(task) => array.is_some_and(|array| {
            array.job == name.job
                && match &array.task {
                    ArrayTaskInfo::One(one) => *one == task,
                    ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
                }
        }),
    }
}

fn each_element(job: JobInfo) -> Vec<JobInfo> {
    let Some(array) = &job.array else {
        return vec![job];
    };
    let ArrayTaskInfo::Waiting(tasks) = &array.task else {
        return vec![job];
    };
    tasks
        .iter()
        .map(|task| {
            let mut one = job.clone();
            if let Some(array) = &mut one.array {
                array.task = ArrayTaskInfo::One(*task);
            }
            one
        })
        .collect()
}

/// One that waits in several partitions, once in each.
fn each_partition(job: JobInfo) -> Vec<JobInfo> {
    if !(job.is_pending() && job.partition.contains(',')) {
        return vec![job];
    }
    let names: Vec<Arc<str>> = job.partition.split(',').map(Arc::from).collect();
    names
        .into_iter()
        .map(|partition| {
            let mut one = job.clone();
            one.partition = partition;
            one
        })
        .collect()
}

/// Elements that wait again after a requeue go back to those that still wait, as `squeue` shows
/// them; their reasons stand beside the others'.
fn join_waiting(jobs: &mut Vec<JobInfo>) {
    let masters: Vec<usize> = (0..jobs.len())
        .filter(|index| waits_together(&jobs[*index]).is_some())
        .collect();
    let mut gone = vec![false; jobs.len()];
    for master in masters {
        let mut found = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(task) = fits_into(job, &jobs[master]) {
                found.push((index, task, job.reason.clone()));
            }
        }
        for (index, task, reason) in found {
            gone[index] = true;
            let job = &mut jobs[master];
            if !job.reason.contains(&*reason) {
                job.reason = format!("{},{reason}", job.reason).into();
            }
            if let Some(ArrayTaskInfo::Waiting(tasks)) =
                job.array.as_mut().map(|array| &mut array.task)
            {
                tasks.push(task);
                tasks.sort_unstable();
                tasks.dedup();
            }
        }
    }
    let mut index = 0;
    jobs.retain(|_| {
        index += 1;
        !gone[index - 1]
    });
}

fn waits_together(job: &JobInfo) -> Option<u32> {
    let array = job.array.as_ref().filter(|_| job.is_pending())?;
    matches!(array.task, ArrayTaskInfo::Waiting(_)).then_some(array.job)
}

fn fits_into(job: &JobInfo, master: &JobInfo) -> Option<u32> {
    let array = job.array.as_ref().filter(|_| job.is_pending())?;
    let ArrayTaskInfo::One(task) = array.task else {
        return None;
    };
    (waits_together(master) == Some(array.job)
        && job.name() == master.name()
        && job.partition == master.partition)
        .then_some(task)
}

fn printed(stdout: String, complaints: &[String]) -> Printed {
    Printed {
        stdout,
        stderr: complaints
            .iter()
            .map(|complaint| format!("squeue: error: {complaint}"))
            .collect(),
        status: 0,
    }
}
