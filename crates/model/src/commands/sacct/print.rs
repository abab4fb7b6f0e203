//! Which jobs and steps a `sacct` shows, and its lines.

use super::lived::Lived;
use super::{Parsable, SacctArgs, SacctColumn, SacctRow};
use crate::commands::JobName;
use crate::commands::padding::padded;
use crate::fields::{FieldKind, SACCT_FIELDS};
use crate::records::{
    ArrayInfo, ArrayTaskInfo, JobHistory, JobInfo, JobStart, JobStateName, StepRecord, ViewFacts,
};
use crate::values::{NodeName, NodeShare, Seconds, one_line};

impl SacctArgs {
    /// Whether a job is one that is asked for, and one of its starts at least; users and moments aside.
    #[must_use]
    pub fn wants(&self, job: &JobInfo, history: &JobHistory, facts: &ViewFacts) -> bool {
        self.wants_job(job) && !self.starts(job, history, facts).is_empty()
    }

    /// Whether a job is one that is asked for by what all of its starts have in common.
    fn wants_job(&self, job: &JobInfo) -> bool {
        named(&self.accounts, job.account().unwrap_or_default())
            && self.groups.as_ref().is_none_or(|groups| {
                let mut groups = groups.iter();
                groups.any(|group| {
                    *group == job.submitter.group || *group == job.submitter.gid.to_string()
                })
            })
            && !self.of_none
            && named(
                &self.wckeys,
                job.shown().wckey.as_deref().unwrap_or_default(),
            )
            && named(&self.clusters, &job.cluster)
            && self.constraints.iter().all(|feature| {
                job.features()
                    .is_some_and(|features| features.contains(feature.as_str()))
            })
            && self.jobs.as_ref().is_none_or(|names| {
                names
                    .iter()
                    .any(|name| name.job.is_of(job, self.whole_het_job))
            })
    }

    /// Whether a start is asked for, by what each has of its own.
    fn wants_start(&self, start: &Filtered<'_>) -> bool {
        let in_range = |range: Option<(u32, u32)>, count: usize| {
            range.is_none_or(|(least, most)| (least as usize..=most as usize).contains(&count))
        };
        let minutes = start.limit.map(|limit| limit.0.div_ceil(60));
        let by_limit = match self.limits {
            (None, _) => true,
            // Without the most it is that limit alone.
            (Some(least), None) => minutes == Some(least),
            (Some(least), Some(most)) => {
                minutes.is_some_and(|minutes| (least..=most).contains(&minutes))
            }
        };
        let cpus = start.shares.iter().map(|share| share.cpus.len()).sum();
        named(&self.names, start.name)
            && named(&self.partitions, start.partition)
            && named(&self.qos, start.qos)
            && in_range(self.node_count, start.shares.len())
            && in_range(self.cpu_count, cpus)
            && by_limit
            && self.states.as_ref().is_none_or(|states| {
                let mut states = states.iter();
                states.any(|state| match self.states_within {
                    Some(within) => start.lived.was(*state, within),
                    None => start.lived.state == *state,
                })
            })
    }

    /// The starts of a job that are asked for, each with its place in its history; `None` is what waits, or
    /// never started. Where not all are to be shown, the last one of those stands for them.
    fn starts<'a>(
        &self,
        job: &JobInfo,
        history: &'a JobHistory,
        facts: &ViewFacts,
    ) -> Vec<(usize, Option<&'a JobStart>)> {
        let mut starts: Vec<Option<&JobStart>> = history.starts.iter().map(Some).collect();
        let waits = job.is_pending() || job.allocation.is_none();
        // One that can't start again yet has no record of that in accounting, but where it is named.
        let has_come = self.jobs.is_some() || job.eligible.is_some_and(|it| it <= facts.now);
        if starts.is_empty() || waits && has_come {
            starts.push(None);
        }
        let newest = history.starts.len().saturating_sub(1);
        let filtered = |place: usize, start: Option<&'a JobStart>| match start {
            Some(start) if waits || place < newest => Filtered::of_former(job, start),
            start => Filtered::of_job(job, start),
        };
        let mut starts: Vec<_> = starts.into_iter().enumerate().collect();
        starts.retain(|(place, start)| {
            let submitted = start.map_or(job.submitted, |start| start.submitted);
            (self.states_within.is_some() || self.until.is_none_or(|until| submitted <= until))
                && self.wants_start(&filtered(*place, *start))
        });
        let last = starts.last().map(|(place, _)| *place);
        starts.retain(|(place, start)| {
            let is_size = start.is_some_and(|it| it.state == JobStateName::Resizing);
            Some(*place) == last || is_size || self.duplicates
        });
        // As in Slurm, only of those that are left it is asked where they were.
        if let Some(asked) = &self.nodes {
            starts.retain(|(place, start)| {
                let mut held = filtered(*place, *start).nodes.into_iter();
                held.any(|node| asked.contains(node))
            });
        }
        starts
    }

    /// Whether the job itself is asked for, or one of its steps alone.
    fn wants_row(&self, job: &JobInfo, step: Option<&StepRecord>) -> bool {
        let Some(names) = &self.jobs else { return true };
        let mut names = names
            .iter()
            .filter(|name| name.job.is_of(job, self.whole_het_job));
        names.any(|name| match (&name.step, step) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(name), Some(step)) => *name == step.step.to_string(),
        })
    }

    /// The header and its line, then a line for each job, start and step.
    #[must_use]
    pub fn print(&self, jobs: &[(JobInfo, &JobHistory)], facts: &ViewFacts) -> String {
        let mut text = String::new();
        if !self.no_header {
            let name = |column: &SacctColumn| match self.parsable {
                Some(_) => column.field.name.to_owned(),
                // A header is cut off without a sign that it was longer.
                None => column.field.name.chars().take(column.width).collect(),
            };
            let names: Vec<String> = self.columns.iter().map(name).collect();
            self.line(&names, &mut text);
            if self.parsable.is_none() {
                let rules = self.columns.iter().map(|column| "-".repeat(column.width));
                self.line(&rules.collect::<Vec<_>>(), &mut text);
            }
        }
        for row in self.rows(jobs, facts) {
            self.row(&row, &mut text);
        }
        text
    }

    /// Its lines: a job or a start of it, then the steps.
    #[must_use]
    pub fn rows<'a>(
        &self,
        jobs: &'a [(JobInfo, &'a JobHistory)],
        facts: &'a ViewFacts,
    ) -> Vec<SacctRow<'a>> {
        let mut rows = Vec::new();
        let by_reason = |row: &SacctRow<'_>| {
            self.reasons.as_ref().is_none_or(|reasons| {
                let reason = row.reason();
                reasons
                    .iter()
                    .any(|asked| asked.eq_ignore_ascii_case(&reason))
            })
        };
        let by_flag = |row: &SacctRow<'_>| {
            self.flags.as_ref().is_none_or(|flags| {
                let own = row.flags();
                flags.iter().any(|asked| own.contains(asked))
            })
        };
        for (job, history) in jobs {
            for (place, start) in self.starts(job, history, facts) {
                let row = SacctRow {
                    job,
                    history,
                    start,
                    step: None,
                    facts,
                    units: self.units,
                    window: self.window,
                };
                if !by_reason(&row) || !by_flag(&row) {
                    continue;
                }
                if self.wants_row(job, None) {
                    rows.push(row);
                }
                let Some(start) = start.filter(|_| !self.jobs_alone) else {
                    continue;
                };
                // Of a start that had several sizes, the ones that began with that size.
                let began = history.starts[..place].iter();
                let began = began.filter(|former| former.restart == start.restart);
                let began = began.filter_map(|former| former.ended).max();
                let of_start = |step: &&StepRecord| {
                    let is_later = began.is_some_and(|began| step.since < began);
                    let is_former = start.state == JobStateName::Resizing
                        && start.ended.is_some_and(|ended| step.since >= ended);
                    step.restart == start.restart && !is_later && !is_former
                };
                let steps = history.steps.iter().filter(of_start);
                let steps = steps.filter(|step| self.wants_row(job, Some(step)));
                rows.extend(steps.map(|step| SacctRow {
                    step: Some(step),
                    ..row
                }));
            }
        }
        rows
    }

    fn row(&self, row: &SacctRow<'_>, text: &mut String) {
        let values = self
            .columns
            .iter()
            // Names are a job's own words: none may end a line or move a cursor.
            .map(|column| one_line(&row.value(column.field.name)).into_owned());
        self.line(&values.collect::<Vec<_>>(), text);
    }

    fn line(&self, values: &[String], text: &mut String) {
        let delimiter = self.delimiter.as_deref().unwrap_or("|");
        match self.parsable {
            Some(Parsable::Separated) => text.push_str(&values.join(delimiter)),
            Some(Parsable::Ended) => {
                for value in values {
                    text.push_str(value);
                    text.push_str(delimiter);
                }
            }
            None => {
                for (value, column) in values.iter().zip(&self.columns) {
                    text.push_str(&column.fit(value));
                    text.push(' ');
                }
            }
        }
        text.push('\n');
    }
}

/// Whether a name is one of those that are asked for, if any are.
fn named(names: &Option<Vec<String>>, name: &str) -> bool {
    names
        .as_ref()
        .is_none_or(|all| all.iter().any(|it| it == name))
}

/// What a start is found by that another one of its job may have otherwise.
struct Filtered<'a> {
    lived: Lived,
    name: &'a str,
    partition: &'a str,
    qos: &'a str,
    limit: Option<Seconds>,
    nodes: Vec<&'a NodeName>,
    shares: &'a [NodeShare],
}

impl<'a> Filtered<'a> {
    /// Of a start that another one followed, or that was queued again.
    fn of_former(job: &'a JobInfo, start: &'a JobStart) -> Filtered<'a> {
        Filtered {
            lived: Lived {
                state: start.state,
                eligible: start.eligible,
                started: Some(start.since),
                ended: start.ended,
            },
            name: start.name_of(job),
            partition: start.partition_of(job),
            qos: start.qos_of(job),
            limit: start.limit,
            nodes: start.nodes.iter().map(|share| &share.node).collect(),
            shares: &start.nodes,
        }
    }

    /// Of a job as it stands, with its newest start, where it does not wait.
    fn of_job(job: &'a JobInfo, start: Option<&JobStart>) -> Filtered<'a> {
        let held = job.allocation.as_ref();
        Filtered {
            lived: Lived {
                // Accounting is not told of SIGSTOP.
                state: match job.state {
                    JobStateName::Stopped => job.base_state,
                    state => state,
                },
                eligible: start.map_or(job.eligible, |start| start.eligible),
                started: start.map(|start| start.since),
                ended: start.map_or_else(
                    || job.end.filter(|_| !job.is_pending()),
                    |start| start.ended,
                ),
            },
            name: job.name(),
            partition: &job.partition,
            qos: &job.qos,
            limit: job.limit,
            nodes: job.nodes.iter().collect(),
            shares: held.map_or(&[], |held| held.nodes.as_slice()),
        }
    }
}

impl SacctColumn {
    /// A value in the column's width; a `+` says that it was longer, but of a moment, of which a day may be all that
    /// is wanted (`start%10`; `print_fields_date` of 22.05.8's print_fields.c).
    pub(super) fn fit(self, value: &str) -> String {
        let width = self.width;
        if self.field.kind == FieldKind::Moment {
            let kept: String = value.chars().take(width).collect();
            return padded(&kept, width, self.left);
        }
        if value.chars().count() > width {
            let kept: String = value.chars().take(width.saturating_sub(1)).collect();
            return format!("{kept}+");
        }
        padded(value, width, self.left)
    }
}

/// What `--helpformat` prints: the names of all columns, four in a line.
#[must_use]
pub fn sacct_columns_text() -> String {
    let mut text = String::new();
    for four in SACCT_FIELDS.chunks(4) {
        let names = four.iter().map(|field| format!("{:<19}", field.name));
        text.push_str(&names.collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    text
}

impl JobName {
    /// Whether it names this job: by its own number, its array's, or as an element of it that is no longer one of
    /// those that wait together: accounting has no row for each of these. The number of a heterogeneous job's first
    /// component names all of them, unless `whole` is said.
    pub(crate) fn is_of(&self, job: &JobInfo, whole: Option<bool>) -> bool {
        if let Some(task) = self.task {
            let is_element = |array: &ArrayInfo| {
                array.job == self.job
                    && matches!(array.task, ArrayTaskInfo::One(one) if one == task)
            };
            return job.array.as_ref().is_some_and(is_element);
        }
        if let Some(array) = &job.array {
            return self.job == array.job || self.job == job.id;
        }
        let Some(place) = job.component() else {
            return self.job == job.id && self.component.is_none();
        };
        let named = self.job.saturating_add(self.component.unwrap_or(0));
        match whole {
            Some(true) => place.ids().any(|id| id.0 == named),
            Some(false) => named == job.id,
            None => named == job.id || self.component.is_none() && place.leader.0 == named,
        }
    }
}
