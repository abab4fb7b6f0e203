//! Names of accounts and QOS, in whatever case they are written.

use crate::records::Accounting;

/// `a,+B` with each name as it is kept: as one of those that are known is written, else in small letters, as
/// Slurm keeps the names of accounts and QOS (`slurm_addto_char_list` of slurm_protocol_defs.c).
pub(super) fn as_kept<'a>(text: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let names = text.split(',').map(|word| {
        let name = word.trim_start_matches(['+', '-']);
        let sign = &word[..word.len() - name.len()];
        let own = known.clone().find(|it| it.eq_ignore_ascii_case(name));
        let name = own.map_or_else(|| name.to_ascii_lowercase(), String::clone);
        format!("{sign}{name}")
    });
    let names: Vec<String> = names.collect();
    names.join(",")
}

/// The names of accounts, as they are kept.
pub(super) fn kept_accounts(names: &mut [String], known: &Accounting) {
    for name in names {
        *name = as_kept(name, known.accounts.iter().map(|it| &it.name));
    }
}

/// The names of QOS, as they are kept.
pub(super) fn kept_qos(names: &mut [String], known: &Accounting) {
    for name in names {
        *name = as_kept(name, known.qos.iter().map(|it| &it.name));
    }
}
