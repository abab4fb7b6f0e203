#![no_main]
//! Node lists: what was expanded and folded names the same nodes.

use libfuzzer_sys::fuzz_target;
use model::node_list;

fuzz_target!(|text: &str| {
    let Ok(names) = node_list::expand(text) else {
        return;
    };
    // Folding is not what a large list tests.
    if names.len() > 5_000 {
        return;
    }
    // Brackets that close nothing end up in names; Slurm reads those otherwise the second time.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = |name: &str| !name.is_empty() && name.chars().all(plain);
    if !names.iter().all(|name| is_name(name.as_str())) {
        return;
    }
    let folded = node_list::fold(&names);
    let again = node_list::expand(&folded);
    assert_eq!(
        again.ok().as_ref(),
        Some(&names),
        "{text:?} became {folded:?}"
    );
});
