//! Whose jobs a partition is open to.

use cluster_file::{ClusterFile, Sourced};
use model::{Denial, node_list};
use std::collections::BTreeMap;

/// Whose jobs a partition is open to (`AllowAccounts`, `DenyQos`, `AllowGroups`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionAccess {
    accounts: Names,
    qos: Names,
    users: Users,
}

/// Which users a partition is open to, and from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Users {
    root_only: bool,
    no_root: bool,
    /// Hosts; none is all.
    hosts: Vec<String>,
    /// Groups; none is all.
    groups: Vec<String>,
    /// Users of whom the cluster file says groups, and whether one of them is allowed.
    stated: BTreeMap<String, bool>,
    /// Members of the groups as the system knows them.
    members: Vec<String>,
}

/// The user who has no rules but `DisableRootJobs`.
const ROOT: &str = "root";

/// Names that may, or else names that may not; none says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl PartitionAccess {
    /// That of a partition of a cluster file.
    pub(super) fn of(file: &ClusterFile, partition: &cluster_file::Partition) -> PartitionAccess {
        let list = |own: &Option<Sourced<Vec<String>>>| {
            let names = own.as_ref().map_or(&[][..], |own| &own.value);
            // `ALL` is what holds where nothing is said.
            let is_all = names.iter().any(|name| name.eq_ignore_ascii_case("all"));
            if is_all { Vec::new() } else { names.to_vec() }
        };
        let is = |flag: &Option<Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
        let hosts = partition.submit_from.as_ref().map(|own| own.value.as_str());
        let hosts = hosts.filter(|text| !text.eq_ignore_ascii_case("all"));
        let groups = list(&partition.allow_groups);
        let users = file.users.iter().filter_map(|user| {
            let own = user.groups.as_ref()?;
            let is_member = own.iter().any(|group| groups.contains(group));
            Some((user.name.clone(), is_member))
        });
        PartitionAccess {
            users: Users {
                root_only: is(&partition.root_only),
                no_root: is(&partition.no_root_jobs),
                hosts: hosts.map_or_else(Vec::new, hosts_of),
                stated: users.collect(),
                groups,
                members: Vec::new(),
            },
            accounts: Names {
                allowed: list(&partition.allow_accounts),
                denied: list(&partition.deny_accounts),
            },
            qos: Names {
                allowed: list(&partition.allow_qos),
                denied: list(&partition.deny_qos),
            },
        }
    }

    /// Takes the members of its groups as the system knows them.
    pub(super) fn know_members(&mut self, members: impl Fn(&str) -> Vec<String>) {
        let groups = &self.users.groups;
        self.users.members = groups.iter().flat_map(|group| members(group)).collect();
    }

    /// What Slurm says to a user of a group who submits from a host; none where the partition takes such a
    /// job. One of root's alone takes what root submits for another user, and starts it no more than others.
    #[must_use]
    pub fn keeps_out(
        &self,
        user: &str,
        group: &str,
        host: &str,
        is_submitted_by_root: bool,
    ) -> Option<Denial> {
        let own = &self.users;
        let is_root = user == ROOT;
        let is = |known: &String| known == user;
        if own.root_only && !is_root && !is_submitted_by_root {
            return Some(Denial::Access);
        }
        if own.no_root && is_root {
            return Some(Denial::User);
        }
        let is_member = || match own.stated.get(user).or_else(|| own.stated.get("*")) {
            Some(is_member) => *is_member,
            None => own.members.iter().any(is) || own.groups.iter().any(|it| it == group),
        };
        if !own.groups.is_empty() && !is_root && !is_member() {
            return Some(Denial::Group);
        }
        let short = |name: &str| name.split('.').next().map(str::to_owned);
        let is_host = |one: &String| one == host || short(one) == short(host);
        let is_there = own.hosts.is_empty() || own.hosts.iter().any(is_host);
        (!is_there).then_some(Denial::Access)
    }

    /// Whether it is open to all accounts and QOS.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.accounts == Names::default() && self.qos == Names::default()
    }

    /// Why jobs of an account and a QOS do not start in the partition of this name, as Slurm 22.05 says
    /// it; none where they do.
    #[must_use]
    pub fn denial(&self, partition: &str, account: &str, qos: &str) -> Option<String> {
        let of_account = self.denial_of_account(partition, account);
        let denied = of_account.or_else(|| self.denial_of_qos(partition, qos))?;
        Some(denied.reason)
    }

    /// Why those of an account do not start.
    #[must_use]
    pub fn denial_of_account(&self, partition: &str, account: &str) -> Option<NotPermitted> {
        self.accounts.denial(("account", account), partition)
    }

    /// Why those of a QOS do not start.
    #[must_use]
    pub fn denial_of_qos(&self, partition: &str, qos: &str) -> Option<NotPermitted> {
        self.qos.denial(("QOS", qos), partition)
    }
}

/// Why a partition takes no jobs of an account or a QOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPermitted {
    /// As Slurm 22.05 says it.
    pub reason: String,
    /// It is not among those that may; otherwise it is among those that may not, which count only without such a list.
    pub is_not_listed: bool,
}

/// The hosts of a node list, or of what can't be read as one.
fn hosts_of(text: &str) -> Vec<String> {
    match node_list::expand(text) {
        Ok(names) => names.iter().map(ToString::to_string).collect(),
        Err(_) => vec![text.to_owned()],
    }
}

impl Names {
    /// `kind` is what the name is one of.
    fn denial(&self, (kind, name): (&str, &str), partition: &str) -> Option<NotPermitted> {
        let has = |list: &[String]| list.iter().any(|one| one.eq_ignore_ascii_case(name));
        let is_not_listed = !self.allowed.is_empty();
        let why = if is_not_listed {
            let list = self.allowed.join(",");
            (!has(&self.allowed)).then(|| format!("allows {list} not {name}"))
        } else {
            let list = self.denied.join(",");
            has(&self.denied).then(|| format!("denies {list} including {name}"))
        }?;
        Some(NotPermitted {
            reason: format!("Job's {kind} not permitted to use this partition ({partition} {why})"),
            is_not_listed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &str, who: (&str, &str), want: Option<&str>) {
        let text = format!("[nodes.n]\ncpus = 1\n[partition.p]\nnodes = \"ALL\"\n{keys}\n");
        let file = cluster_file::ClusterFile::parse("lab", &text).expect("it can be read");
        let access = PartitionAccess::of(&file, &file.partitions[0]);
        assert_eq!(access.denial("p", who.0, who.1).as_deref(), want, "{keys}");
    }

    #[test]
    fn lists_let_in_or_keep_out() {
        check("", ("a", "q"), None);
        check("allow_accounts = [\"ALL\"]", ("a", "q"), None);
        check("allow_accounts = [\"a\"]", ("a", "q"), None);
        check(
            "allow_accounts = [\"a\", \"b\"]",
            ("c", "q"),
            Some("Job's account not permitted to use this partition (p allows a,b not c)"),
        );
        check(
            "deny_accounts = [\"a\"]",
            ("a", "q"),
            Some("Job's account not permitted to use this partition (p denies a including a)"),
        );
        check(
            "allow_qos = [\"test\"]",
            ("a", "normal"),
            Some("Job's QOS not permitted to use this partition (p allows test not normal)"),
        );
        // Beside a list of those that may, one of those that may not means nothing.
        check("allow_qos = [\"q\"]\ndeny_qos = [\"q\"]", ("a", "q"), None);
    }

    #[track_caller]
    fn check_user(keys: &str, (user, group, host): (&str, &str, &str), want: Option<Denial>) {
        let text = format!(
            "[nodes.n]\ncpus = 1\n[partition.p]\nnodes = \"ALL\"\n{keys}\n\
             [user.ada]\ngroups = [\"lab\"]\n[user.eve]\ngroups = [\"others\"]\n"
        );
        let file = cluster_file::ClusterFile::parse("lab", &text).expect("it can be read");
        let mut access = PartitionAccess::of(&file, &file.partitions[0]);
        access.know_members(|group| match group {
            "lab" => vec!["bob".to_owned(), "eve".to_owned()],
            _ => Vec::new(),
        });
        assert_eq!(
            access.keeps_out(user, group, host, false),
            want,
            "{user} of {group} at {host}: {keys}"
        );
    }

    #[test]
    fn users_groups_and_hosts_are_let_in_or_kept_out() {
        check_user("", ("bob", "users", "login"), None);
        let root_only = "root_only = true";
        check_user(root_only, ("bob", "users", "login"), Some(Denial::Access));
        check_user(root_only, ("root", "root", "login"), None);
        let no_root = "no_root_jobs = true";
        check_user(no_root, ("bob", "users", "login"), None);
        check_user(no_root, ("root", "root", "login"), Some(Denial::User));
        let groups = "allow_groups = [\"lab\"]";
        for (user, group, want) in [
            ("bob", "users", None),
            ("cyd", "lab", None),
            ("cyd", "users", Some(Denial::Group)),
            ("ada", "users", None),
            // What the file says of a user's groups holds.
            ("eve", "lab", Some(Denial::Group)),
            ("root", "root", None),
        ] {
            check_user(groups, (user, group, "login"), want);
        }
        let hosts = "submit_from = \"login[1-2]\"";
        check_user(hosts, ("bob", "users", "login2"), None);
        check_user(hosts, ("bob", "users", "login2.site.org"), None);
        check_user(hosts, ("root", "root", "n"), Some(Denial::Access));
        check_user("submit_from = \"ALL\"", ("bob", "users", "n"), None);
        check_user(
            "submit_from = \"n[1\"",
            ("bob", "users", "n"),
            Some(Denial::Access),
        );
    }
}
