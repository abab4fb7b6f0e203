//! Y108: an address outside of the site.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y108.
pub const RULE: Rule = Rule {
    code: "Y108",
    name: "mail-domain",
    severity: Severity::Note,
    summary: "mail to an address outside of the site's own domain",
    page: "The site's documents use addresses of its own domain. Mail to others may not leave it.

```
#!/bin/bash
#SBATCH --mail-user=ada@elsewhere.example
#SBATCH --mail-type=END
srun hostname
```

Source: the cluster file's mail_domain.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let (Some(domain), Some(given)) = (
        input
            .cluster
            .and_then(|cluster| cluster.mail_domain.as_ref()),
        script.last(Key::MailUser),
    ) else {
        return;
    };
    let value = given.value.as_deref().unwrap_or_default();
    let Some((_, own)) = value.split_once('@') else {
        return;
    };
    let inside = |domain: &String| {
        own.eq_ignore_ascii_case(domain)
            || own
                .to_ascii_lowercase()
                .ends_with(&format!(".{}", domain.to_ascii_lowercase()))
    };
    if domain.all().any(inside)
        || super::placeholder::is_one(given)
        || super::shell_variable::is_one(given)
    {
        return;
    }
    let finding = script.finding(
        RULE.code,
        RULE.severity,
        given,
        format!("the site's mail goes to @{}", domain.value),
        "another domain",
    );
    findings.push(site::resting_on(finding, domain, "the domain"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «--mail-user=a@b.c» --mail-type=END\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mail-user=a@lab.example --mail-type=END\n");
        silent(&RULE, "#SBATCH --mail-user=ada --mail-type=END\n");
    }
}
