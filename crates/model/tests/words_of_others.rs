//! Names and reasons of operators stand in one line, and move no cursor.

use jiff::tz::TimeZone;
use yard_model::{
    MomentStyle, Reservation, ShowStyle, Timestamp, reservation_request, reservations_text,
    show_reservation,
};

#[test]
fn a_reservations_name_is_short_and_has_no_control_characters() {
    let said = |name: &str| {
        let words = [
            format!("ReservationName={name}"),
            "StartTime=now".to_owned(),
            "Duration=10".to_owned(),
            "Users=root".to_owned(),
            "Nodes=n1".to_owned(),
        ];
        let asked = reservation_request(&words, true, Timestamp(0), &TimeZone::UTC);
        asked.map(|_| ()).map_err(|wrong| wrong.lines.join("\n"))
    };
    assert_eq!(said("plain"), Ok(()));
    assert_eq!(said(&"x".repeat(1024)), Ok(()));
    let long = said(&"x".repeat(1025)).expect_err("it is too long");
    assert!(long.contains("has 1025 bytes"), "{long}");
    for name in ["a\x1b[2J", "a\nb", "a\u{202e}"] {
        let bad = said(name).expect_err("it is refused");
        assert!(bad.contains("has control characters"), "{bad}");
        assert!(!bad.contains(name), "{bad}");
    }
}

#[test]
fn a_name_from_elsewhere_is_shown_in_one_line() {
    let one = Reservation {
        name: "a\x1b[2J\nb".to_owned(),
        ..Reservation::default()
    };
    let moments = MomentStyle::standard(TimeZone::UTC);
    let shown = show_reservation(&one, (0, 0), ShowStyle::default(), Timestamp(0), &moments);
    assert!(shown.contains("ReservationName=a\\x1b[2J\\nb "), "{shown}");
    let listed = reservations_text(&[one], true, Timestamp(0), &moments);
    assert!(listed.starts_with("a\\x1b[2J\\nb "), "{listed}");
}
