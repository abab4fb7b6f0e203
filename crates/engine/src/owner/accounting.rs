//! Accounts, users, associations and QOS: kept in the store as they were last set. What is set holds
//! at once, for jobs that wait too.

use super::submit::store_refusal;
use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::store::StoreError;
use api::{ACCESS_DENIED, Answer, Refusal};
use model::{Accounting, AccountingTransaction, JobId, JobRecordChange, Timestamp, UsageOwner};
use sched::{Event, Job, Member, Spender};

impl Owner {
    /// What is kept, or what there is before anything was added.
    pub(super) fn accounting(&self) -> Result<Accounting, StoreError> {
        let kept = self.store.accounting()?;
        Ok(kept.unwrap_or_else(|| {
            let user = sys::process::user();
            let name = sys::users::user_by_id(user).ok().flatten();
            let name = name.map_or_else(|| user.to_string(), |user| user.name);
            self.cluster.accounting(&name)
        }))
    }

    /// Keeps another state, if it came of the present one and no live job loses its account.
    pub(super) fn set_accounting(
        &mut self,
        next: &Accounting,
        actor: &str,
        at: Timestamp,
    ) -> Result<Answer, Refusal> {
        let failed = |error: StoreError| store_refusal(&error);
        let now = self.accounting().map_err(failed)?;
        if next.version != now.version + 1 || next.cluster != now.cluster {
            return Err(Refusal::Invalid {
                message: "the accounts were changed meanwhile".to_owned(),
            });
        }
        let has = |accounting: &Accounting, name: &str| {
            let mut accounts = accounting.accounts.iter();
            accounts.any(|account| account.name == name)
        };
        let loses = |record: &&Job| {
            let account = record.request.account.as_deref();
            account.is_some_and(|account| has(&now, account) && !has(next, account))
        };
        if let Some(record) = self.state.live().find(loses) {
            return Err(Refusal::Invalid {
                message: format!("job {} uses an account that would be removed", record.id),
            });
        }
        let changes = now.transactions(next, at, actor);
        self.taken_back(at, |owner| {
            let kept = owner.store.set_accounting(next, &changes);
            kept.map_err(|error| store_refusal(&error))
        })?;
        self.take_cluster(self.cluster.with_accounting(next), at);
        Ok(Answer::Done)
    }

    /// What these used until now counts no more.
    pub(super) fn reset_usage(&mut self, of: Vec<UsageOwner>, turn: &mut Turn) -> Answer {
        let spender = |owner| match owner {
            UsageOwner::Qos { name } => Spender::Qos(name),
            UsageOwner::Account { account } => Spender::Account(account),
            UsageOwner::User {
                account,
                user,
                partition,
            } => Spender::Member(Member {
                account,
                user,
                partition,
            }),
        };
        let of = of.into_iter().map(spender).collect();
        let at = turn.now;
        self.state.apply(Event::UsageBeginsAnew { of, at });
        turn.durable = true;
        Answer::Done
    }

    /// Changes what is recorded of jobs: of all of them, or of none.
    pub(super) fn modify_records(
        &mut self,
        jobs: &[JobId],
        change: &JobRecordChange,
        peer: Peer,
        at: Timestamp,
    ) -> Result<Answer, Refusal> {
        let failed = |error: StoreError| store_refusal(&error);
        let is_operator = rights::is_operator(peer.uid, sys::process::user());
        let is_denied = change.is_for_operators() && !is_operator;
        for job in jobs {
            let owner = self.owner_of(*job)?;
            if is_denied || !is_operator && owner != peer.uid {
                return Err(Refusal::invalid(ACCESS_DENIED));
            }
        }
        let former = self.store.record_changes(jobs).map_err(failed)?;
        let records = jobs.iter().map(|job| {
            let former = former.get(job).cloned().unwrap_or_default();
            (*job, change.clone().after(former))
        });
        let records: Vec<(JobId, JobRecordChange)> = records.collect();
        let actor = self.users.user(peer.uid);
        let changes = jobs.iter().map(|job| AccountingTransaction {
            at,
            actor: actor.clone(),
            action: "Modify Job".to_owned(),
            object: format!("job_db_inx={job}"),
            info: change.info(),
        });
        let changes: Vec<AccountingTransaction> = changes.collect();
        self.store
            .change_records(&records, &changes)
            .map_err(failed)?;
        Ok(Answer::Done)
    }

    /// Whose job it is, also of one that is over.
    fn owner_of(&self, job: JobId) -> Result<u32, Refusal> {
        if let Some(live) = self.state.job(job) {
            return Ok(live.submitter.uid);
        }
        if self.state.has_just_ended(job) {
            return Err(Refusal::AlreadyEnded { job });
        }
        let ended = self.store.ended_by_id(job);
        let ended = ended.map_err(|error| store_refusal(&error))?;
        let ended = ended.iter().find(|it| it.id == job);
        Ok(ended.ok_or(Refusal::NoSuchJob { job })?.submitter.uid)
    }
}
