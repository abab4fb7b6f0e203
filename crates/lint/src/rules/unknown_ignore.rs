//! Y901: an ignore of a rule that isn't there.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};

/// Y901.
pub const RULE: Rule = Rule {
    code: "Y901",
    name: "unknown-ignore",
    severity: Severity::Note,
    summary: "a `# yard: ignore[…]` names a rule that is not there",
    page: "No rule has this code. yard lint --list shows all.

```
#!/bin/bash
#SBATCH --time=1:00:00 # yard: ignore[Y999]
srun hostname
```",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Found while the ignores are settled, behind all other rules.
fn check(_: &Script<'_>, _: &LintInput<'_>, _: &mut Found) {}
