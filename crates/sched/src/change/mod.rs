//! What `scontrol update JobId=` makes of a job that waits or runs.

mod denial;
mod running;
mod waiting;

use crate::admit::partitions_of;
use crate::limit_given::{limit_in, limit_or_default};
use crate::{Job, JobUpdate, State};
use cluster_file::ClusterFile;
pub use denial::ChangeDenial;
use model::{
    JobChange, JobState, LimitChange, NodeName, NodeOptions, Request, Seconds, ShownOptions,
    TimeLimitRequest, Timestamp,
};
use resources::{QosId, no_licence};
use running::{change_end, change_running, given_back};

impl State {
    /// What becomes of a job by changes that are asked; nothing becomes of it yet. `rules` has accounts
    /// and QOS, where there are some.
    ///
    /// # Errors
    /// The first that can't be.
    pub fn changed(
        &self,
        record: &Job,
        changes: &[JobChange],
        is_operator: bool,
        rules: Option<&ClusterFile>,
        now: Timestamp,
    ) -> Result<JobUpdate, ChangeDenial> {
        let mut update = JobUpdate::of(record);
        for change in changes {
            let is_passed = match (&record.state, change) {
                (JobState::Pending { .. }, JobChange::Deadline(at))
                | (JobState::Running { .. }, JobChange::End(at)) => *at < now,
                _ => false,
            };
            if is_passed {
                return Err(ChangeDenial::Passed);
            }
            if let JobChange::ArrayThrottle(most) = change {
                change_throttle(record, &mut update, *most);
                continue;
            }
            match &record.state {
                JobState::Pending { .. } => {
                    self.change_waiting(record, &mut update, change, is_operator, rules)?;
                }
                JobState::Running { held: Some(_), .. }
                    if matches!(change, JobChange::Priority(1..)) =>
                {
                    return Err(ChangeDenial::Held);
                }
                JobState::Running {
                    limit, allocation, ..
                } => {
                    // That it is for others is said before that the job runs.
                    if let JobChange::Reservation(Some(name)) = change {
                        let mut request = update.request.clone();
                        request.rare.reservation = Some(name.clone());
                        self.check_reservation(record, &request)?;
                    }
                    let shares = allocation.nodes.iter();
                    let left = shares.filter(|share| !update.gives_back.contains(&share.node));
                    let left: Vec<&NodeName> = left.map(|share| &share.node).collect();
                    if let Some(gives_back) = given_back(change, &left, record.batch)? {
                        if !gives_back.is_empty() {
                            self.may_give_back(record, &left)?;
                        }
                        update.gives_back.extend(gives_back);
                        continue;
                    }
                    if let JobChange::Licenses(licences) = change {
                        let former = update.request.rare.licenses.clone();
                        self.change_licences(&mut update.request, licences)?;
                        // Others may give all of them back alone.
                        if !is_operator && licences.is_some() && *licences != former {
                            return Err(ChangeDenial::Permission);
                        }
                        continue;
                    }
                    if self.is_so(record, change)? {
                        continue;
                    }
                    // What else is asked of its limit goes before.
                    if !matches!(change, JobChange::End(_)) {
                        change_running(*limit, &mut update, change, is_operator)?;
                    }
                }
                JobState::Ended { .. } => return Err(ChangeDenial::Finished),
            }
        }
        if let (
            JobState::Running {
                since,
                limit: Some(_),
                ..
            },
            Some(None),
        ) = (&record.state, update.limit)
        {
            // One that it is given later counts from now on.
            let ran = now.0 - since.0 - record.state.suspended_ms(now);
            update.end_moved_ms = Some(ran);
        }
        let end = changes.iter().rev().find_map(|change| match change {
            JobChange::End(end) => Some(*end),
            _ => None,
        });
        if let (Some(end), JobState::Running { .. }) = (end, &record.state) {
            change_end(&record.state, &mut update, end, is_operator)?;
        }
        let sets_time =
            |change: &JobChange| matches!(change, JobChange::TimeLimit(_) | JobChange::TimeMin(_));
        if changes.iter().any(sets_time) && self.is_least_over_limit(&update) {
            return Err(ChangeDenial::TimeMin);
        }
        Ok(update)
    }

    /// A job asks for other licences, or has others while it runs.
    fn change_licences(
        &self,
        request: &mut Request,
        licences: &Option<String>,
    ) -> Result<(), ChangeDenial> {
        request.rare.licenses.clone_from(licences);
        match no_licence(self.cluster.licences(), request) {
            Some(_) => Err(ChangeDenial::Licence),
            None => Ok(()),
        }
    }

    /// Whether a running job has that partition, QOS or account already; there must be such a QOS.
    fn is_so(&self, record: &Job, change: &JobChange) -> Result<bool, ChangeDenial> {
        let cluster = &self.cluster;
        match change {
            JobChange::Partition(name) => Ok(record.partitions() == Some(name)),
            JobChange::Qos(name) => match cluster.find_qos(name) {
                None => Err(ChangeDenial::Qos),
                Some(qos) if record.rare.reservation.is_none() && self.is_for_reservations(qos) => {
                    Err(ChangeDenial::Qos)
                }
                Some(_) => Ok(record.request.qos.as_ref() == Some(name)),
            },
            JobChange::Account(name) => Ok(record.request.account.as_ref() == Some(name)),
            _ => Ok(false),
        }
    }

    /// Whether a QOS is for jobs in reservations alone.
    fn is_for_reservations(&self, qos: QosId) -> bool {
        let qos = &self.cluster.qos()[usize::from(qos.0)];
        qos.has_flag("RequiresReservation")
    }

    /// Whether a running job may give back some of its nodes: not while it is being ended or its grace lasts, nor on
    /// a machine whose virtual nodes are all held together.
    fn may_give_back(&self, record: &Job, nodes: &[&NodeName]) -> Result<(), ChangeDenial> {
        if record.state.is_ending() {
            return Err(ChangeDenial::Finished);
        }
        let mut known = nodes.iter().filter_map(|node| self.cluster.node(node));
        let splits = known.any(|node| self.cluster.class(node).splits);
        let has_grace = matches!(
            record.state,
            JobState::Running {
                ending: Some(_),
                ..
            }
        );
        if has_grace || splits {
            return Err(ChangeDenial::NotSupported);
        }
        Ok(())
    }

    /// Whether a job may be in the reservation that it names.
    fn check_reservation(&self, record: &Job, request: &Request) -> Result<(), ChangeDenial> {
        let submitter = &record.submitter;
        let may = self.may_be_reserved(request, &submitter.user, &submitter.group);
        may.map_err(|finding| ChangeDenial::Reservation(finding.denial))
    }

    fn is_least_over_limit(&self, update: &JobUpdate) -> bool {
        let request = &update.request;
        let limit = match update.limit {
            Some(limit) => limit,
            None => self.limit_asked(request),
        };
        match request.rare.time_min {
            Some(TimeLimitRequest::Limit(least)) => limit.is_some_and(|limit| least > limit),
            Some(TimeLimitRequest::Unlimited) => limit.is_some(),
            None => false,
        }
    }

    /// The limit of a job that waits: its own, or that of the first of its partitions.
    fn limit_asked(&self, request: &Request) -> Option<Seconds> {
        let first = partitions_of(&self.cluster, request.partition.as_deref());
        let given = limit_or_default(&self.cluster, request);
        limit_in(&self.cluster, given, *first.first()?)
    }
}

fn options_of(request: &mut Request) -> &mut NodeOptions {
    request.rare.node_options.get_or_insert_default()
}

fn shown_of(request: &mut Request) -> &mut ShownOptions {
    request.shown.get_or_insert_default()
}

/// Of a job that is no array nothing is changed.
fn change_throttle(record: &Job, update: &mut JobUpdate, most: u32) {
    if record.array.is_some() {
        update.throttle = Some(most);
        update.request.rare.array_throttle = Some(most);
    }
}

fn set_site_factor(
    request: &mut Request,
    factor: i64,
    is_operator: bool,
) -> Result<(), ChangeDenial> {
    if !is_operator {
        return Err(ChangeDenial::Permission);
    }
    request.rare.site_factor = factor;
    Ok(())
}

/// Makes a change of what may change whether or not the job runs; false where it is another one.
fn changes_any_job(request: &mut Request, change: &JobChange) -> bool {
    match change {
        JobChange::Name(name) => request.name.clone_from(name),
        JobChange::Comment(comment) => {
            request.rare.comment = Some(comment.clone()).filter(|text| !text.is_empty());
        }
        JobChange::AdminComment(comment) => shown_of(request).admin_comment = Some(comment.clone()),
        JobChange::DelayBoot(delay) => {
            shown_of(request).delay_boot = Some(*delay).filter(|delay| *delay > Seconds(0));
        }
        JobChange::TresBind(bind) => request.rare.asked.bind.clone_from(bind),
        JobChange::TresFrequency(text) => request.rare.asked.frequency.clone_from(text),
        JobChange::SwitchWait(wait) => {
            let options = request.rare.node_options.as_mut();
            if let Some(switches) = options.and_then(|options| options.switches.as_mut()) {
                switches.wait = Some(*wait);
            }
        }
        JobChange::Requeue(requeue) => request.rare.requeue = Some(*requeue),
        JobChange::MailTypes(types) => request.rare.mail_types.clone_from(types),
        JobChange::MailUser(user) => request.rare.mail_user.clone_from(user),
        JobChange::Switches(switches) => {
            if switches.is_some() || request.rare.node_options.is_some() {
                options_of(request).switches = *switches;
            }
        }
        _ => return false,
    }
    true
}

fn changed_limit(
    now: Option<Seconds>,
    change: LimitChange,
) -> Result<Option<Seconds>, ChangeDenial> {
    match (change, now) {
        (LimitChange::To(TimeLimitRequest::Limit(limit)), _) => Ok(Some(limit)),
        (LimitChange::To(TimeLimitRequest::Unlimited), _) => Ok(None),
        (LimitChange::More(_) | LimitChange::Less(_), None) => Ok(None),
        (LimitChange::More(more), Some(now)) => Ok(Some(Seconds(now.0.saturating_add(more.0)))),
        (LimitChange::Less(less), Some(now)) if less < now => Ok(Some(Seconds(now.0 - less.0))),
        (LimitChange::Less(_), Some(_)) => Err(ChangeDenial::TimeLimit),
    }
}
