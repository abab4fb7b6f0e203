//! Which accounts and QOS a partition is open to.

use cluster_file::Sourced;

/// Which accounts and QOS a partition is open to (`AllowAccounts`, `DenyQos`, …).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionAccess {
    accounts: Names,
    qos: Names,
}

/// Names that may, or else names that may not; none says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl PartitionAccess {
    /// That of a partition of a cluster file.
    pub(super) fn of(partition: &cluster_file::Partition) -> PartitionAccess {
        let list = |own: &Option<Sourced<Vec<String>>>| {
            let names = own.as_ref().map_or(&[][..], |own| &own.value);
            // `ALL` is what holds where nothing is said.
            let is_all = names.iter().any(|name| name.eq_ignore_ascii_case("all"));
            if is_all { Vec::new() } else { names.to_vec() }
        };
        PartitionAccess {
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

    /// Whether it is open to all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == PartitionAccess::default()
    }

    /// Why jobs of an account and a QOS do not start in the partition of this name, as Slurm 22.05 says
    /// it; none where they do.
    #[must_use]
    pub fn denial(&self, partition: &str, account: &str, qos: &str) -> Option<String> {
        let of_account = self.accounts.denial(account);
        let of_qos = || self.qos.denial(qos).map(|why| ("QOS", why));
        let (what, why) = of_account.map(|why| ("account", why)).or_else(of_qos)?;
        Some(format!(
            "Job's {what} not permitted to use this partition ({partition} {why})"
        ))
    }
}

impl Names {
    fn denial(&self, name: &str) -> Option<String> {
        let has = |list: &[String]| list.iter().any(|one| one.eq_ignore_ascii_case(name));
        if !self.allowed.is_empty() {
            let list = self.allowed.join(",");
            return (!has(&self.allowed)).then(|| format!("allows {list} not {name}"));
        }
        let list = self.denied.join(",");
        has(&self.denied).then(|| format!("denies {list} including {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &str, who: (&str, &str), want: Option<&str>) {
        let text = format!("[nodes.n]\ncpus = 1\n[partition.p]\nnodes = \"ALL\"\n{keys}\n");
        let file = cluster_file::ClusterFile::parse("lab", &text).expect("it can be read");
        let access = PartitionAccess::of(&file.partitions[0]);
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
}
