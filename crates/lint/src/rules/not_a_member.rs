//! Y102: an account or a QOS that the user doesn't have.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use cluster_file::Sourced;
use model::nearest;
use model::option_table::Key;
use resources::Denial;

/// Y102.
pub const RULE: Rule = Rule {
    code: "Y102",
    name: "not-a-member",
    severity: Severity::Error,
    summary: "the user has no such account or QOS",
    page: "slurmctld refuses a job for an account that its user is not in (\"Invalid account or
account/partition combination specified\"), and one with a QOS that the user may not use (\"Invalid
qos specification\"). A document lists its author's accounts, not all that there are: what rests on
such a list, or on one of [lists] that is not whole, is a note.

```
#!/bin/bash
#SBATCH --qos=express
srun hostname
```

Source: the cluster file; slurm.conf's AccountingStorageEnforce.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let Some(cluster) = input.cluster else {
        return;
    };
    let user = input.user.and_then(|name| cluster.user(name));
    let name = input.user.unwrap_or("the user");
    let mut look =
        |key: Key, what: &str, allowed: Option<&Sourced<Vec<String>>>, known: Vec<&str>| {
            let Some(given) = script.last(key) else {
                return;
            };
            let value = given.value.as_deref().unwrap_or_default();
            let has = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(value));
            let missing =
                !known.is_empty() && !known.iter().any(|name| name.eq_ignore_ascii_case(value));
            let (message, source) = match allowed {
                Some(allowed) if !allowed.all().any(|names| has(names)) => (
                    format!(
                        "{name} is not known to have {what} {value} on {}",
                        cluster.name
                    ),
                    Some(allowed),
                ),
                _ if missing => (
                    format!("{} is not known to have {what} {value}", cluster.name),
                    None,
                ),
                _ => return,
            };
            let names: Vec<&str> = match source {
                Some(allowed) => allowed.value.iter().map(String::as_str).collect(),
                None => known.clone(),
            };
            let label = match nearest(value, names.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => String::new(),
            };
            // What plan would take is nothing to speak of here.
            let (denial, list) = match key {
                Key::Account => (Denial::Account, "accounts"),
                _ => (Denial::Qos, "QOS"),
            };
            let Some(refusal) = site::refusal(script, input, denial, key) else {
                return;
            };
            // Where the list is whole, what is not in it is not there.
            let is_sure = !refusal.assumed
                && source.is_none_or(|source| !source.is_assumed() && !source.is_disputed());
            let message = if is_sure {
                message.replacen("is not known to have", "has no", 1)
            } else {
                message
            };
            let finding = script
                .finding(RULE.code, RULE.severity, given, message, label)
                .help(format!("there is {}", names.join(", ")));
            findings.push(match source {
                Some(source) if source.is_assumed() || source.is_disputed() => {
                    site::resting_on(finding, source, "this list")
                }
                _ => site::as_sure_as(finding, &refusal, list),
            });
        };
    let accounts = cluster
        .accounts
        .iter()
        .map(|account| account.name.as_str())
        .collect();
    look(
        Key::Account,
        "account",
        user.and_then(|user| user.accounts.as_ref()),
        accounts,
    );
    let qos = cluster.qos.iter().map(|qos| qos.name.as_str()).collect();
    look(
        Key::Qos,
        "QOS",
        user.and_then(|user| user.qos.as_ref()),
        qos,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, lint_on, silent};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-q normall»\n").labels[0].text,
            "did you mean normal?"
        );
        assert_eq!(
            fires(&RULE, "#SBATCH «--account=other»\n").message,
            "ada is not known to have account other on test"
        );
    }

    #[test]
    fn accounts_of_a_document_are_not_all_that_there_are() {
        for (cluster, option) in [
            ("wilson", "--account=other"),
            ("cedar", "--account=other"),
            ("satori", "--qos=other"),
        ] {
            let script = format!("#!/bin/sh\n#SBATCH {option}\n");
            let found = lint_on(cluster, &script);
            let found = found.iter().find(|one| one.code == RULE.code).unwrap();
            assert_eq!(found.severity, Severity::Note, "{cluster}");
        }
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -q normal -A lab\n");
        silent(&RULE, "#SBATCH -q Normal\n");
        silent(&RULE, "#SBATCH -n 1\n");
    }
}
