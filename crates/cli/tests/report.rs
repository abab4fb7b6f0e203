//! `yard report`, `du` and `rm` on a real run; a page in a real browser.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
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
    env.yard(&["rm", "--yes", id, "small"]).success();
    assert!(!folder.exists());
    // The engine still lists its job.
    let listed = env.yard(&["ls"]).success();
    assert!(
        listed.contains("(small)") && listed.contains("was removed"),
        "{listed}"
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
