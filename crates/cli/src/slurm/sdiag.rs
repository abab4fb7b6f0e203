//! `sdiag`: what the scheduler and its callers did.

use super::connection::{CommandError, connect};
use crate::printer::Printer;
use model::{CallCount, SDIAG_HELP, SDIAG_USAGE, SchedulerStatistics, SdiagArgs, SdiagShow};
use serde_json::{Value, json};

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SdiagArgs::parse("sdiag", args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.show {
        Some(SdiagShow::Help) => printer.data(SDIAG_HELP),
        Some(SdiagShow::Usage) => printer.line(SDIAG_USAGE),
        Some(SdiagShow::Version) => printer.line(&super::version_line()),
        None => {
            return answer(&asked, printer).unwrap_or_else(|failure| {
                failure.say("sdiag", printer);
                1
            });
        }
    }
    0
}

fn answer(asked: &SdiagArgs, printer: &Printer) -> Result<u8, CommandError> {
    if let Err(message) = super::refuse_other_clusters("sdiag", asked.clusters.as_deref()) {
        printer.say(&format!("sdiag: error: {message}"));
        return Ok(1);
    }
    let mut client = connect()?;
    if asked.reset {
        client.reset_statistics()?;
        printer.line("Reset scheduling statistics");
        return Ok(0);
    }
    let mut statistics = client.statistics()?;
    for user in &mut statistics.by_user {
        if let Ok(Some(found)) = sys::users::user_by_id(user.number) {
            user.name = found.name;
        }
    }
    let zone = sys::local_zone();
    match asked.data {
        Some(format) => {
            let value = json_value(asked, &statistics);
            printer.data(&super::yaml::in_format(&value, format));
        }
        None => {
            let calls = calls_to_the_clock();
            printer.data(&asked.print(&statistics, calls, &zone));
        }
    }
    Ok(0)
}

/// The statistics under the names that Slurm gives them in JSON.
fn json_value(asked: &SdiagArgs, all: &SchedulerStatistics) -> Value {
    let (main, backfill) = (&all.passes, &all.backfill);
    let calls = |list: &[CallCount], name: &str, number: &str| -> Value {
        let calls = asked.sorted(list).into_iter();
        calls
            .map(|call| {
                json!({
                    name: call.name,
                    number: call.number,
                    "count": call.count,
                    "average_time": call.average(),
                    "total_time": call.time,
                })
            })
            .collect()
    };
    let parts = [
        json!({
            "req_time": all.at.seconds(),
            "req_time_start": all.since.seconds(),
            "server_thread_count": all.threads,
            "agent_queue_size": 0,
            "agent_count": 0,
            "agent_thread_count": 0,
            "dbd_agent_queue_size": 0,
            "jobs_submitted": all.submitted,
            "jobs_started": all.started,
            "jobs_completed": all.completed,
            "jobs_canceled": all.canceled,
            "jobs_failed": all.failed,
            "jobs_pending": all.pending,
            "jobs_running": all.running,
            "job_states_ts": all.at.seconds(),
        }),
        json!({
            "schedule_cycle_last": main.last,
            "schedule_cycle_max": main.longest,
            "schedule_cycle_total": main.count,
            "schedule_cycle_mean": main.mean(main.sum),
            "schedule_cycle_mean_depth": main.mean(main.depth),
            "schedule_cycle_per_minute": all.passes_per_minute().unwrap_or(0),
            "schedule_queue_length": main.last_queue,
        }),
        json!({
            "bf_backfilled_jobs": all.backfilled_in_all,
            "bf_last_backfilled_jobs": all.backfilled,
            "bf_backfilled_het_jobs": 0,
            "bf_cycle_counter": backfill.count,
            "bf_cycle_last": backfill.last,
            "bf_cycle_max": backfill.longest,
            "bf_cycle_mean": backfill.mean(backfill.sum),
            "bf_last_depth": backfill.last_depth,
            "bf_last_depth_try": backfill.last_depth,
            "bf_depth_mean": backfill.mean(backfill.depth),
            "bf_depth_mean_try": backfill.mean(backfill.depth),
            "bf_queue_len": backfill.last_queue,
            "bf_queue_len_mean": backfill.mean(backfill.queue),
            "bf_table_size": backfill.last_promised,
            "bf_table_size_mean": backfill.mean(backfill.promised),
            "bf_when_last_cycle": all.last_backfill.map_or(0, model::Timestamp::seconds),
            "bf_active": false,
        }),
        json!({
            "rpcs_by_message_type": calls(&all.by_kind, "message_type", "type_id"),
            "rpcs_by_user": calls(&all.by_user, "user", "user_id"),
        }),
    ];
    let maps = parts.into_iter().filter_map(|part| match part {
        Value::Object(map) => Some(map),
        _ => None,
    });
    let statistics: serde_json::Map<String, Value> = maps.flatten().collect();
    json!({ "statistics": statistics, "errors": [] })
}

/// How many microseconds a thousand looks at the clock take.
fn calls_to_the_clock() -> u64 {
    let began = std::time::Instant::now();
    for _ in 0..1000 {
        std::hint::black_box(std::time::SystemTime::now());
    }
    u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)
}
