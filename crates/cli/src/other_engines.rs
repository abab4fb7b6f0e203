//! CPUs that jobs of other engines of this machine hold.

use std::collections::BTreeSet;

/// Which those are and whose, in a sentence; `None` where there are none.
pub fn cpus_held_elsewhere(cpus: &[u32]) -> Option<String> {
    let names: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let (what, them) = match &names[..] {
        [] => return None,
        [cpu] => (format!("CPU {cpu} is in use"), "it"),
        cpus => (format!("CPUs {} are in use", cpus.join(", ")), "them"),
    };
    let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
    let whose: Vec<String> = sys::number_locks::cpu_holders(&cpus)
        .iter()
        .map(|holder| {
            let user = user_name(holder.uid);
            match holder.pid {
                Some(pid) => format!("process {pid} of {user}"),
                None => format!("perhaps one of {user}"),
            }
        })
        .collect();
    let whose = if whose.is_empty() {
        String::new()
    } else {
        format!(" ({})", whose.join(", "))
    };
    Some(format!(
        "{what} by another engine of this machine{whose}: jobs wait for {them}"
    ))
}

fn user_name(uid: u32) -> String {
    match sys::users::user_by_id(uid) {
        Ok(Some(user)) => user.name,
        Ok(None) | Err(_) => format!("user {uid}"),
    }
}
