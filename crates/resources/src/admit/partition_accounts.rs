//! Accounts and QOS that a partition takes: `AllowAccounts`, `DenyAccounts`, `AllowQos`, `DenyQos`.

use super::account::Who;
use super::{Change, Denial, Judge, LimitPath, Requested, There};
use super::{finding, listed};
use crate::{NotPermitted, Trust};
use cluster_file::{Named, Partition, Sourced};
use model::option_table::Key;

/// A key of a partition, and the names that it lists.
type List<'a> = (&'static str, &'a Option<Sourced<Vec<String>>>);

/// What a job has that a partition does not take.
struct Wanted<'a> {
    denial: Denial,
    asked: Requested,
    /// Those that may, and those that may not.
    lists: [List<'a>; 2],
    /// What of its list it could have instead.
    instead: &'a dyn Fn(&Sourced<Vec<String>>) -> Option<Change>,
}

impl Judge<'_, '_> {
    /// Whether the partition takes the job's account and QOS.
    pub(super) fn accounts(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let (file, name) = (self.file, &partition.name);
        let cluster = self.idle.cluster(Trust::All);
        let Some(own) = cluster.find_partition(name) else {
            return;
        };
        let access = &cluster.partition(own).access;
        if let Some(account) = &who.account
            && let Some(denied) = access.denial_of_account(name, account)
        {
            let first = |list: &Sourced<Vec<String>>| {
                let other = list.first().filter(|_| denied.is_not_listed);
                other.map(|first| Change::AccountIfYours(first.clone()))
            };
            let wanted = Wanted {
                denial: Denial::PartitionAccount,
                asked: Requested::AccountIn(account.clone(), name.clone()),
                lists: [
                    ("allow_accounts", &partition.allow_accounts),
                    ("deny_accounts", &partition.deny_accounts),
                ],
                instead: &first,
            };
            self.not_permitted((name, who), &denied, wanted);
        }
        if let Some(qos) = who.qos.first()
            && let Some(denied) = access.denial_of_qos(name, &qos.name)
        {
            let usable = |list: &Sourced<Vec<String>>| {
                let own = who.own_qos(file);
                let names = file.qos.iter().map(|qos| qos.name.as_str());
                let mut usable = names
                    .filter(|name| own.is_none_or(|own| listed(own, name)))
                    .filter(|name| listed(list, name) == denied.is_not_listed);
                let other = usable.next();
                other.map(|other| Change::Set(Key::Qos, other.to_owned()))
            };
            let wanted = Wanted {
                denial: Denial::PartitionQos,
                asked: Requested::QosIn(qos.name.clone(), name.clone()),
                lists: [
                    ("allow_qos", &partition.allow_qos),
                    ("deny_qos", &partition.deny_qos),
                ],
                instead: &usable,
            };
            self.not_permitted((name, who), &denied, wanted);
        }
    }

    fn not_permitted(
        &mut self,
        (partition, who): (&str, &Who<'_>),
        denied: &NotPermitted,
        wanted: Wanted<'_>,
    ) {
        let [allowed, refused] = wanted.lists;
        let (key, list) = if denied.is_not_listed {
            allowed
        } else {
            refused
        };
        let Some(list) = list else {
            return;
        };
        let other = (wanted.instead)(list).into_iter();
        let instead = other.chain([self.elsewhere(partition, who)]).collect();
        let there = There::Rule(key, list.value.clone());
        let found = finding(wanted.denial, wanted.asked, there, instead);
        let found = found.at(LimitPath::Partition(partition.to_owned(), key), list);
        self.over_partition(denied.reason.clone(), found);
    }
}
