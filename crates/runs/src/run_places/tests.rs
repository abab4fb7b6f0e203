//! Where the files of runs lie, by what a cluster file says: see `run_places.rs`.

use super::*;
use expect_test::{Expect, expect};

/// What becomes of the places of `ada`, whose home is `home`, with these `[paths]`.
/// And whose cache is no folder that she named herself.
#[track_caller]
fn check(paths: &str, home: &str, links: &[(&str, &str)], missing: &[&str], want: Expect) {
    let file = ClusterFile::parse("lab", &format!("[paths]\n{paths}")).unwrap();
    let site = Site {
        file: &file,
        user: "ada",
        real: &|path| {
            let led = links
                .iter()
                .find_map(|(from, to)| Some(Path::new(to).join(path.strip_prefix(from).ok()?)));
            led.unwrap_or_else(|| path.to_owned())
        },
        of_user: &|folder, name| folder.join(name),
        is_there: &|path| !missing.iter().any(|one| path == Path::new(one)),
        is_usable: &|path| !missing.iter().any(|one| path.starts_with(one)),
    };
    let below = |name: &str| Path::new(home).join(name);
    let places = Places {
        state: below("state"),
        cache: below("cache"),
        is_cache_chosen: home == "/chosen",
        config: below("config"),
        scratch: below("scratch"),
        index: below("index"),
        host: "box".to_owned(),
    };
    let got = match site.moved(&places) {
        Moved::Not => "usual".to_owned(),
        Moved::To(run) => {
            // What only this machine reads stays.
            assert_eq!(run.places.index, places.index);
            assert_eq!(run.places.state, places.state);
            let cache = format!("cache in {}", run.places.cache.display());
            let before = run.cache_before;
            let before = before.map(|before| format!(", before in {}", before.display()));
            run.note.unwrap_or(cache + &before.unwrap_or_default())
        }
        Moved::Nowhere(failure) => failure.line(),
    };
    want.assert_eq(&got);
}

#[test]
fn a_run_lies_where_nodes_see_it() {
    let wilson = "scratch = \"/lustre/$USER\"\nno_jobs = [\"/nashome\"]";
    check(wilson, "/chosen", &[], &[], expect!["usual"]);
    check("", "/nashome/ada", &[], &[], expect!["usual"]);
    let moved = expect![
        "the run has its folder in /lustre/ada/trainyard/scratch, and environments and images in /lustre/ada/trainyard/cache: jobs can't run in /nashome (paths.no_jobs of lab)"
    ];
    check(wilson, "/nashome/ada", &[], &[], moved);
    // A home of another name that leads there.
    check(
        wilson,
        "/home/ada",
        &[("/home", "/nashome")],
        &[],
        expect![
            "the run has its folder in /lustre/ada/trainyard/scratch, and environments and images in /lustre/ada/trainyard/cache: jobs can't run in /nashome (paths.no_jobs of lab)"
        ],
    );
    // Users share it.
    check(
        "scratch = \"/lustre\"\nno_jobs = [\"/home/$USER/cache\"]",
        "/home/ada",
        &[],
        &[],
        expect![
            "the run has environments and images in /lustre/trainyard-ada/cache: jobs can't run in /home/$USER/cache (paths.no_jobs of lab)"
        ],
    );
}

#[test]
fn what_is_made_once_lies_on_the_scratch_of_the_cluster() {
    let shared = "scratch = \"/lustre\"";
    let on_scratch = expect!["cache in /lustre/trainyard-ada/cache, before in /home/ada/cache"];
    check(shared, "/home/ada", &[], &[], on_scratch);
    let own = "scratch = \"/lustre/$USER\"\nno_jobs = [\"/nashome\"]";
    let on_scratch = expect!["cache in /lustre/ada/trainyard/cache, before in /home/ada/cache"];
    check(own, "/home/ada", &[], &[], on_scratch);
    // Its own word, a scratch that is not there, and one of which it may not have a part.
    check(shared, "/chosen", &[], &[], expect!["usual"]);
    check(shared, "/home/ada", &[], &["/lustre"], expect!["usual"]);
    let closed = &["/lustre/trainyard-ada"];
    check(shared, "/home/ada", &[], closed, expect!["usual"]);
}

#[test]
fn without_such_a_folder_it_is_refused() {
    let wilson = "scratch = \"/lustre/$USER\"\nno_jobs = [\"/nashome\"]";
    check(
        wilson,
        "/nashome/ada",
        &[],
        &["/lustre/ada"],
        expect![
            "nodes of lab would not see the run's folder; a folder in /nashome/ada/scratch; jobs can't run in /nashome (paths.no_jobs), and /lustre/ada (paths.scratch) is not there; set TRAINYARD_HOME to a folder that its nodes see and may write in"
        ],
    );
    check(
        "no_jobs = [\"/nashome\"]",
        "/nashome/ada",
        &[],
        &[],
        expect![
            "nodes of lab would not see the run's folder; a folder in /nashome/ada/scratch; jobs can't run in /nashome (paths.no_jobs), and its file names no paths.scratch; set TRAINYARD_HOME to a folder that its nodes see and may write in"
        ],
    );
    check(
        "scratch = \"/nashome/s\"\nno_jobs = [\"/nashome\"]",
        "/nashome/ada",
        &[],
        &[],
        expect![
            "nodes of lab would not see the run's folder; a folder in /nashome/ada/scratch; jobs can't run in /nashome (paths.no_jobs), and neither in /nashome/s (paths.scratch); set TRAINYARD_HOME to a folder that its nodes see and may write in"
        ],
    );
}
