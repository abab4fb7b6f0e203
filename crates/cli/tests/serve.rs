//! `yard serve` of the built program: who gets its pages, and what they show.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use testkit::{FakeSlurm, RealSlurm, SlurmShape, TestEnv, skip, wait_until};

struct Pages {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pages {
    fn start(env: &TestEnv) -> Pages {
        let mut child = env
            .command(&["serve"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let rest = line.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let (port, token) = rest.split_once("/?token=").unwrap();
        Pages {
            child,
            port: port.parse().unwrap(),
            token: token.to_owned(),
        }
    }

    /// Head and body of what a page answers.
    fn get(&self, path: &str, headers: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// The cookie's header up to its value.
    fn cookie(&self) -> String {
        format!("Cookie: yard-{}=", self.port)
    }

    /// The clusters' page once this holds of what it shows of one of them.
    fn cluster(&self, name: &str, is: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let mut found = serde_json::Value::Null;
        wait_until(&format!("{name} is shown"), || {
            let page: serde_json::Value = serde_json::from_str(&self.own("/api/clusters")).unwrap();
            let all = page["clusters"].as_array().unwrap();
            let own = all.iter().find(|cluster| cluster["name"] == name);
            found = own.cloned().unwrap_or_default();
            is(&found)
        });
        found
    }

    fn own(&self, path: &str) -> String {
        let (cookie, token) = (self.cookie(), &self.token);
        let headers = format!("Host: 127.0.0.1:{}\r\n{cookie}{token}\r\n", self.port);
        let (head, body) = self.get(path, &headers);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
        body
    }
}

/// Three jobs on two pretended nodes, the last of which waits, of one engine; and an engine that has
/// none.
fn start_clusters(env: &TestEnv) {
    let shape = ["--nodes", "2", "--gpus-per-node", "4"];
    env.yard(&[&["engine", "start", "two"], &shape[..]].concat())
        .success();
    env.write("job.sh", "#!/bin/sh\nsleep 600\n");
    for (name, options) in [
        ("small", vec!["--gpus=3", "--time=10"]),
        ("other", vec!["--gpus=4", "--time=20"]),
        ("large", vec!["--nodes=2", "--gpus-per-node=4", "--time=5"]),
    ] {
        let name = format!("--job-name={name}");
        let mut command = env.command(&["slurm", "sbatch", &name]);
        command.env("TRAINYARD_ENGINE", "two");
        let output = command.args(options).arg("job.sh").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn stop_clusters(env: &TestEnv) {
    for job in ["two:3", "two:2", "two:1"] {
        env.yard(&["cancel", job]).success();
        let _over = env.yard(&["wait", job]);
    }
    env.yard(&["engine", "stop", "two"]).success();
}

#[test]
fn the_page_of_clusters_shows_nodes_and_who_waits_for_what() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    start_clusters(&env);
    let fake = FakeSlurm::start(&mut env);
    fake.set_cluster(
        "n1  |mixed   |main*   |3/5/0/8   |16000  |2048  |gpu:v100:4(S:0-1)  |gpu:v100:2(IDX:0,3)  |none  |\n\
         n1  |mixed   |debug   |3/5/0/8   |16000  |2048  |gpu:v100:4(S:0-1)  |gpu:v100:2(IDX:0,3)  |none  |\n\
         n2  |drained |main*   |0/0/8/8   |16000  |0     |(null)  |(null)  |bad | fan  |\n",
        "7 |RUNNING |ann |n1 |N/A |2099-01-01T00:00:00 |1 |3 |cpu=3,node=1,gres/gpu=2 |7 |N/A |train |\n\
         8 |PENDING |bob |(Resources) |N/A |N/A |2 |16 |cpu=16,mem=4G,node=2 |8 |N/A |<b>wide</b> |\n",
    );
    let pages = Pages::start(&env);
    // Keys are those of the list of runs, which is another question.
    let two = pages.cluster("two", |it| {
        it["queue"][0]["key"] == "two:3" && it["queue"][0]["at"].is_i64()
    });
    assert_eq!(two["gpus"], serde_json::json!([7, 8]), "{two:#}");
    assert_eq!(two["running"], 2, "{two:#}");
    let next = &two["queue"][0];
    let words = next["note"].as_str().unwrap();
    assert!(words.ends_with("(Resources)"), "{next:#}");
    assert_eq!((&next["name"], &next["gpus"]), (&"large".into(), &8.into()));
    let local = pages.cluster("local", |it| it.is_object());
    assert_eq!(local["queue"], serde_json::json!([]), "{local:#}");

    let slurm = pages.cluster("fake", |it| it["at"].is_i64());
    assert_eq!(slurm["gpus"], serde_json::json!([2, 4]), "{slurm:#}");
    let nodes = &slurm["nodes"];
    assert_eq!(nodes[0]["partitions"], serde_json::json!(["main", "debug"]));
    assert_eq!(nodes[0]["jobs"], serde_json::json!(["7"]), "{nodes:#}");
    assert_eq!(nodes[1]["reason"], "bad | fan", "{nodes:#}");
    assert_eq!(slurm["queue"][0]["name"], "<b>wide</b>", "{slurm:#}");
    assert_eq!(slurm["queue"][1]["note"], "n1", "{slurm:#}");

    // An engine that goes is gone from the page; the others stay.
    stop_clusters(&env);
    pages.cluster("two", serde_json::Value::is_null);
}

#[test]
#[ignore = "brings up a real Slurm: cargo test -p yard-cli --test serve -- --ignored real"]
fn the_page_of_clusters_shows_a_real_slurm() {
    if let Some(reason) = RealSlurm::missing() {
        return skip("the_page_of_clusters_shows_a_real_slurm", &reason);
    }
    let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).unwrap();
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("SLURM_CONF", slurm.conf());
    let wrap = "--wrap=sleep 600";
    for options in [
        ["--job-name=wide", "--nodes=2", "--time=10"],
        ["--job-name=next", "--nodes=2", "--time=5"],
        ["--job-name=row", "--array=1-3", "--hold"],
    ] {
        slurm
            .run("sbatch", &[&options[..], &["--exclusive", wrap]].concat())
            .success();
    }
    let pages = Pages::start(&env);
    let rig = pages.cluster("rig", |it| {
        it["running"] == 1 && it["queue"][0]["at"].is_i64() && it["waiting"] == 2
    });
    let lines: Vec<String> = rig["queue"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            format!(
                "{} {} {} {}",
                job["label"], job["name"], job["nodes"], job["note"]
            )
        })
        .collect();
    let said = lines.join("\n");
    assert!(
        said.contains("\"next\" 2 \"waiting for free CPUs")
            && said.contains("_[1-3]\" \"row\" 1 \"held: scontrol release")
            && said.contains("\"wide\" 2 \"node[1-2]\""),
        "{said}"
    );
    let nodes = &rig["nodes"];
    assert_eq!(nodes[0]["state"], "allocated", "{nodes:#}");
    assert_eq!(nodes[1]["cpus"], serde_json::json!([4, 4]), "{nodes:#}");
    assert_eq!(nodes[0]["reason"], serde_json::Value::Null, "{nodes:#}");
}

/// Of a line without an end a page gets its last part, and a run folder that goes without a word is no end
/// of the pages, nor of `yard top`.
#[test]
fn a_line_of_10_mb_a_name_with_html_and_a_run_folder_that_goes() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "name = \"long\"\ncommand = [\"sh\", \"-c\", \"head -c 10000000 /dev/zero | tr '\\\\0' x; \
         echo; echo end-of-it; sleep 600\"]\n",
    );
    env.yard(&["run", "--on", "local", "--detach"]).success();
    let odd = ["--job-name=<img src=x onerror=alert(1)>", "--wrap=true"];
    let _odd = env.slurm("sbatch", &odd);
    let shown = env.yard(&["show", "long", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = shown["folder"].as_str().unwrap().to_owned();
    let key = folder.rsplit('/').next().unwrap().to_owned();
    let pages = Pages::start(&env);
    let run = format!("/api/run/{key}?rank=0");
    let find = || {
        let host = format!("Host: 127.0.0.1:{}\r\n", pages.port);
        let headers = format!("{host}{}{}\r\n", pages.cookie(), pages.token);
        pages.get(&run, &headers)
    };
    wait_until("the end of its log is shown", || {
        let (_, body) = find();
        assert!(body.len() < 200_000, "{} bytes", body.len());
        body.contains("end-of-it")
    });
    // As text in a document, which the page makes no markup of.
    wait_until("the odd name is listed", || {
        pages.own("/api/runs").contains("<img src=x")
    });
    assert!(env.yard(&["top"]).success().contains(&key));
    fs::remove_dir_all(&folder).unwrap();
    wait_until("its going is seen", || !find().1.contains("end-of-it"));
    assert!(pages.own("/").contains("<header>"));
    let _printed = env.yard(&["top"]).success();
    env.yard(&["cancel", "local:1"]).success();
    let _over = env.yard(&["wait", "local:1"]);
}

/// A run folder that is over, without any job.
fn make_run(home: &Path, template: &Path, number: usize) {
    let id = format!("old-{number:04}");
    let folder = template.with_file_name(&id);
    let copied = Command::new("cp")
        .arg("-r")
        .arg(template)
        .arg(&folder)
        .status()
        .unwrap();
    assert!(copied.success());
    let entry = serde_json::json!({
        "id": id, "name": "old", "cluster": "local", "folder": folder, "created": 1000 + number,
    });
    fs::write(
        home.join(format!("index/local/{id}.json")),
        entry.to_string(),
    )
    .unwrap();
}

#[test]
fn pages_need_the_token_and_show_runs_their_logs_and_plots() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "name = \"live\"\ncommand = [\"sh\", \"-c\", \"echo '<script>alert(1)</script>'; sleep 600\"]\n",
    );
    env.yard(&["run", "--on", "local", "--detach"]).success();
    let pages = Pages::start(&env);
    let host = format!("Host: 127.0.0.1:{}\r\n", pages.port);
    for (path, headers) in [
        ("/", host.clone()),
        ("/api/runs", format!("{host}{}wrong\r\n", pages.cookie())),
        (
            "/api/runs",
            format!(
                "Host: evil.example\r\n{}{}\r\n",
                pages.cookie(),
                pages.token
            ),
        ),
    ] {
        let (head, body) = pages.get(path, &headers);
        assert!(
            head.starts_with("HTTP/1.1 403") && !body.contains("live-"),
            "{head}\n{body}"
        );
    }
    let (head, _) = pages.get(&format!("/?token={}", pages.token), &host);
    let lower = head.to_lowercase();
    assert!(
        lower.contains("set-cookie: yard-") && lower.contains("location: /\r\n"),
        "{head}"
    );
    let elsewhere = format!("//evil.example/?token={}", pages.token);
    let (head, _) = pages.get(&elsewhere, &host);
    assert!(head.contains("location: /evil.example/\r\n"), "{head}");
    assert!(
        lower.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    for path in ["/", "/app.js", "/clusters.js", "/style.css"] {
        let page = pages.own(path);
        assert!(!page.contains("https://"), "{path} needs no network");
    }
    wait_until("the run runs", || {
        pages.own("/api/runs").contains("\"running\"")
    });
    let list: serde_json::Value = serde_json::from_str(&pages.own("/api/runs")).unwrap();
    let key = list["rows"][0]["key"].as_str().unwrap().to_owned();
    let run = format!("/api/run/{key}?rank=0");
    wait_until("its log is shown", || {
        pages.own(&run).contains("<script>alert")
    });
    wait_until("it is plotted", || {
        pages.own(&format!("/report/{key}")).contains("<svg")
    });
    // A change is seen, and a folder that goes is survived.
    env.yard(&["cancel", &key]).success();
    let _over = env.yard(&["wait", &key]).code(1);
    wait_until("its end is seen", || {
        pages.own("/api/runs").contains("\"cancelled\"")
    });
    env.yard(&["rm", "--yes", &key]).success();
    wait_until("its removal is seen", || {
        pages.own("/api/runs").contains("was removed")
    });
    let (head, _) = pages.get(
        &run,
        &format!("{host}{}{}\r\n", pages.cookie(), pages.token),
    );
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
}

/// Has Chromium look at a page for a while.
fn browse(env: &TestEnv, pages: &Pages, page: &str, words: &[String]) -> Output {
    // The cookie is set by a first visit, in the same profile.
    let start = format!("http://127.0.0.1:{}/?token={}", pages.port, pages.token);
    let profile = env.work().join("browser");
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--hide-scrollbars", "--virtual-time-budget=4000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(words)
        .arg(format!("{start}#{page}"));
    command.output().unwrap()
}

#[test]
#[ignore = "needs a browser: cargo test -p yard-cli --test serve -- --ignored"]
fn a_browser_shows_many_runs_and_ranks() {
    let test = "a_browser_shows_many_runs_and_ranks";
    if Command::new("chromium").arg("--version").output().is_err() {
        return skip(test, "chromium is not installed (apt-get install chromium)");
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "name = \"small\"\ncommand = [\"sh\", \"-c\", \"until grep -q 'rank 0' \
         $YARD_LOGS/../monitor/*.csv; do echo step; sleep 0.2; done\"]\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = shown["folder"].as_str().unwrap().to_owned();
    let home = env.trainyard_home();
    for number in 0..200 {
        make_run(&home, Path::new(&folder), number);
    }
    // The samples of 64 ranks.
    let csv = fs::read_dir(format!("{folder}/monitor"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let text = fs::read_to_string(&csv).unwrap();
    let line = text.lines().find(|line| line.contains("rank 0")).unwrap();
    let ranks: String = (1..64)
        .map(|rank| format!("{}\n", line.replace("rank 0", &format!("rank {rank}"))))
        .collect();
    fs::write(&csv, format!("{text}{ranks}")).unwrap();

    start_clusters(&env);
    let pages = Pages::start(&env);
    pages.cluster("two", |it| {
        it["waiting"] == 1 && it["queue"][0]["at"].is_i64()
    });
    wait_until("all are listed", || {
        pages.own("/api/runs").matches("\"key\"").count() > 200
    });
    let kept = std::env::var_os("PICTURES");
    let own = env.work().join("pictures");
    let pictures = kept.map_or(own, Into::into);
    fs::create_dir_all(&pictures).unwrap();
    let key = folder.rsplit('/').next().unwrap();
    let count = |page: &str, of: &str| {
        let drawn = browse(&env, &pages, page, &["--dump-dom".to_owned()]);
        String::from_utf8_lossy(&drawn.stdout).matches(of).count()
    };
    assert!(count("/all", "<tr") > 200, "all runs are listed");
    assert_eq!(count(key, "<b>rank "), 64, "each rank has a card");
    for (name, size, page, dark) in [
        ("list", "1200,900", "/all", false),
        ("list-dark-phone", "400,900", "/all", true),
        ("run", "1200,2400", key, false),
        ("run-dark", "1200,2400", key, true),
        ("run-phone", "400,2400", key, false),
        ("clusters", "1200,900", "/clusters", false),
        ("clusters-dark-phone", "400,1200", "/clusters", true),
    ] {
        let picture = pictures.join(format!("{name}.png"));
        let mut words = vec![
            format!("--window-size={size}"),
            format!("--screenshot={}", picture.display()),
        ];
        if dark {
            words.push("--force-dark-mode".to_owned());
            words.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let output = browse(&env, &pages, page, &words);
        let drawn = fs::metadata(&picture).map_or(0, |facts| facts.len());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(drawn > 10_000, "{name}: {drawn} bytes were drawn\n{said}");
    }
    stop_clusters(&env);
}

/// Every user of the machine can make connections.
#[test]
fn idle_connections_of_strangers_are_bounded() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let pages = Pages::start(&env);
    let idle: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(("127.0.0.1", pages.port)).unwrap())
        .collect();
    let mut first = idle[0].try_clone().unwrap();
    assert_eq!(first.read(&mut [0]).unwrap(), 0, "the oldest is closed");
    assert!(pages.own("/api/runs").contains("rows"));
}
