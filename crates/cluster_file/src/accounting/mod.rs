//! What `sacctmgr` manages, as the tables of a cluster file, and back.
//!
//! An engine starts with what its cluster file says of accounts, users and QOS. What `sacctmgr`
//! changes then stands in their place.

use super::{
    Account, Association, ClusterFile, Extent, Licence, Lists, Named, PreemptMode, Qos, Source,
    Sourced, Tres, User, named,
};
use model::{
    Account as KeptAccount, AccountAssociation, AccountUser, Accounting, LicenceResource,
    Qos as KeptQos, Seconds, Settings, TimeLimitRequest,
};

/// A value of a cluster file as `sacctmgr` keeps it.
pub(super) trait Setting: Sized {
    /// The value of a kept text; none where there is no such value.
    fn of_kept(text: &str) -> Option<Self>;
    /// The text that is kept; none where there is nothing to keep.
    fn kept(&self) -> Option<String>;
}

impl Setting for u32 {
    fn of_kept(text: &str) -> Option<u32> {
        text.parse().ok()
    }

    fn kept(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for f64 {
    fn of_kept(text: &str) -> Option<f64> {
        text.parse().ok()
    }

    fn kept(&self) -> Option<String> {
        Some(format!("{self:.6}"))
    }
}

impl Setting for String {
    fn of_kept(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn kept(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl Setting for Vec<String> {
    fn of_kept(text: &str) -> Option<Vec<String>> {
        Some(text.split(',').map(str::to_owned).collect())
    }

    fn kept(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.join(","))
    }
}

impl Setting for Seconds {
    fn of_kept(text: &str) -> Option<Seconds> {
        text.parse().ok().map(Seconds)
    }

    fn kept(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

impl Setting for TimeLimitRequest {
    fn of_kept(text: &str) -> Option<TimeLimitRequest> {
        Seconds::of_kept(text).map(TimeLimitRequest::Limit)
    }

    fn kept(&self) -> Option<String> {
        match self {
            TimeLimitRequest::Limit(limit) => limit.kept(),
            TimeLimitRequest::Unlimited => None,
        }
    }
}

impl Setting for Tres {
    fn of_kept(text: &str) -> Option<Tres> {
        Tres::parse(text).ok()
    }

    fn kept(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for PreemptMode {
    fn of_kept(text: &str) -> Option<PreemptMode> {
        use PreemptMode::{Cancel, Off, Requeue, Suspend};
        let mut modes = [Off, Cancel, Requeue, Suspend].into_iter();
        modes.find(|mode| mode.word().eq_ignore_ascii_case(text))
    }

    fn kept(&self) -> Option<String> {
        Some(self.word().to_owned())
    }
}

/// A table whose values `sacctmgr` keeps under names of its own.
trait Table {
    /// The values that it has, under those names.
    fn settings(&self) -> Settings;
    /// Puts others in their place.
    fn take(&mut self, settings: &Settings);
}

/// The names under which the keys of a table are kept.
macro_rules! kept {
    ($table:ident { $( $field:ident = $name:literal, )* }) => {
        impl Table for $table {
            fn settings(&self) -> Settings {
                let mut settings = Settings::new();
                $(
                    let kept = self.$field.as_ref().and_then(|own| own.value.kept());
                    if let Some(text) = kept {
                        settings.insert($name.to_owned(), text);
                    }
                )*
                settings
            }

            fn take(&mut self, settings: &Settings) {
                $(
                    let kept = settings.get($name).and_then(|text| Setting::of_kept(text));
                    self.$field = kept.map(stated);
                )*
            }
        }
    };
}

kept!(Qos {
    priority = "priority",
    max_wall = "maxwall",
    max_jobs_per_user = "maxjobsperuser",
    max_submit_per_user = "maxsubmitjobsperuser",
    max_jobs_per_account = "maxjobsperaccount",
    max_submit_per_account = "maxsubmitjobsperaccount",
    max_tres_per_job = "maxtres",
    max_tres_per_node = "maxtrespernode",
    max_tres_per_user = "maxtresperuser",
    max_tres_per_account = "maxtresperaccount",
    min_tres_per_job = "mintres",
    group_tres = "grptres",
    group_jobs = "grpjobs",
    group_submit = "grpsubmitjobs",
    group_wall = "grpwall",
    group_tres_minutes = "grptresmins",
    group_tres_run_minutes = "grptresrunmins",
    max_tres_minutes_per_job = "maxtresmins",
    group_jobs_accrue = "grpjobsaccrue",
    max_jobs_accrue_per_account = "maxjobsaccrueperaccount",
    max_jobs_accrue_per_user = "maxjobsaccrueperuser",
    min_priority_threshold = "minpriothresh",
    limit_factor = "limitfactor",
    preempt = "preempt",
    preempt_mode = "preemptmode",
    grace_time = "gracetime",
    preempt_exempt_time = "preemptexempttime",
    usage_factor = "usagefactor",
    flags = "flags",
});

/// An account and a user in one have the same values.
macro_rules! kept_of_members {
    ($( $table:ident )*) => { $(
        kept!($table {
            shares = "fairshare",
            priority = "priority",
            default_qos = "defaultqos",
            max_jobs = "maxjobs",
            max_submit = "maxsubmitjobs",
            max_wall = "maxwall",
            max_tres_per_job = "maxtres",
            max_tres_per_node = "maxtrespernode",
            group_tres = "grptres",
            group_jobs = "grpjobs",
            group_submit = "grpsubmitjobs",
            group_wall = "grpwall",
            group_tres_minutes = "grptresmins",
            group_tres_run_minutes = "grptresrunmins",
            max_tres_minutes_per_job = "maxtresmins",
            group_jobs_accrue = "grpjobsaccrue",
            max_jobs_accrue = "maxjobsaccrue",
            min_priority_threshold = "minpriothresh",
        });
    )* };
}

kept_of_members!(Account Association);

pub(super) fn stated<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Source::Stated)
}

pub(super) fn table<T>(name: &str, body: T) -> Named<T> {
    Named {
        name: name.to_owned(),
        span: 0..0,
        body,
    }
}

fn list(own: &Option<Sourced<Vec<String>>>) -> Option<Vec<String>> {
    own.as_ref().map(|own| own.value.clone())
}

/// The account over all others, whether a file names it or not.
pub const ROOT_ACCOUNT: &str = "root";

impl ClusterFile {
    /// What `sacctmgr` shows of this cluster before it has changed anything. `owner` is who runs
    /// the engine: a user who has what the file gives to everyone, and may change all of it.
    #[must_use]
    pub fn accounting(&self, cluster: &str, owner: &str) -> Accounting {
        let mut accounting = Accounting::new(cluster, owner);
        if !self.qos.is_empty() {
            let kept = |qos: &Named<Qos>| KeptQos {
                name: qos.name.clone(),
                description: qos.name.clone(),
                settings: qos.settings(),
                id: 0,
            };
            accounting.qos = self.qos.iter().map(kept).collect();
            let names = self.qos.iter().map(|qos| qos.name.clone());
            accounting.associations[0].qos = Some(names.collect());
        }
        for account in &self.accounts {
            let association = AccountAssociation {
                account: account.name.clone(),
                user: None,
                parent: (account.name != ROOT_ACCOUNT).then(|| match &account.parent {
                    Some(parent) => parent.value.clone(),
                    None => ROOT_ACCOUNT.to_owned(),
                }),
                partition: None,
                qos: list(&account.qos),
                settings: account.settings(),
                id: 0,
            };
            if account.name == ROOT_ACCOUNT {
                let all = accounting.associations[0].qos.take();
                accounting.associations[0] = association;
                accounting.associations[0].qos = list(&account.qos).or(all);
                continue;
            }
            accounting
                .accounts
                .push(kept_account(&account.name, account));
            accounting.associations.push(association);
        }
        let is_named = self.users.iter().any(|user| user.name == owner);
        for user in &self.users {
            let name = match &user.name[..] {
                "*" if is_named => continue,
                "*" => owner,
                name => name,
            };
            self.add_user(&mut accounting, name, user);
        }
        accounting.numbered()
    }

    fn add_user(&self, accounting: &mut Accounting, name: &str, user: &Named<User>) {
        let accounts = user.account_names().into_iter();
        let mut accounts: Vec<String> = accounts.map(str::to_owned).collect();
        let default = user.default_account.as_ref().map(|own| own.value.clone());
        let default = default.or(accounts.first().cloned());
        let has_none = accounts.is_empty();
        if has_none && user.accounts.is_none() {
            // Of whom the file names no account may use any, also once something else is changed.
            let all = self.accounts.iter().map(|account| account.name.clone());
            accounts.extend(all.filter(|account| account != ROOT_ACCOUNT));
        }
        let admin = match user.admin.as_ref().map(|own| own.value.as_str()) {
            Some("admin") => "Administrator",
            Some("operator") => "Operator",
            _ => "None",
        };
        match accounting.users.iter_mut().find(|it| it.name == name) {
            // The owner stays the administrator.
            Some(known) => {
                known.default_account = default.unwrap_or_else(|| ROOT_ACCOUNT.to_owned())
            }
            None => accounting.users.push(AccountUser {
                name: name.to_owned(),
                default_account: default.unwrap_or_default(),
                admin: admin.to_owned(),
                ..AccountUser::default()
            }),
        }
        // Who is in no account has what the file gives below the root.
        let below_root = accounting.associations.iter_mut();
        let mut below_root =
            below_root.filter(|it| it.account == ROOT_ACCOUNT && it.user.as_deref() == Some(name));
        if let (true, Some(own)) = (has_none, below_root.next()) {
            own.qos = list(&user.qos);
            if let Some(qos) = &user.default_qos {
                own.settings
                    .insert("defaultqos".to_owned(), qos.value.clone());
            }
        }
        for account in accounts {
            if accounting.account_association(&account).is_none() {
                accounting
                    .accounts
                    .push(kept_account(&account, &Account::default()));
                accounting.associations.push(AccountAssociation {
                    account: account.clone(),
                    parent: Some(ROOT_ACCOUNT.to_owned()),
                    ..AccountAssociation::default()
                });
            }
            let mut of_account = user.associations.iter().filter(|own| own.name == account);
            // Of whom the account alone is named nothing else is said.
            let first = of_account.next();
            for own in std::iter::once(first).chain(of_account.map(Some)) {
                let association = association(user, name, &account, own);
                // Of root, whom the file may name, there is one from the start.
                let what = |it: &AccountAssociation| {
                    (it.account.clone(), it.user.clone(), it.partition.clone())
                };
                let mut there = accounting.associations.iter_mut();
                match there.find(|it| what(it) == what(&association)) {
                    Some(known) => *known = association,
                    None => accounting.associations.push(association),
                }
            }
        }
    }

    /// The same cluster with the accounts, users and QOS that `sacctmgr` keeps.
    #[must_use]
    pub fn with_accounting(&self, accounting: &Accounting) -> ClusterFile {
        let qos = |kept: &KeptQos| {
            let mut body =
                named(&self.qos, &kept.name).map_or_else(Qos::default, |own| own.body.clone());
            body.take(&kept.settings);
            table(&kept.name, body)
        };
        let account = |kept: &KeptAccount| {
            let mut body = named(&self.accounts, &kept.name)
                .map_or_else(Account::default, |own| own.body.clone());
            body.parent = None;
            body.qos = None;
            if let Some(own) = accounting.account_association(&kept.name) {
                body.take(&own.settings);
                body.qos = own.qos.clone().map(stated);
                body.parent = own.parent.clone().map(stated);
            }
            body.description = Some(stated(kept.description.clone()));
            body.organization = Some(stated(kept.organization.clone()));
            table(&kept.name, body)
        };
        let user = |kept: &AccountUser| {
            let groups = self.user(&kept.name).and_then(|own| own.groups.clone());
            let mine = accounting.associations.iter();
            let mine = mine.filter(|own| own.user.as_ref() == Some(&kept.name));
            let associations: Vec<Named<Association>> = mine
                .map(|own| {
                    let mut body = Association::default();
                    body.take(&own.settings);
                    body.partition = own.partition.clone().map(stated);
                    body.qos = own.qos.clone().map(stated);
                    table(&own.account, body)
                })
                .collect();
            let admin = match &kept.admin[..] {
                "Administrator" => "admin",
                "Operator" => "operator",
                _ => "none",
            };
            let default = Some(kept.default_account.clone()).filter(|name| !name.is_empty());
            let mut body = User {
                default_account: default.map(stated),
                groups,
                admin: Some(stated(admin.to_owned())),
                associations,
                ..User::default()
            };
            let accounts = body.account_names().into_iter().map(str::to_owned);
            body.accounts = Some(stated(accounts.collect()));
            table(&kept.name, body)
        };
        // Who is in no account any more has nothing to share.
        let is_member = |kept: &&AccountUser| {
            let mut all = accounting.associations.iter();
            all.any(|own| own.user.as_ref() == Some(&kept.name))
        };
        // Of an account that went with the one over it the name is left.
        let is_of_cluster =
            |kept: &&KeptAccount| accounting.account_association(&kept.name).is_some();
        let whole = || Some(stated(Extent::Whole));
        let licence = |it: &LicenceResource| {
            let body = Licence {
                count: Some(stated(it.of_cluster())),
                ..Licence::default()
            };
            table(&it.full_name(), body)
        };
        let served = accounting.resources.iter();
        let served = served.filter(|it| it.allowed.is_some()).map(licence);
        ClusterFile {
            licences: self.licences.iter().cloned().chain(served).collect(),
            qos: accounting.qos.iter().map(qos).collect(),
            accounts: accounting
                .accounts
                .iter()
                .filter(is_of_cluster)
                .map(account)
                .collect(),
            users: accounting
                .users
                .iter()
                .filter(is_member)
                .map(user)
                .collect(),
            lists: Lists {
                qos: whole(),
                accounts: whole(),
                ..self.lists.clone()
            },
            ..self.clone()
        }
    }
}

fn kept_account(name: &str, account: &Account) -> KeptAccount {
    let description = account.description.as_ref();
    let parent = account
        .parent
        .as_ref()
        .filter(|own| own.value != ROOT_ACCOUNT);
    let organization = account.organization.as_ref().or(parent);
    KeptAccount {
        name: name.to_owned(),
        description: description.map_or_else(|| name.to_owned(), |own| own.value.clone()),
        organization: organization.map_or_else(|| name.to_owned(), |own| own.value.clone()),
        coordinators: Vec::new(),
    }
}

/// The association of a user in an account; `own` is what the file says of it alone.
fn association(
    user: &Named<User>,
    name: &str,
    account: &str,
    own: Option<&Named<Association>>,
) -> AccountAssociation {
    let mut settings = own.map_or_else(Settings::new, |own| own.settings());
    if let Some(qos) = &user.default_qos {
        let default = settings.entry("defaultqos".to_owned());
        default.or_insert_with(|| qos.value.clone());
    }
    AccountAssociation {
        account: account.to_owned(),
        user: Some(name.to_owned()),
        parent: None,
        partition: own.and_then(|own| Some(own.partition.as_ref()?.value.clone())),
        qos: own
            .and_then(|own| list(&own.qos))
            .or_else(|| list(&user.qos)),
        settings,
        id: 0,
    }
}

#[cfg(test)]
mod tests;
