//! Reservations: made, changed and removed.

use super::Owner;
use super::turn::Turn;
use api::{Answer, Refusal};
use model::{ReservationDenial, ReservationRequest};
use sched::Event;

impl Owner {
    /// Makes a reservation, or changes one; the answer has its name.
    pub(super) fn reserve(
        &mut self,
        asked: &ReservationRequest,
        is_new: bool,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let members = self.state.groups_of(asked).into_iter().filter_map(|group| {
            let members = sys::users::group_members(&group).ok().flatten()?;
            Some((group, members))
        });
        let members = members.collect();
        let reservation = self.state.reserve(asked, is_new, &members, turn.now);
        let reservation = reservation.map_err(|denial| refused(&denial))?;
        let name = reservation.name.clone();
        self.state.apply(Event::ReservationChanged {
            name: name.clone(),
            reservation: Some(Box::new(reservation)),
        });
        turn.durable = true;
        Ok(Answer::Reserved { name })
    }

    /// Removes one that no job names.
    pub(super) fn unreserve(&mut self, name: String, turn: &mut Turn) -> Result<Answer, Refusal> {
        let may = self.state.unreserve(&name);
        may.map_err(|denial| refused(&denial))?;
        let reservation = None;
        self.state
            .apply(Event::ReservationChanged { name, reservation });
        turn.durable = true;
        Ok(Answer::Done)
    }
}

fn refused(denial: &ReservationDenial) -> Refusal {
    Refusal::Invalid {
        message: denial.to_string(),
    }
}
