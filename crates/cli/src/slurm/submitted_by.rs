//! Who submits a job, as the records of Slurm tell of it.

use model::{Request, ShownOptions};
use std::path::Path;

/// Notes the command line and the session in a request of this process's.
pub fn note_submitter(request: &mut Request, program: &str) {
    let shown = request.shown.get_or_insert_default();
    let ShownOptions {
        submit_line,
        session,
        ..
    } = &mut **shown;
    *submit_line = Some(submit_line_of(program));
    *session = sys::process::session_of_this();
}

/// The command line of this process, from the program on.
pub fn submit_line_of(program: &str) -> String {
    let words = std::env::args_os().map(|word| sys::odd_text::text(&word));
    command_line(words, program)
}

/// The words from the program on, with a space between them and without quotes, as Slurm has them.
fn command_line(args: impl Iterator<Item = String>, program: &str) -> String {
    let is_program = |word: &String| {
        let name = Path::new(word).file_name();
        name.is_some_and(|name| name == program)
    };
    let words: Vec<String> = args.skip_while(|word| !is_program(word)).skip(1).collect();
    let mut line = program.to_owned();
    for word in words {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], want: &str) {
        let words = words.iter().map(|word| (*word).to_owned());
        assert_eq!(command_line(words, "sbatch"), want);
    }

    #[test]
    fn the_line_begins_with_slurms_name() {
        check(&["sbatch", "-n2", "job.sh"], "sbatch -n2 job.sh");
        check(
            &["/opt/yard", "slurm", "sbatch", "--wrap", "exit 3"],
            "sbatch --wrap exit 3",
        );
        check(&["yard", "run"], "sbatch");
    }
}
