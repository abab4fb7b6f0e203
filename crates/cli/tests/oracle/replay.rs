//! The recorded transcript, command by command against the virtual twin of the cluster on which it
//! was recorded, which `yard cluster import` makes of that cluster's own configuration.

use crate::own_answers::OwnAnswers;
use crate::parts::{self, Part};
use crate::transcript::{self, Line, masked};
use crate::twin::{HANGS, LONGEST, Twin};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::wait_until;

/// The longest that a command of the recording ran.
const RECORDED_LONGEST: Duration = Duration::from_secs(10);
/// Before a listed line whose answer is not the same each time.
const VARIES: &str = "~ ";

/// How ours answers a listed line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    AsWritten,
    Variously,
}

/// The lines that are known to differ: `# REASON`, then command lines; a line that was typed before
/// has which time it is at its end, as `sinfo (2)`.
fn known(part: &Part) -> BTreeMap<&'static str, Answered> {
    let rows = part
        .differ
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# "));
    let mut known = BTreeMap::new();
    for row in rows {
        let (name, answered) = match row.strip_prefix(VARIES) {
            Some(name) => (name, Answered::Variously),
            None => (row, Answered::AsWritten),
        };
        assert!(
            known.insert(name, answered).is_none(),
            "listed twice: {row}"
        );
    }
    known
}

/// The first program of a pipe holds what its last one left open.
#[test]
fn a_pipe_whose_first_program_never_ends_is_ended() {
    let twin = Twin::start("");
    let answer = twin.answer_within(Duration::from_secs(1), "sleep 1000 | true");
    assert_eq!(answer, [HANGS]);
}

#[test]
fn every_recorded_command_is_answered_as_recorded_or_is_listed() {
    play(&parts::FIRST);
}

#[test]
fn every_command_recorded_later_is_answered_as_recorded_or_is_listed() {
    play(&parts::LATER);
}

#[test]
fn every_command_of_accounting_is_answered_as_recorded_or_is_listed() {
    play(&parts::ACCOUNTING);
}

#[test]
fn bad_input_is_answered_as_recorded_or_is_listed() {
    play(&parts::BAD);
}

#[test]
fn heterogeneous_jobs_are_answered_as_recorded_or_are_listed() {
    play(&parts::HET);
}

#[test]
fn jobs_are_held_as_recorded_or_are_listed() {
    play(&parts::HOLD);
}

#[test]
fn jobs_are_changed_as_recorded_or_are_listed() {
    play(&parts::UPDATES);
}

#[test]
fn jobs_are_queued_again_as_recorded_or_are_listed() {
    play(&parts::REQUEUE);
}

#[test]
fn keys_of_updates_are_answered_as_recorded_or_are_listed() {
    play(&parts::JOB_KEYS);
}

#[test]
fn what_is_looked_at_is_shown_as_recorded_or_is_listed() {
    play(&parts::LOOKS);
}

#[test]
fn running_jobs_give_back_nodes_as_recorded_or_are_listed() {
    play(&parts::RESIZE);
}

#[test]
fn ends_of_running_jobs_are_moved_as_recorded_or_are_listed() {
    play(&parts::END_TIME);
}

#[test]
fn settings_of_accounting_are_as_recorded_or_are_listed() {
    play(&parts::SETTINGS);
}

#[test]
fn moments_have_the_form_that_was_recorded_or_are_listed() {
    play(&parts::TIME_FORMAT);
}

#[test]
fn elements_of_arrays_are_changed_as_recorded_or_are_listed() {
    play(&parts::ARRAYS);
}

#[test]
fn lost_nodes_and_variables_are_as_recorded_or_are_listed() {
    play(&parts::LOST);
}

#[test]
fn srun_says_its_options_as_recorded_or_is_listed() {
    play(&parts::SRUN_VERBOSE);
}

#[test]
fn sacct_is_as_recorded_or_is_listed() {
    play(&parts::SACCT);
}

#[test]
fn nodes_of_the_future_are_answered_as_recorded_or_are_listed() {
    play(&parts::FUTURE);
}

#[test]
fn licences_of_reservations_are_answered_as_recorded_or_are_listed() {
    play(&parts::LICENCES);
}

#[test]
fn sinfo_shows_nodes_of_all_states_as_recorded_or_is_listed() {
    play(&parts::SINFO);
}

#[test]
fn what_differed_in_small_things_is_as_recorded_or_is_listed() {
    play(&parts::DETAILS);
}

#[test]
fn reasons_and_dependencies_are_as_recorded_or_are_listed() {
    play(&parts::REASONS);
}

#[test]
fn records_of_jobs_are_as_recorded_or_are_listed() {
    play(&parts::JOB_RECORDS);
}

#[test]
fn dumps_of_accounting_are_as_recorded_or_are_listed() {
    play(&parts::DUMP);
}

#[test]
fn waiting_jobs_are_changed_as_recorded_or_are_listed() {
    play(&parts::WAITING);
}

#[test]
fn jobs_keep_their_other_nodes_as_recorded_or_are_listed() {
    play(&parts::NO_KILL);
}

#[test]
fn small_things_are_as_recorded_or_are_listed() {
    play(&parts::CORNERS);
}

#[test]
fn steps_that_overlap_are_as_recorded_or_are_listed() {
    play(&parts::OVERLAP);
}

#[test]
fn accounts_are_managed_as_recorded_or_listed() {
    play(&parts::ADMIN);
}

#[test]
fn what_wrappers_type_is_answered_as_recorded_or_is_listed() {
    play(&parts::WRAPPERS);
}

#[test]
fn data_leaves_out_what_was_recorded_or_is_listed() {
    play(&parts::DATA);
}

#[test]
fn counts_of_features_and_what_is_left_out_are_as_recorded_or_listed() {
    play(&parts::REST);
}

#[test]
fn first_words_and_columns_are_as_recorded_or_are_listed() {
    play(&parts::WORDS);
}

#[test]
fn what_tasks_are_told_is_as_recorded_or_listed() {
    play(&parts::TOLD);
}

#[test]
fn tasks_follow_lists_of_nodes_as_recorded_or_are_listed() {
    play(&parts::NODE_LISTS);
}

#[test]
fn what_is_asked_for_is_as_recorded_or_listed() {
    play(&parts::ASKED);
}

mod slow {
    use super::*;

    #[test]
    fn scancel_says_what_was_recorded_or_is_listed() {
        play(&parts::CANCEL);
    }

    #[test]
    fn jobs_are_shown_and_started_as_recorded_or_are_listed() {
        play(&parts::ENVIRONMENT);
    }

    #[test]
    fn options_of_views_and_allocations_are_as_recorded_or_are_listed() {
        play(&parts::OPTIONS);
    }

    #[test]
    fn tasks_are_bound_to_gpus_as_recorded_or_are_listed() {
        play(&parts::GPU_BIND);
    }

    #[test]
    fn steps_get_nodes_and_gpus_as_recorded_or_are_listed() {
        play(&parts::STEPS);
    }

    #[test]
    fn gpus_at_sockets_are_given_as_recorded_or_are_listed() {
        play(&parts::GPU_SOCKETS);
    }

    #[test]
    fn every_change_of_nodes_and_partitions_is_answered_as_recorded_or_is_listed() {
        play(&parts::CHANGES);
    }

    #[test]
    fn every_reservation_is_answered_as_recorded_or_is_listed() {
        play(&parts::RESERVATIONS);
    }
}

fn play(part: &Part) {
    let began = Instant::now();
    let twin = Twin::with_gres(part.conf, part.gres_conf);
    let mut known = known(part);
    let mut own = OwnAnswers::beside(part.file);
    let mut times = BTreeMap::new();
    let (mut wrong, mut count, mut agree) = (String::new(), 0, 0);
    let mut agree_now = Vec::new();
    for line in transcript::lines(part.recorded) {
        match line {
            Line::Part => {}
            Line::Restart => {
                for verb in ["stop", "start"] {
                    twin.env.yard(&["engine", verb, "lab"]).success();
                }
                twin.register_nodes();
            }
            Line::WaitState { state, job } => {
                wait_until(&format!("job {job} is {state}"), || {
                    let all = ["-h", "-t", "all", "-o", "%t", "-j", &job];
                    let states = twin.prints(&all);
                    let mut states = states.lines().map(str::trim).peekable();
                    states.peek().is_some() && states.all(|it| it == state)
                });
                if state == "R" {
                    twin.outlive_second();
                }
            }
            Line::Pause => {
                wait_until("short jobs are over", || {
                    let running = twin.prints(&["-h", "-t", "R,CG", "-o", "%t %i %j"]);
                    running.lines().all(|line| {
                        let mut words = line.split_whitespace();
                        let (state, job, name) = (words.next(), words.next(), words.next());
                        state == Some("R")
                            && job.is_some_and(|job| !part.sleepers.contains(&&*format!("-{job}")))
                            && name.is_some_and(|name| part.sleepers.contains(&name))
                    })
                });
                twin.register_nodes();
            }
            Line::WaitSteps { job, count } => {
                wait_until(&format!("{count} steps of job {job} run"), || {
                    let steps = twin.prints(&["-h", "-s", "-o", " %i"]);
                    steps.matches(&format!(" {job}.")).count() >= count
                });
            }
            // Time for a real one's rounds; ours is done when it answers.
            Line::Command { text, .. } if text.starts_with("sleep ") => {}
            Line::Command { text, answer } => {
                let time: &mut usize = times.entry(text.clone()).or_default();
                *time += 1;
                let name = match time {
                    1 => text.clone(),
                    time => format!("{text} ({time})"),
                };
                let masked = |rows: &[String]| {
                    let rows = rows.iter();
                    let kept = rows.filter(|row| {
                        !transcript::is_incidental(&text, row) && !transcript::explains(row)
                    });
                    let masked = |row: &String| transcript::hide(masked(&text, row), part.hidden);
                    kept.map(masked).collect()
                };
                // What a real one refuses and ours takes would shift the numbers of all that follow.
                if part.keeps_numbers
                    && transcript::refuses_job(&answer)
                    && known.remove(&name[..]).is_some()
                {
                    count += 1;
                    continue;
                }
                let mut want: Vec<String> = masked(&answer);
                let hung = answer == [HANGS];
                let longest = if hung { RECORDED_LONGEST } else { LONGEST };
                // The real one had both within a second: the first is not to begin before the second is over.
                let typed = text.replace("=c9 starttime=now+1hour", "=c9 starttime=now+2hours");
                let answered = twin.answer_within(longest, &typed);
                if text.contains("sbatch")
                    && let Some(job) = transcript::submitted(&answer)
                    && part.keeps_numbers
                    && transcript::submitted(&answered).is_none()
                {
                    twin.take_number(job);
                }
                if !text.starts_with(part.only) {
                    continue;
                }
                let mut got: Vec<String> = masked(&answered);
                for rows in [&mut want, &mut got] {
                    transcript::sort_racing(&text, rows);
                }
                let listed = known.remove(&name[..]);
                count += 1;
                agree += usize::from(want == got);
                let is_shown = listed.is_none() || std::env::var_os("TRAINYARD_SHOW").is_some();
                if want != got && is_shown {
                    wrong.push_str(&difference(&name, ["real", "ours"], &want, &got));
                }
                match listed {
                    Some(_) if want == got => agree_now.push(name),
                    Some(Answered::AsWritten) => own.note(&name, got),
                    Some(Answered::Variously) | None => {}
                }
            }
        }
    }
    let updates = std::env::var_os("UPDATE_EXPECT").is_some();
    let changed = own.differences(updates, |name, want, got| {
        difference(name, ["was", "is"], want, got)
    });
    wrong.push_str(&changed);
    if updates {
        take_out(part, &agree_now);
    } else {
        for name in &agree_now {
            wrong.push_str(&format!("{name}\n  agrees, and is listed\n"));
        }
    }
    for name in known.into_keys() {
        wrong.push_str(&format!(
            "{name}\n  is listed, and is no line of the transcript\n"
        ));
    }
    // Past the test runner's capture, as it is worth knowing when all is well too.
    let _said = writeln!(
        std::io::stderr(),
        "{agree} of {count} recorded commands are answered as a real Slurm does, in {:?}",
        began.elapsed()
    );
    assert!(wrong.is_empty(), "{wrong}{agree} of {count} agree");
}

/// Writes the list anew without the lines that agree, and without reasons that stand for none.
fn take_out(part: &Part, agree: &[String]) {
    let left = |part: &&str| {
        part.lines()
            .any(|row| !row.is_empty() && !row.starts_with("# "))
    };
    let rows = part.differ.lines().filter(|row| {
        let row = row.strip_prefix(VARIES).unwrap_or(row);
        !agree.iter().any(|name| name == row)
    });
    let text: String = rows.map(|row| format!("{row}\n")).collect();
    let parts: Vec<&str> = text.split("\n\n").filter(left).map(str::trim_end).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracle")
        .join(part.file);
    std::fs::write(file, parts.join("\n\n") + "\n").expect("the list is written");
}

/// The lines that two answers do not have in common.
fn difference(name: &str, marks: [&str; 2], want: &[String], got: &[String]) -> String {
    let same = |a: &[String], b: &[String]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let start = same(want, got);
    let reversed = |rows: &[String]| rows[start..].iter().rev().cloned().collect::<Vec<_>>();
    let end = same(&reversed(want), &reversed(got));
    let mut text = format!("{name}\n");
    for (mark, rows) in marks.into_iter().zip([want, got]) {
        for row in &rows[start..rows.len() - end] {
            text.push_str(&format!("  {mark}{row}\n"));
        }
    }
    text
}
