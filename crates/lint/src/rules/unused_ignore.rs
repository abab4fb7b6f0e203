//! Y900: an ignore that ignores nothing.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};

/// Y900.
pub const RULE: Rule = Rule {
    code: "Y900",
    name: "unused-ignore",
    severity: Severity::Note,
    summary: "a `# yard: ignore[…]` that ignores nothing",
    page: "What a comment asks to ignore is not found there: it was put right, or the comment stands at
the wrong line. A comment behind a line is for that line, one that stands alone is for the next one,
and one that stands alone before the first directive is for the whole file.

```
#!/bin/bash
#SBATCH --time=1:00:00 # yard: ignore[Y012]
srun hostname
```",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Found while the ignores are settled, behind all other rules.
fn check(_: &Script<'_>, _: &LintInput<'_>, _: &mut Found) {}
