//! `scontrol create|update|delete|show reservation`.

use super::cluster_view::cluster;
use super::connection::{CommandError, connect};
use super::scontrol::say_changed;
use crate::printer::Printer;
use api::ClusterReport;
use model::{
    Reservation, ReservationDenial, ShowStyle, Timestamp, reservation_request, show_reservation,
};

/// Makes a reservation, or changes one.
pub fn reserve(words: &[String], is_new: bool, printer: &Printer) -> Result<u8, CommandError> {
    let zone = sys::local_zone();
    let asked = match reservation_request(words, is_new, Timestamp(sys::now()), &zone) {
        Ok(asked) => asked,
        Err(said) => {
            said.lines.iter().for_each(|line| printer.say(line));
            return Ok(1);
        }
    };
    let what = if is_new { "creating" } else { "updating" };
    let failed = |words: &str| {
        printer.say(&format!("Error {what} the reservation: {words}"));
        if !is_new {
            printer.say(&format!("slurm_update error: {words}"));
        } else if explains_partition(words) {
            printer.line(ONE_PARTITION);
        }
        Ok(1)
    };
    if has_unknown_user(&asked) {
        return failed("Invalid user id");
    }
    match connect()?.reserve(asked, is_new) {
        Ok(name) if is_new => printer.line(&format!("Reservation created: {name}")),
        Ok(_) => printer.line("Reservation updated."),
        Err(error) => return failed(&error.to_string()),
    }
    Ok(0)
}

/// Where no nodes are found for one.
const ONE_PARTITION: &str = "Note, unless nodes are directly requested a reservation must exist in \
     a single partition.\nIf no partition is requested the default partition is assumed.";

fn explains_partition(words: &str) -> bool {
    let denials = [ReservationDenial::Busy, ReservationDenial::TooMany];
    denials.iter().any(|denial| denial.to_string() == words)
}

/// Whether a request names a user that this machine doesn't know.
fn has_unknown_user(asked: &model::ReservationRequest) -> bool {
    let mut names = asked.users.iter().flat_map(|change| change.names());
    // Where names can't be looked up none is refused.
    names.any(|name| matches!(sys::users::user_by_name(name), Ok(None)))
}

/// Removes a reservation.
pub fn unreserve(name: &str, written: &str, printer: &Printer) -> Result<u8, CommandError> {
    let done = connect()?.unreserve(name.to_owned());
    Ok(say_changed(
        done,
        &format!("delete_reservation {written}"),
        printer,
    ))
}

/// The cores and CPUs that a reservation has.
fn cores_of(cluster: &ClusterReport, reservation: &Reservation) -> (u32, u32) {
    reservation.cores_and_cpus(|name| {
        let node = cluster.nodes.iter().find(|node| node.name == *name)?;
        // A node that is this machine gives CPUs one by one, wherever they lie.
        let sockets = node.sockets.filter(|_| cluster.is_pretended);
        Some((node.cpus, sockets))
    })
}

/// The one that is named, or all.
pub fn show_reservations(
    name: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let cluster = cluster()?;
    let (now, moments) = (Timestamp(sys::now()), super::moment_style());
    let shown = cluster.reservations.iter();
    let shown = shown.filter(|one| name.is_none_or(|name| one.name == name));
    let text: String = shown
        .map(|one| show_reservation(one, cores_of(&cluster, one), style, now, &moments))
        .collect();
    match (name, text.is_empty()) {
        (Some(name), true) => {
            if !quiet {
                printer.line(&format!("Reservation {name} not found"));
            }
            return Ok(1);
        }
        (None, true) => {
            if !quiet {
                printer.line("No reservations in the system");
            }
        }
        (_, false) => printer.data(&text),
    }
    Ok(0)
}
