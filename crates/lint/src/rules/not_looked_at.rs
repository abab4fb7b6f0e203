//! Y902: a script that is too long to be looked at whole.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};

/// Y902.
pub const RULE: Rule = Rule {
    code: "Y902",
    name: "not-looked-at",
    severity: Severity::Error,
    summary: "the script is too long to be looked at whole: a part of it was left out",
    page:
        "Looked at are the first 10,000 words of directives, the first components of a heterogeneous
job (128 of a script of usual length, fewer of a long one), 1,000 codes in `# yard: ignore[…]`, and
100,000 commands and words of them. No script that a person writes comes near; one that has more was
made by a program that went wrong. It is an error, as nothing is said of what stands behind.

What there is of one rule past its first 1,000 findings is counted in a finding of that rule.

```
#!/bin/bash
#SBATCH -n 1 -n 1 …
srun hostname
```",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Found before and behind all other rules.
fn check(_: &Script<'_>, _: &LintInput<'_>, _: &mut Found) {}
