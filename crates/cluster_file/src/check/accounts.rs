//! Contradictions of QOS, accounts and users.

use super::Checker;
use super::names::Names;
use super::partitions::over;
use crate::{Account, ClusterFile, Named, Qos, Sourced, Tres};
use model::{Severity, TimeLimitRequest};
use std::collections::{HashMap, HashSet};

impl Checker<'_> {
    pub(super) fn accounts(&mut self) {
        let file = self.file;
        let (qos, accounts) = (self.qos.clone(), self.accounts.clone());
        let bounds = Bounds::of(file);
        let circles = self.circles();
        for one in &file.qos {
            self.qos(one, &qos, &bounds);
        }
        for (account, circle) in file.accounts.iter().zip(circles) {
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
            if circle {
                self.circle(account);
            }
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
            let is_in = |name: &String| match &user.accounts {
                Some(own) => own.contains(name),
                None => accounts.has(name),
            };
            if let Some(default) = &user.default_account
                && !is_in(&default.value)
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
            let mut seen = HashSet::new();
            for association in &user.associations {
                self.known(
                    "unknown-account",
                    "account",
                    &association.name,
                    &association.span,
                    &accounts,
                );
                let partition = association.partition.as_ref();
                let is_there = |name: &str| {
                    let mut all = file.partitions.iter();
                    all.any(|one| one.name.eq_ignore_ascii_case(name))
                };
                if let Some(partition) = partition.filter(|name| !is_there(&name.value)) {
                    let message = format!(
                        "an association of user {} is for partition {}, which is not there: it holds nowhere",
                        user.name, partition.value
                    );
                    self.say(
                        ("unknown-partition", Severity::Warning),
                        &partition.span,
                        message,
                        "",
                        "name a partition of the file, or leave it out",
                    );
                }
                let partition = partition.map(|name| name.value.as_str());
                if !seen.insert((association.name.as_str(), partition)) {
                    let message = format!(
                        "user {} has two associations in {} for the same partition",
                        user.name, association.name
                    );
                    self.say(
                        ("two-associations", Severity::Error),
                        &association.span,
                        message,
                        "",
                        "leave one of them out",
                    );
                }
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
        known: &Names<'_>,
    ) {
        if known.all.is_empty() {
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

    fn qos(&mut self, qos: &Named<Qos>, known: &Names<'_>, bounds: &Bounds<'_>) {
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
            let longest = bounds.longest;
            if longest.is_some_and(|longest| over(wall.value, longest)) {
                let message = format!("QOS {} allows more than any partition", qos.name);
                let label = "every partition's max_time is shorter";
                let help =
                    "raise a max_time, lower max_wall, or give the QOS the flag PartitionTimeLimit";
                let assumed = wall.is_assumed() || bounds.assumed;
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
            self.tres(limit, &bounds.types);
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

    /// A limit on GPUs of a type that no node has.
    fn tres(&mut self, limit: &Sourced<Tres>, types: &Names<'_>) {
        for (name, _) in &limit.value.0 {
            let Some(kind) = name.strip_prefix("gres/gpu:") else {
                continue;
            };
            if !types.has(kind) {
                let message = format!("a limit counts GPUs of type {kind}, which no node has");
                let label = self.near(kind, types);
                let help = if types.all.is_empty() {
                    "no node has a GPU type".to_owned()
                } else {
                    format!("types are {}", types.listed())
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
        let Some(parent) = &account.parent else {
            return;
        };
        let message = format!("account {} is above itself", account.name);
        let help = "take it out of the circle of parents";
        let found = ("account-circle", Severity::Error);
        self.say(found, &parent.span, message, "", help);
    }

    /// Which accounts are in a circle of parents.
    fn circles(&self) -> Vec<bool> {
        let accounts = &self.file.accounts;
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (index, account) in accounts.iter().enumerate() {
            places.entry(&account.name).or_insert(index);
        }
        let above = |index: usize| {
            let parent = accounts[index].parent.as_ref()?;
            places.get(parent.value.as_str()).copied()
        };
        let mut circles = vec![false; accounts.len()];
        // By which walk upwards an account was seen.
        let mut seen = vec![usize::MAX; accounts.len()];
        for first in 0..accounts.len() {
            let mut next = Some(first);
            while let Some(index) = next.filter(|index| seen[*index] == usize::MAX) {
                seen[index] = first;
                next = above(index);
            }
            // Where the walk met itself there is a circle, once around.
            while let Some(index) = next.filter(|index| seen[*index] == first && !circles[*index]) {
                circles[index] = true;
                next = above(index);
            }
        }
        circles
    }
}

/// What limits of QOS are held against.
struct Bounds<'a> {
    /// The longest time of the partitions that have one, and whether some of it is assumed.
    longest: Option<TimeLimitRequest>,
    assumed: bool,
    /// Types of GPUs.
    types: Names<'a>,
}

impl<'a> Bounds<'a> {
    fn of(file: &'a ClusterFile) -> Bounds<'a> {
        let times = file.partitions.iter();
        let times = times.filter_map(|partition| partition.max_time.as_ref());
        let longer = |one, other| if over(one, other) { one } else { other };
        let gpus = file.nodes.iter().flat_map(|nodes| &nodes.gpus);
        let types = gpus.filter_map(|gpu| Some(gpu.kind.as_ref()?.as_str()));
        let mut distinct = HashSet::new();
        Bounds {
            longest: times.clone().map(|time| time.value).reduce(longer),
            assumed: times.clone().any(Sourced::is_assumed),
            types: Names::new(types.filter(|kind| distinct.insert(*kind))),
        }
    }
}
