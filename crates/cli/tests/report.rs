//! `yard report`, `du` and `rm` on a real run; a page in a real browser.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::Command;
use testkit::{TestEnv, skip};

/// A run of two ranks that trained a moment, and its folder.
fn trained() -> (TestEnv, PathBuf) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "name = \"small\"\ncommand = [\"sh\", \"-c\", \"until grep -q 'rank 0' \
         $YARD_LOGS/../monitor/*.csv; do sleep 0.1; done\"]\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = PathBuf::from(shown["folder"].as_str().unwrap());
    (env, folder)
}

#[test]
fn a_run_is_reported_counted_and_removed() {
    let (env, folder) = trained();
    // A foreign file among the event files costs a line and no report.
    fs::write(folder.join("tensorboard/a.tfevents.1"), "no events at all").unwrap();
    let printed = env.yard(&["report"]).success();
    let page = fs::read_to_string(printed.trim()).unwrap();
    assert_eq!(PathBuf::from(printed.trim()), folder.join("report.html"));
    assert!(
        page.contains("Memory of the ranks") && page.contains("no event file"),
        "{page}"
    );
    assert!(
        !page.contains("<script") && !page.contains("http://"),
        "{page}"
    );
    let id = folder.file_name().unwrap().to_str().unwrap();
    env.yard(&["report", "--compare", id, "small", "--output", "both.html"])
        .success();
    let page = fs::read_to_string(env.work().join("both.html")).unwrap();
    assert!(page.contains("Runs compared"), "{page}");
    let held = env.yard(&["du", "--json"]).success();
    assert!(held.contains(id), "{held}");
    assert!(
        env.yard(&["ls", "--state", "failed"])
            .success()
            .contains("none of them")
    );
    assert!(
        env.yard(&["ls", "--state", "done", "--name", "mal"])
            .success()
            .contains(id)
    );
    // Without a terminal nothing is asked, and nothing goes.
    let said = env.yard(&["rm", id]).code(2).stderr;
    assert!(said.contains("add --yes"), "{said}");
    assert!(folder.exists());
    // A name of several runs is none of them.
    env.yard(&["run", "--name", "twice", "--", "true"])
        .success();
    env.yard(&["run", "--name", "twice", "--", "true"])
        .success();
    let said = env.yard(&["rm", "--yes", "twice"]).code(2).stderr;
    assert!(said.contains("twice can mean several"), "{said}");
    // A folder that was moved, with a link in its place, is not emptied.
    let moved = folder.with_extension("moved");
    fs::rename(&folder, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &folder).unwrap();
    let said = env.yard(&["rm", "--yes", id]).code(3).stderr;
    assert!(said.contains("its folder is a link"), "{said}");
    assert!(moved.join("run.json").exists());
    fs::remove_file(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    env.yard(&["rm", "--yes", id, "small"]).success();
    assert!(!folder.exists());
    // The engine still lists its job.
    let listed = env.yard(&["ls"]).success();
    assert!(
        listed.contains("(small)") && listed.contains("was removed"),
        "{listed}"
    );
}

/// CRC-32C as TensorBoard masks it, bit by bit: the program's own is by a table.
fn masked(bytes: &[u8]) -> [u8; 4] {
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            sum >> 1 ^ (0x82f6_3b78 & 0u32.wrapping_sub(sum & 1))
        })
    });
    (!sum)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes()
}

/// The length of a record and its checksum.
fn head(length: u64) -> Vec<u8> {
    let length = length.to_le_bytes();
    [&length[..], &masked(&length)].concat()
}

/// A record with one scalar, `loss`, as torch writes it.
fn loss(seconds: f64, step: u8, value: f32) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[number << 3 | 2, length], bytes].concat()
    };
    let scalar = [&field(1, b"loss")[..], &[2 << 3 | 5], &value.to_le_bytes()].concat();
    let data = [
        &[1 << 3 | 1][..],
        &seconds.to_le_bytes(),
        &[2 << 3, step],
        &field(5, &field(1, &scalar)),
    ]
    .concat();
    [head(data.len() as u64), data.clone(), masked(&data).into()].concat()
}

/// A report of a run that has this one event file.
#[track_caller]
fn check_event_file(
    (env, folder): &(TestEnv, PathBuf),
    write: impl FnOnce(&mut fs::File, f64),
    wanted: &[&str],
) {
    let name = "a.tfevents.1";
    let path = folder.join("tensorboard").join(name);
    let now = fs::metadata(folder).unwrap().modified().unwrap();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    write(&mut fs::File::create(&path).unwrap(), now.as_secs_f64());
    env.yard(&["report"]).success();
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    for words in wanted {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf "), "{page}");
    fs::remove_file(path).unwrap();
}

#[test]
fn event_files_that_are_large_cut_damaged_or_odd_are_read_as_far_as_they_go() {
    let run = trained();
    let write = |file: &mut fs::File, bytes: &[u8]| file.write_all(bytes).unwrap();
    // A picture of 2 GB between two values, of which the disk holds nothing.
    check_event_file(
        &run,
        |file, now| {
            write(file, &loss(now, 1, 0.75));
            write(file, &head(2 << 30));
            file.seek(SeekFrom::Current((2 << 30) + 4)).unwrap();
            write(file, &loss(now + 1.0, 2, 0.125));
        },
        &["loss", "0.125"],
    );
    // 2 GB of nothing.
    check_event_file(
        &run,
        |file, _| file.set_len(2 << 30).unwrap(),
        &["no event file"],
    );
    // A writer that was killed.
    check_event_file(
        &run,
        |file, now| {
            write(file, &loss(now, 1, 0.5));
            write(file, &loss(now, 2, 0.25)[..20]);
        },
        &["loss", "0.5"],
    );
    // Bytes that a disk has changed.
    check_event_file(
        &run,
        |file, now| {
            let mut damaged = loss(now, 2, 0.625);
            damaged[20] ^= 1;
            write(file, &[loss(now, 1, 0.5), damaged].concat());
        },
        &["loss", "0.5", "damaged"],
    );
    // A training that diverges, and clocks that jump back, far on, and to what is no time.
    check_event_file(
        &run,
        |file, now| {
            let values = [
                loss(now, 1, 0.375),
                loss(now + 1.0, 2, f32::NAN),
                loss(now + 2.0, 3, f32::INFINITY),
                loss(now - 1e6, 4, 0.25),
                loss(now + 1e9, 5, -0.25),
                loss(f64::NAN, 6, 0.25),
                loss(-1e300, 7, 0.25),
                loss(now + 3.0, 8, 0.1875),
            ];
            write(file, &values.concat());
        },
        &["loss", "0.188"],
    );
}

#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_the_page() {
    let test = "a_browser_shows_the_page";
    if Command::new("chromium").arg("--version").output().is_err() {
        return skip(test, "chromium is not installed (apt-get install chromium)");
    }
    let (env, _) = trained();
    let page = env.yard(&["report"]).success();
    for size in ["1200,1600", "500,2400"] {
        let picture = env.work().join("page.png");
        let output = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
            ])
            .arg(format!(
                "--user-data-dir={}",
                env.work().join("browser").display()
            ))
            .arg(format!("--window-size={size}"))
            .arg(format!("--screenshot={}", picture.display()))
            .arg(format!("file://{}", page.trim()))
            .output()
            .unwrap();
        let drawn = fs::metadata(&picture).map_or(0, |facts| facts.len());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(drawn > 10_000, "{drawn} bytes were drawn\n{said}");
        fs::remove_file(picture).unwrap();
    }
}
