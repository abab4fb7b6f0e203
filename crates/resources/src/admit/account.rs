//! By which account and QOS a job runs, and whether its user may.

use super::{Change, Denial, Finding, LimitPath, Requested, Subject, There};
use super::{Judge, finding, has_flag, listed};
use cluster_file::named;
use cluster_file::{
    Association, ClusterFile, List, Named, Qos, ROOT_ACCOUNT, Source, Sourced, User,
};
use model::Request;
use model::option_table::Key;

/// Who asks, and by which account and QOS.
pub(super) struct Who<'a> {
    pub user: Option<&'a Named<User>>,
    /// Rules on users are not for root.
    pub is_root: bool,
    pub account: Option<String>,
    /// What holds for the user in that account: of the partition that the job names first, else of all.
    pub association: Option<&'a Named<Association>>,
    /// The QOS that the job runs by: several where the file says two things.
    pub qos: Vec<&'a Named<Qos>>,
}

impl<'a> Who<'a> {
    /// Finds account and QOS, and says what is wrong with them.
    pub fn of(
        file: &'a ClusterFile,
        request: &Request,
        user: Option<&str>,
        judge: &mut Judge<'a, '_>,
    ) -> Who<'a> {
        let known = user.map_or_else(|| named(&file.users, "*"), |user| file.user(user));
        let account = request
            .account
            .clone()
            .or_else(|| Some(known?.default_account.as_ref()?.value.clone()))
            .or_else(|| has_root_alone(file).then(|| ROOT_ACCOUNT.to_owned()));
        judge.account(known, request.account.as_deref(), user);
        let partition = file.first_partition(request.partition.as_deref());
        let association = known
            .zip(account.as_deref())
            .and_then(|(user, account)| user.association(account, partition));
        if let (Some(user), Some(account)) = (known, account.as_deref()) {
            judge.association(user, account, association);
        }
        let qos = judge.qos(known, account.as_deref(), association);
        Who {
            user: known,
            is_root: user == Some("root"),
            account,
            association,
            qos,
        }
    }

    /// The QOS that the user may name; none where the file doesn't say it.
    pub fn own_qos(&self, file: &'a ClusterFile) -> Option<&'a Sourced<Vec<String>>> {
        own_qos(file, self.user, self.account.as_deref(), self.association)
    }
}

/// The account and the QOS that a job of a user counts for: those that it names, else the user's
/// own. A QOS called `normal` is the last resort, as `_determine_and_validate_qos` of slurmctld has
/// it, where the user may have it.
#[must_use]
pub fn charged(
    file: &ClusterFile,
    request: &Request,
    user: &str,
) -> (Option<String>, Option<String>) {
    let known = file.user(user);
    let account = request.account.clone().or_else(|| {
        let known = known?;
        let default = known.default_account.as_ref().map(|own| own.value.clone());
        let first = || known.account_names().first().map(|name| (*name).to_owned());
        // One who is named in none stands below the root, as the accounting has it.
        default
            .or_else(first)
            .or_else(|| Some(ROOT_ACCOUNT.to_owned()))
    });
    let qos = request.qos.clone().or_else(|| {
        let of_account = account.as_deref().unwrap_or_default();
        let partition = file.first_partition(request.partition.as_deref());
        let default = file.default_qos(user, of_account, partition);
        default.map(|own| own.value.clone()).or_else(|| {
            let normal = file.qos("normal")?;
            let association = known.and_then(|user| user.association(of_account, partition));
            let own = own_qos(file, known, account.as_deref(), association);
            let may = own.is_none_or(|own| listed(own, &normal.name));
            may.then(|| normal.name.clone())
        })
    });
    (account, qos)
}

fn own_qos<'a>(
    file: &'a ClusterFile,
    user: Option<&'a Named<User>>,
    account: Option<&str>,
    association: Option<&'a Named<Association>>,
) -> Option<&'a Sourced<Vec<String>>> {
    let of_account = association.and_then(|own| own.qos.as_ref());
    let above = || file.account_value(account?, |account| account.qos.as_ref());
    of_account.or_else(|| user?.qos.as_ref()).or_else(above)
}

/// Whether there is no account but the root, below which all stand as long as `sacctmgr` of an engine made no other.
fn has_root_alone(file: &ClusterFile) -> bool {
    let of_users = file.users.iter().map(|user| user.accounts.as_ref());
    let is_root = |account: &str| account == ROOT_ACCOUNT;
    let mut of_users = of_users.map(|own| own.is_some_and(|own| own.iter().all(|it| is_root(it))));
    matches!(&file.accounts[..], [only] if is_root(&only.name)) && of_users.all(|is_it| is_it)
}

impl<'a> Judge<'a, '_> {
    fn account(&mut self, user: Option<&Named<User>>, asked: Option<&str>, name: Option<&str>) {
        let file = self.file;
        if !self.enforces_accounts() || (file.accounts.is_empty() && file.users.is_empty()) {
            return;
        }
        // Without a list they are in those of which the file says something.
        let of_associations = user.filter(|user| !user.associations.is_empty());
        let of_associations = of_associations.map(|user| {
            let names = user.account_names().into_iter().map(str::to_owned);
            Sourced::new(names.collect(), Source::Stated)
        });
        let own = user.and_then(|user| user.accounts.as_ref());
        let own = own.or(of_associations.as_ref());
        if let (None, Some(name)) = (user, name)
            && !file.users.is_empty()
            && !has_root_alone(file)
        {
            let asked = Requested::User(name.to_owned());
            let instead = vec![Change::GetAccount];
            let found = finding(Denial::Account, asked, There::NoAssociation, instead);
            self.found.push(found.about(Subject::Several));
            return;
        }
        let Some(asked) = asked else { return };
        let named = || Requested::Option(Key::Account, asked.to_owned());
        let accounts: Vec<&str> = file.accounts.iter().map(|a| a.name.as_str()).collect();
        // The root is over all others, whether a file names it or not.
        let mut known = accounts.iter().chain([&ROOT_ACCOUNT]);
        let is_known = accounts.is_empty() || known.any(|a| a.eq_ignore_ascii_case(asked));
        match own {
            Some(own)
                if !own
                    .iter()
                    .any(|account| account.eq_ignore_ascii_case(asked)) =>
            {
                let there = There::OwnAccounts(own.value.clone());
                let instead = out_or(Key::Account, own.first());
                let path = LimitPath::User(
                    user.map_or_else(String::new, |user| user.name.clone()),
                    "accounts",
                );
                let mut found = finding(Denial::Account, named(), there, instead).at(path, own);
                // An account that the file doesn't know may be one of theirs.
                found.assumed |=
                    is_of_author(user, own) || !(is_known && file.knows_all(List::Accounts));
                self.found.push(found);
            }
            None if !is_known => {
                let there = There::Names(file.list_words(List::Accounts, &accounts));
                let near = model::nearest(asked, accounts.iter().copied());
                let instead = out_or(Key::Account, near.or(accounts.first().copied()));
                self.found.push(Finding {
                    assumed: !file.knows_all(List::Accounts),
                    ..finding(Denial::Account, named(), there, instead)
                });
            }
            _ => {}
        }
    }

    /// Whether jobs run only under accounts that there are.
    fn enforces_accounts(&self) -> bool {
        let words = self.file.limits.enforce.as_ref();
        words.is_none_or(|words| !words.is_empty())
    }

    /// A job has one association, that of the first of its partitions (`_find_part_assoc` of 22.05's `job_mgr.c`).
    fn association(
        &mut self,
        user: &'a Named<User>,
        account: &str,
        association: Option<&'a Named<Association>>,
    ) {
        let only = user.partitions_of(account);
        let names = self.request.partition.as_deref();
        let names_none = names.is_none();
        let first = self.file.first_partition(names);
        let path = || LimitPath::Association {
            user: user.name.clone(),
            account: account.to_owned(),
            key: "partition",
        };
        if let (Some(only), Some(first), None) = (only, first, association) {
            if self.enforces_accounts() {
                let instead = only.iter().map(|name| Change::partition(name)).collect();
                let asked = Requested::AccountIn(account.to_owned(), first.to_owned());
                let names = only.iter().map(|name| name.value.clone()).collect();
                let there = There::AccountIn(account.to_owned(), names);
                let found = finding(Denial::PartitionAccount, asked, there, instead);
                let mut found = found.at(path(), only[0]);
                // Where another may be the default, a job that names none may go there.
                let default = self.file.default_partition();
                let default = default.and_then(|partition| partition.default.as_ref());
                found.assumed |= names_none && default.is_some_and(Sourced::is_disputed);
                self.found.push(found);
            }
            return;
        }
        let Some((names, association)) = names.zip(association) else {
            return;
        };
        let is_other = |other: Option<&Named<Association>>| {
            !other.is_some_and(|other| std::ptr::eq(other, association))
        };
        let others = names.split(',').skip(1);
        let mut others = others.map(|name| user.association(account, Some(name)));
        if let Some(other) = others.find(|other| is_other(*other)) {
            let asked = Requested::Option(Key::Partition, names.to_owned());
            let there = There::OtherLimits(account.to_owned());
            let first = first.into_iter().map(Change::partition).collect();
            let found = finding(Denial::SeveralAssociations, asked, there, first);
            let own = other.and_then(|other| other.partition.as_ref());
            let own = own.or(association.partition.as_ref());
            self.found.extend(own.map(|own| found.at(path(), own)));
        }
    }

    fn qos(
        &mut self,
        user: Option<&'a Named<User>>,
        account: Option<&str>,
        association: Option<&'a Named<Association>>,
    ) -> Vec<&'a Named<Qos>> {
        let own = self.own_or_named_qos(user, account, association);
        if let Some(qos) = own.first() {
            self.outside_reservation(qos);
        }
        own
    }

    /// `RequiresReservation`: a QOS for jobs in reservations alone.
    fn outside_reservation(&mut self, qos: &Named<Qos>) {
        let flags = qos.flags.as_ref();
        let flags = flags.filter(|_| has_flag(qos, "RequiresReservation"));
        if let (Some(flags), None) = (flags, &self.request.rare.reservation) {
            let asked = Requested::Option(Key::Qos, qos.name.clone());
            let there = There::QosForReservations(qos.name.clone());
            let is_named = self.request.qos.is_some();
            let without = is_named.then_some(Change::LeaveOut(Key::Qos));
            let instead = std::iter::once(Change::Reservation)
                .chain(without)
                .collect();
            let found = finding(Denial::Qos, asked, there, instead);
            let path = LimitPath::Qos(qos.name.clone(), "flags");
            self.found.push(found.at(path, flags));
        }
    }

    fn own_or_named_qos(
        &mut self,
        user: Option<&'a Named<User>>,
        account: Option<&str>,
        association: Option<&'a Named<Association>>,
    ) -> Vec<&'a Named<Qos>> {
        let file = self.file;
        let Some(asked) = &self.request.qos else {
            let user = user.map_or("*", |user| user.name.as_str());
            let partition = file.first_partition(self.request.partition.as_deref());
            let default = file.default_qos(user, account.unwrap_or_default(), partition);
            let names = default.into_iter().flat_map(|default| default.all());
            return names.filter_map(|name| file.qos(name)).collect();
        };
        if file.qos.is_empty() {
            return Vec::new();
        }
        let names: Vec<&str> = file.qos.iter().map(|qos| qos.name.as_str()).collect();
        let Some(qos) = file.qos(asked) else {
            let near = model::nearest(asked, names.iter().copied());
            let own = own_qos(file, user, account, association).and_then(|own| own.first());
            let instead = match near {
                Some(near) => vec![Change::DidYouMean(Key::Qos, near.to_owned())],
                None => out_or(Key::Qos, own.map(String::as_str).or(Some(names[0]))),
            };
            self.found.push(Finding {
                assumed: !file.knows_all(List::Qos),
                ..finding(
                    Denial::Qos,
                    Requested::Option(Key::Qos, asked.clone()),
                    There::Names(file.list_words(List::Qos, &names)),
                    instead,
                )
            });
            return Vec::new();
        };
        let own = own_qos(file, user, account, association);
        if let Some(own) = own.filter(|own| !listed(own, asked)) {
            let mut found = finding(
                Denial::Qos,
                Requested::Option(Key::Qos, asked.clone()),
                There::OwnQos(own.value.clone()),
                out_or(Key::Qos, own.first()),
            );
            found.assumed = own.is_assumed() || is_of_author(user, own);
            found.span = own.span.clone();
            self.found.push(found);
        }
        vec![qos]
    }
}

/// Without an option, or with the first of those that there are.
fn out_or(key: Key, first: Option<impl AsRef<str>>) -> Vec<Change> {
    let set = first.map(|first| Change::Set(key, first.as_ref().to_owned()));
    std::iter::once(Change::LeaveOut(key)).chain(set).collect()
}

/// A document lists its author's accounts and QOS, not what everyone can have.
fn is_of_author<T>(user: Option<&Named<User>>, own: &Sourced<T>) -> bool {
    user.is_some_and(|user| user.name == "*") && matches!(own.source, Source::Quote(_))
}
