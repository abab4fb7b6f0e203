//! How many ended jobs an engine remembers.

use crate::Test;
use crate::house::{House, all, row, until};
use crate::trouble::wrapped;
use api::{CancelRequest, Client, Selector};
use model::JobId;

pub const TESTS: &[Test] = &[
    (
        "keep::rows_go_in_the_sweep_in_which_their_folders_go",
        rows_go_with_their_folders,
    ),
    ("keep::what_is_no_number_is_refused", no_number),
];

/// Of so many ended jobs folders stay.
const FOLDERS: usize = 1000;

fn rows_go_with_their_folders() {
    let house = House::new();
    let program = wrapped(&house, "export TRAINYARD_KEEP_JOBS=5");
    let mut client = Client::connect_with(&house.dir(), &program).unwrap();
    let mut submission = house.script("true");
    submission.request.hold = true;
    let jobs: Vec<JobId> = (0..FOLDERS + 10)
        .map(|number| {
            submission.token = number.to_string();
            client.submit(submission.clone()).unwrap()
        })
        .collect();
    let requests = jobs.iter().map(|job| CancelRequest {
        selector: Selector::Job(*job),
        signal: None,
        batch: false,
        full: false,
    });
    client.cancel_each(requests.collect()).unwrap();
    // Nothing else ends afterwards: what may go goes with these.
    until("the oldest are forgotten", || {
        all(&mut client).len() == FOLDERS
    });
    assert_eq!(all(&mut client)[0].id, jobs[10]);
    assert_eq!(row(&mut client, jobs[10]).id, jobs[10]);
}

fn no_number() {
    let house = House::new();
    let program = wrapped(&house, "export TRAINYARD_KEEP_DAYS=soon");
    let error = Client::connect_with(&house.dir(), &program).unwrap_err();
    let text = format!("{error}\n{}", error.todo());
    assert!(text.contains("TRAINYARD_KEEP_DAYS=soon"), "{text}");
    assert!(text.contains("not a whole number"), "{text}");
    assert!(text.contains("or unset it"), "{text}");
}
