//! `why`: what a job waits for.

use super::Owner;
use api::{Answer, CpusAndGpus, JobHolds, LicenceNeed, Refusal, WhyWaiting};
use model::{JobId, JobState, Timestamp};
use sched::Amount;

impl Owner {
    /// Why a live job waits.
    pub(super) fn why(&self, job: JobId, now: Timestamp) -> Answer {
        let Some(record) = self.state.job(job) else {
            return Answer::Refused(Refusal::NoSuchJob { job });
        };
        let Some(why) = self.state.why(job, now) else {
            return Answer::Refused(Refusal::Invalid {
                message: format!("job {job} does not wait"),
            });
        };
        let wire = |amount: Amount| CpusAndGpus {
            cpus: amount.cpus,
            gpus: amount.gpus,
        };
        let reason = JobState::Pending { reason: why.reason };
        let holders = why.holders.into_iter().map(|holder| JobHolds {
            job: holder.job,
            user: holder.user,
            holds: wire(holder.holds),
            until: holder.until,
        });
        let licences = why.licences.into_iter().map(|need| LicenceNeed {
            name: need.name,
            asked: need.asked,
            there: need.there,
            reserved: need.reserved,
            held: need.held,
        });
        let (start, nodes) = why.start.map(|start| (start.at, start.nodes)).unzip();
        Answer::Why(Box::new(WhyWaiting {
            job: record.id,
            reason: model::reason_text(&reason),
            needs: why.needs.map(wire),
            free: wire(why.free),
            free_on_one: wire(why.free_on_one),
            there: wire(why.there),
            ahead: why.ahead,
            holders: holders.collect(),
            start,
            nodes: nodes.unwrap_or_default(),
            licences: licences.collect(),
            reservations: why.reservations,
            too_late: why.too_late,
            limit: why.limit,
            instead: why.instead,
        }))
    }
}
