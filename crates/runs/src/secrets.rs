//! Values of the variables that `[environment] secrets` names.

use crate::failure::{Failure, FailureKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use train::Plan;

/// The variable of Weights & Biases, which keeps its key in files too.
const WANDB: &str = "WANDB_API_KEY";
/// The host under which `~/.netrc` has it.
const WANDB_HOST: &str = "api.wandb.ai";

/// Reads the secrets of a plan: from the environment, and W&B's from the files where it is kept.
///
/// # Errors
/// One is nowhere.
pub fn secrets(plan: &Plan) -> Result<BTreeMap<String, String>, Failure> {
    let asked = &plan.environment.secrets;
    let variable = |name: &str| std::env::var(name).ok();
    let home = variable("HOME").map(PathBuf::from);
    let mut found = BTreeMap::new();
    for name in &asked.value {
        let value = variable(name).filter(|value| !value.is_empty());
        let of_file = || {
            home.as_deref()
                .filter(|_| name == WANDB)
                .and_then(wandb_key)
        };
        let Some(value) = value.or_else(of_file) else {
            return Err(missing(name, &asked.source.to_string()));
        };
        if value.contains('\0') {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("the secret {name} can't be the value of a variable"),
            )
            .asked(format!("[environment] secrets ({})", asked.source))
            .there("a NUL character is in it")
            .todo("set it to text"));
        }
        found.insert(name.clone(), value);
    }
    Ok(found)
}

fn missing(name: &str, source: &str) -> Failure {
    let there = match name {
        WANDB => {
            format!(
                "it is not set, and neither ~/wandb_credentials.txt nor ~/.netrc ({WANDB_HOST}) has one"
            )
        }
        _ if std::env::var_os(name).is_some() => "it is set to nothing in this shell".to_owned(),
        _ => "it is not set in this shell".to_owned(),
    };
    Failure::new(
        FailureKind::Usage,
        format!("the secret {name} is not known"),
    )
    .asked(format!("[environment] secrets ({source})"))
    .there(there)
    .todo(format!(
        "export {name}=… before the command, or leave it out"
    ))
}

/// The key of `~/wandb_credentials.txt`, else of `~/.netrc`. Files that can't be read have none.
fn wandb_key(home: &Path) -> Option<String> {
    let text = |name: &str| std::fs::read_to_string(home.join(name)).ok();
    let own = text("wandb_credentials.txt").and_then(|text| credential(&text));
    own.or_else(|| netrc_password(&text(".netrc")?, WANDB_HOST))
}

/// The key of a file that holds nothing else, or a line `WANDB_API_KEY=…`.
fn credential(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next()?;
    let line = line.strip_prefix("export ").unwrap_or(line);
    let key = line.strip_prefix("WANDB_API_KEY=").unwrap_or(line);
    let key = key.trim_matches(['"', '\'']);
    (!key.is_empty()).then(|| key.to_owned())
}

/// The password of a machine in the words of a netrc file.
fn netrc_password(text: &str, machine: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let mut is_it = false;
    while let Some(word) = words.next() {
        match word {
            "machine" => is_it = words.next() == Some(machine),
            "default" => is_it = false,
            "password" => {
                let password = words.next()?;
                if is_it {
                    return Some(password.to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_files() {
        let netrc = "machine github.com login me password no\n\
            machine api.wandb.ai\n  login user\n  password k3y\ndefault password x\n";
        assert_eq!(netrc_password(netrc, WANDB_HOST).as_deref(), Some("k3y"));
        assert_eq!(netrc_password("machine a password b", WANDB_HOST), None);
        assert_eq!(
            netrc_password("machine api.wandb.ai password", WANDB_HOST),
            None
        );
        assert_eq!(credential("\n k3y\n").as_deref(), Some("k3y"));
        let line = "export WANDB_API_KEY=\"k3y\"\n";
        assert_eq!(credential(line).as_deref(), Some("k3y"));
        assert_eq!(credential("\n"), None);
    }
}
