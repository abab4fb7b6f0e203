//! All rules. Each is a file: its code, its page, its check and the scripts on which it speaks or
//! is silent.

use crate::rule::Rule;

mod abbreviation;
mod ambiguous_option;
mod conflict;
mod cut_by_hash;
mod directive_syntax;
mod dos_line_ends;
mod empty_directive;
mod empty_value;
mod foreign_directive;
mod given_twice;
mod invalid_array;
mod invalid_value;
mod late_directive;
mod missing_value;
mod near_directive;
mod not_a_script;
mod placeholder;
mod run_file;
mod shell_variable;
mod short_with_equals;
mod single_dash;
mod stray_word;
mod swallowed_option;
mod trailing_backslash;
mod unicode_punctuation;
pub(crate) mod unknown_ignore;
mod unknown_option;
pub(crate) mod unused_ignore;

pub use run_file::run_file_findings;

/// All rules, ascending by their codes.
pub const RULES: &[Rule] = &[
    unknown_option::RULE,
    ambiguous_option::RULE,
    invalid_value::RULE,
    missing_value::RULE,
    swallowed_option::RULE,
    stray_word::RULE,
    directive_syntax::RULE,
    conflict::RULE,
    not_a_script::RULE,
    dos_line_ends::RULE,
    late_directive::RULE,
    given_twice::RULE,
    near_directive::RULE,
    empty_directive::RULE,
    abbreviation::RULE,
    shell_variable::RULE,
    placeholder::RULE,
    short_with_equals::RULE,
    empty_value::RULE,
    single_dash::RULE,
    foreign_directive::RULE,
    cut_by_hash::RULE,
    trailing_backslash::RULE,
    unicode_punctuation::RULE,
    invalid_array::RULE,
    run_file::RULE,
    unused_ignore::RULE,
    unknown_ignore::RULE,
];

#[cfg(test)]
mod tests;
