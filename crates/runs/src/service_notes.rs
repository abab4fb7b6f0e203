//! Services of a plan whose program is not installed: the run starts, and they end at once.

use std::ffi::OsStr;
use train::{Plan, Python};

/// A note for each, where jobs find the programs that are found here.
pub fn notes(plan: &Plan) -> Vec<String> {
    let environment = &plan.environment;
    let own = match &environment.python.value {
        Python::AsItIs => None,
        Python::Venv(folder) => Some(folder.join("bin")),
        Python::Requirements(_) | Python::CondaName(_) | Python::CondaFolder(_) => {
            return Vec::new();
        }
    };
    // What modules and an image bring is not known.
    let brings_others = environment.container.is_some() || !environment.modules.value.is_empty();
    if !plan.embedded || brings_others {
        return Vec::new();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let own = own.map(|folder| format!("{}:{path}", folder.display()));
    let path = own.unwrap_or(path);
    let services = plan.services.iter();
    services
        .filter_map(|service| Some((&service.name, service.command.value.first()?)))
        .filter_map(|(name, program)| note(name, program, &path))
        .collect()
}

fn note(service: &str, program: &str, path: &str) -> Option<String> {
    if program.contains('{') || sys::process::find_program(OsStr::new(program), path).is_some() {
        return None;
    }
    let todo = match program {
        "jupyter" => "pip install jupyterlab, or name a virtual environment that has it",
        "tensorboard" => "pip install tensorboard, or name a virtual environment that has it",
        _ => "install it, or write its path",
    };
    Some(format!(
        "service {service} will not run: {program} is not installed here; {todo}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_said() {
        let check = |program: &str, want: Option<&str>| {
            let note = note("lab", program, "/usr/bin:/bin");
            let words = note
                .as_deref()
                .map(|note| &note[..want.map_or(0, str::len)]);
            assert_eq!(words, want, "{note:?}");
        };
        check("sh", None);
        check("/opt/none/page", None);
        check("{code}/page", None);
        let want = "service lab will not run: no-such-jupyter is not installed here; install it";
        check("no-such-jupyter", Some(want));
    }
}
