//! What `yard run` says of a script before it submits it.

use crate::failure::Failure;
use crate::printer::Printer;
use runs::Target;
use std::path::Path;
use sys::Places;

/// Looks at a script before it is submitted: what is wrong is said briefly, and an error refuses it.
pub fn before_submission(
    script: &Path,
    args: &[String],
    target: &Target,
    places: &Places,
    printer: &Printer,
) -> Result<(), Failure> {
    let check = runs::check_script(script, args, target, places)?;
    for note in &check.notes {
        printer.say(&format!("note: {note}"));
    }
    let name = script.display();
    for found in &check.findings {
        printer.say(&format!(
            "{}[{}]: {name}:{}: {}",
            found.severity, found.code, found.line, found.message
        ));
    }
    match check.refused {
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}
