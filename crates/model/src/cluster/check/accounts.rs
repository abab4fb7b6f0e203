//! Contradictions of QOS, accounts and users.

use super::Checker;
use super::partitions::over;
use crate::Severity;
use crate::cluster::{Account, Named, Qos, Sourced, Tres};

impl Checker<'_> {
    pub(super) fn accounts(&mut self) {
        let file = self.file;
        let qos: Vec<&str> = file.qos.iter().map(|qos| qos.name.as_str()).collect();
        let accounts: Vec<&str> = file
            .accounts
            .iter()
            .map(|account| account.name.as_str())
            .collect();
        for one in &file.qos {
            self.qos(one, &qos);
        }
        for account in &file.accounts {
            if let Some(parent) = account
                .parent
                .as_ref()
                .filter(|parent| *parent.value != *"root")
            {
                self.known(
                    "unknown-account",
                    "account",
                    parent,
                    &parent.span,
                    &accounts,
                );
            }
            self.circle(account);
            self.qos_lists(account.qos.as_ref(), account.default_qos.as_ref(), &qos);
        }
        for user in &file.users {
            for name in user
                .accounts
                .iter()
                .flat_map(|list| list.iter().map(move |name| (name, list)))
            {
                self.known(
                    "unknown-account",
                    "account",
                    name.0,
                    &name.1.span,
                    &accounts,
                );
            }
            let own: Vec<&str> = match &user.accounts {
                Some(own) => own.iter().map(String::as_str).collect(),
                None => accounts.clone(),
            };
            if let Some(default) = &user.default_account
                && !own.contains(&default.as_str())
            {
                let message = format!(
                    "user {} has the default account {} and isn't in it",
                    user.name, default.value
                );
                let help = "add it to accounts, or take another default";
                self.say(
                    ("default-account", Severity::Error),
                    &default.span,
                    message,
                    "",
                    help,
                );
            }
            self.qos_lists(user.qos.as_ref(), user.default_qos.as_ref(), &qos);
            for association in &user.associations {
                self.known(
                    "unknown-account",
                    "account",
                    &association.name,
                    &association.span,
                    &accounts,
                );
                self.qos_lists(
                    association.qos.as_ref(),
                    association.default_qos.as_ref(),
                    &qos,
                );
            }
        }
    }

    fn qos_lists(
        &mut self,
        list: Option<&Sourced<Vec<String>>>,
        default: Option<&Sourced<String>>,
        known: &[&str],
    ) {
        if known.is_empty() {
            return;
        }
        for name in list
            .into_iter()
            .flat_map(|list| list.iter().map(move |name| (name, list)))
        {
            self.known("unknown-qos", "qos", name.0, &name.1.span, known);
        }
        let Some(default) = default else { return };
        for said in default.all() {
            self.known("unknown-qos", "qos", said, &default.span, known);
        }
        if let Some(list) = list
            && !default.all().any(|said| list.contains(said))
        {
            let message = format!(
                "the default QOS {} is not among {}",
                default.value,
                list.join(", ")
            );
            let help = "add it to qos, or take another default";
            self.say(
                ("default-qos", Severity::Error),
                &default.span,
                message,
                "",
                help,
            );
        }
    }

    fn qos(&mut self, qos: &Named<Qos>, known: &[&str]) {
        let file = self.file;
        if let Some(preempt) = &qos.preempt {
            for name in preempt.iter() {
                self.known("unknown-qos", "qos", name, &preempt.span, known);
            }
            if preempt.contains(&qos.name) {
                let message = format!("QOS {} takes its own jobs' places", qos.name);
                let help = "leave it out of its own preempt list";
                self.say(
                    ("preempt-self", Severity::Error),
                    &preempt.span,
                    message,
                    "",
                    help,
                );
            }
        }
        let passes = qos
            .flags
            .as_ref()
            .is_some_and(|flags| flags.iter().any(|f| f == "PartitionTimeLimit"));
        if let Some(wall) = qos.max_wall.as_ref().filter(|_| !passes) {
            let limits = file
                .partitions
                .iter()
                .filter_map(|partition| partition.max_time.as_ref());
            let longest = limits.clone().all(|limit| over(wall.value, limit.value));
            if longest && limits.clone().next().is_some() {
                let message = format!("QOS {} allows more than any partition", qos.name);
                let label = "every partition's max_time is shorter";
                let help =
                    "raise a max_time, lower max_wall, or give the QOS the flag PartitionTimeLimit";
                let assumed = wall.is_assumed() || limits.clone().any(Sourced::is_assumed);
                let severity = if assumed {
                    Severity::Note
                } else {
                    Severity::Warning
                };
                self.say(
                    ("over-partition", severity),
                    &wall.span,
                    message,
                    label,
                    help,
                );
            }
        }
        let tres = [
            &qos.max_tres_per_job,
            &qos.max_tres_per_node,
            &qos.max_tres_per_user,
            &qos.max_tres_per_account,
            &qos.min_tres_per_job,
            &qos.group_tres,
        ];
        for limit in tres.into_iter().flatten() {
            self.tres(limit);
        }
        if let (Some(jobs), Some(submit)) = (&qos.max_jobs_per_user, &qos.max_submit_per_user)
            && jobs.value > submit.value
        {
            let message = format!("QOS {}: more jobs may run than be submitted", qos.name);
            let label = format!("max_submit_per_user = {}", submit.value);
            self.say(
                ("submit-limit", Severity::Warning),
                &jobs.span,
                message,
                label,
                "",
            );
        }
    }

    /// A limit on GPUs of a type that nobody has.
    fn tres(&mut self, limit: &Sourced<Tres>) {
        for (name, _) in &limit.value.0 {
            let Some(kind) = name.strip_prefix("gres/gpu:") else {
                continue;
            };
            let gpus = self.file.gpus(None);
            let typed: Vec<&str> = gpus
                .iter()
                .filter_map(|gpu| Some(gpu.gpu.kind.as_ref()?.as_str()))
                .collect();
            if !typed.contains(&kind) {
                let message = format!("a limit counts GPUs of type {kind}, which no node has");
                let label = crate::nearest(kind, typed.iter().copied())
                    .map_or(String::new(), |near| format!("did you mean {near}?"));
                let help = match &typed[..] {
                    [] => "no node has a GPU type".to_owned(),
                    typed => format!("types are {}", typed.join(", ")),
                };
                self.say(
                    ("unknown-gpu", Severity::Warning),
                    &limit.span,
                    message,
                    label,
                    help,
                );
            }
        }
    }

    fn circle(&mut self, account: &Named<Account>) {
        let file = self.file;
        let mut at = account;
        for _ in 0..file.accounts.len() {
            let Some(parent) = &at.parent else { return };
            let Some(next) = file
                .accounts
                .iter()
                .find(|other| other.name == parent.value)
            else {
                return;
            };
            if next.name == account.name {
                let message = format!("account {} is above itself", account.name);
                let help = "take it out of the circle of parents";
                return self.say(
                    ("account-circle", Severity::Error),
                    &parent.span,
                    message,
                    "",
                    help,
                );
            }
            at = next;
        }
    }
}
