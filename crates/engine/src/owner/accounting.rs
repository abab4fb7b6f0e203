//! Accounts, users, associations and QOS: kept in the store as they were last set. What is set holds
//! at once, for jobs that wait too.

use super::Owner;
use crate::store::StoreError;
use api::{Answer, Refusal};
use model::{Accounting, Timestamp};
use sched::{Event, Job};
use std::sync::Arc;

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
        let failed = |error: StoreError| Refusal::Store {
            message: error.to_string(),
        };
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
        self.store.set_accounting(next, &changes).map_err(failed)?;
        self.cluster = self.cluster.with_accounting(next);
        self.state.apply(Event::Reconfigured {
            cluster: Arc::clone(&self.cluster.cluster),
            at,
        });
        Ok(Answer::Done)
    }
}
