//! By which account and QOS a job runs, and whether its user may.

use super::{Denial, Refusal, Subject};
use super::{Judge, listed, refusal};
use cluster_file::named;
use cluster_file::{ClusterFile, List, Named, Qos, Source, Sourced, User};
use model::Request;

/// Who asks, and by which account and QOS.
pub(super) struct Who<'a> {
    pub user: Option<&'a Named<User>>,
    pub account: Option<String>,
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
            .or_else(|| Some(known?.default_account.as_ref()?.value.clone()));
        judge.account(known, request.account.as_deref(), user);
        let qos = judge.qos(known, account.as_deref());
        Who {
            user: known,
            account,
            qos,
        }
    }

    /// The QOS that the user may name; none where the file doesn't say it.
    pub fn own_qos(&self, file: &'a ClusterFile) -> Option<&'a Sourced<Vec<String>>> {
        own_qos(file, self.user, self.account.as_deref())
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
        default.or_else(|| known.accounts.as_ref()?.first().cloned())
    });
    let qos = request.qos.clone().or_else(|| {
        let of_account = account.as_deref().unwrap_or_default();
        let default = file.default_qos(user, of_account);
        default.map(|own| own.value.clone()).or_else(|| {
            let normal = file.qos("normal")?;
            let own = own_qos(file, known, account.as_deref());
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
) -> Option<&'a Sourced<Vec<String>>> {
    let of_account = account.and_then(|account| {
        let own = user.and_then(|user| named(&user.associations, account));
        own.and_then(|own| own.qos.as_ref())
    });
    let above = || file.account_value(account?, |account| account.qos.as_ref());
    of_account.or_else(|| user?.qos.as_ref()).or_else(above)
}

impl<'a> Judge<'a, '_> {
    fn account(&mut self, user: Option<&Named<User>>, asked: Option<&str>, name: Option<&str>) {
        let file = self.file;
        let enforced = file
            .limits
            .enforce
            .as_ref()
            .is_none_or(|words| !words.is_empty());
        if !enforced || (file.accounts.is_empty() && file.users.is_empty()) {
            return;
        }
        let own = user.and_then(|user| user.accounts.as_ref());
        if let (None, Some(name)) = (user, name)
            && !file.users.is_empty()
        {
            let there = "no association of that user";
            let todo = "ask the cluster's people for an account";
            let refusal = refusal(Denial::Account, format!("by {name}"), there, todo);
            self.found.push(refusal.about(Subject::Several));
            return;
        }
        let Some(asked) = asked else { return };
        let accounts: Vec<&str> = file.accounts.iter().map(|a| a.name.as_str()).collect();
        let is_known =
            accounts.is_empty() || accounts.iter().any(|a| a.eq_ignore_ascii_case(asked));
        match own {
            Some(own)
                if !own
                    .iter()
                    .any(|account| account.eq_ignore_ascii_case(asked)) =>
            {
                let there = format!("accounts {}", own.join(", "));
                let todo = match own.first() {
                    Some(first) => format!("leave --account out, or --account={first}"),
                    None => "leave --account out".to_owned(),
                };
                let path =
                    user.map_or_else(String::new, |user| format!("user.{}.accounts", user.name));
                let mut refusal =
                    refusal(Denial::Account, format!("--account={asked}"), there, todo)
                        .at(path, own);
                // An account that the file doesn't know may be one of theirs.
                refusal.assumed |=
                    is_of_author(user, own) || !(is_known && file.knows_all(List::Accounts));
                self.found.push(refusal);
            }
            None if !is_known => {
                let there = file.list_words(List::Accounts, &accounts);
                let near = model::nearest(asked, accounts.iter().copied());
                let todo = match near.or(accounts.first().copied()) {
                    Some(one) => format!("leave --account out, or --account={one}"),
                    None => "leave --account out".to_owned(),
                };
                self.found.push(Refusal {
                    assumed: !file.knows_all(List::Accounts),
                    ..refusal(Denial::Account, format!("--account={asked}"), there, todo)
                });
            }
            _ => {}
        }
    }

    fn qos(&mut self, user: Option<&Named<User>>, account: Option<&str>) -> Vec<&'a Named<Qos>> {
        let file = self.file;
        let Some(asked) = &self.request.qos else {
            let user = user.map_or("*", |user| user.name.as_str());
            let default = file.default_qos(user, account.unwrap_or_default());
            let names = default.into_iter().flat_map(|default| default.all());
            return names.filter_map(|name| file.qos(name)).collect();
        };
        if file.qos.is_empty() {
            return Vec::new();
        }
        let names: Vec<&str> = file.qos.iter().map(|qos| qos.name.as_str()).collect();
        let Some(qos) = file.qos(asked) else {
            let near = model::nearest(asked, names.iter().copied());
            let refusal = refusal(
                Denial::Qos,
                format!("--qos={asked}"),
                file.list_words(List::Qos, &names),
                match (
                    near,
                    own_qos(file, user, account).and_then(|own| own.first()),
                ) {
                    (Some(near), _) => format!("did you mean {near}?"),
                    (None, Some(own)) => format!("leave --qos out, or --qos={own}"),
                    (None, None) => format!("leave --qos out, or --qos={}", names[0]),
                },
            );
            self.found.push(Refusal {
                assumed: !file.knows_all(List::Qos),
                ..refusal
            });
            return Vec::new();
        };
        let own = own_qos(file, user, account);
        if let Some(own) = own.filter(|own| !listed(own, asked)) {
            let mut refusal = refusal(
                Denial::Qos,
                format!("--qos={asked}"),
                format!("yours are {}", own.join(", ")),
                match own.first() {
                    Some(first) => format!("leave --qos out, or --qos={first}"),
                    None => "leave --qos out".to_owned(),
                },
            );
            refusal.assumed = own.is_assumed() || is_of_author(user, own);
            refusal.span = own.span.clone();
            self.found.push(refusal);
        }
        vec![qos]
    }
}

/// A document lists its author's accounts and QOS, not what everyone can have.
fn is_of_author<T>(user: Option<&Named<User>>, own: &Sourced<T>) -> bool {
    user.is_some_and(|user| user.name == "*") && matches!(own.source, Source::Quote(_))
}
