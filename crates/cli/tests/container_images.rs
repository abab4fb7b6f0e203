//! Images of containers: fetched from a registry, built of a recipe, and kept in the cache.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

#[path = "support/busybox_image.rs"]
mod busybox_image;

use busybox_image::{PATH, with_image};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testkit::{TestEnv, skip, wait_until};

/// A recipe that copies what [`with_image`] made, and a note.
fn write_recipe(env: &TestEnv, note: &str) {
    env.write(
        "made/Dockerfile",
        "FROM scratch\nCOPY image /\nCOPY note /etc/note\n",
    );
    env.write("made/note", note);
    let image = env.work().join("image");
    if image.is_dir() {
        fs::rename(image, env.work().join("made/image")).unwrap();
    }
}

/// Whether Charliecloud builds images here.
fn builds(what: &str) -> bool {
    let shown = Command::new("ch-image")
        .arg("--version")
        .env("PATH", PATH)
        .env("USER", "user")
        .output();
    let builds = shown.is_ok_and(|shown| shown.status.success());
    if !builds {
        skip(
            what,
            "ch-image with python3-lark and python3-requests is needed",
        );
    }
    builds
}

#[test]
fn a_recipe_is_built_again_when_a_file_that_it_copies_changes() {
    let what = "a recipe built by Charliecloud";
    let Some(env) = with_image(what).filter(|_| builds(what)) else {
        return;
    };
    env.write(
        "yard.toml",
        "command = [\"cat\", \"/etc/note\"]\n[environment.container]\nimage = \"made/Dockerfile\"\n",
    );
    for (note, made) in [("one", true), ("one", false), ("another", true)] {
        write_recipe(&env, note);
        let printed = env.yard(&["run"]).success();
        assert!(printed.contains(&format!("[0] {note}")), "{printed}");
        assert_eq!(printed.contains("made in"), made, "{printed}");
    }
}

/// `ch-image` ran with the Python of the venv or of conda that stands first, and ended with a traceback.
#[test]
fn images_are_made_whatever_python_is_first_on_the_path() {
    let what = "a recipe built with another Python first on the path";
    let Some(mut env) = with_image(what).filter(|_| builds(what)) else {
        return;
    };
    let other = env.write("venv/bin/python3", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(&other, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = other.parent().unwrap().display().to_string();
    env.set_var("PATH", format!("{bin}:{PATH}"));
    let module = format!("module() {{ export PATH={bin}:$PATH; }}\n");
    fs::write(env.root().join("home/.bash_profile"), module).unwrap();
    for (note, modules) in [("one", ""), ("another", "\"conda\"")] {
        write_recipe(&env, note);
        let text = format!(
            "command = [\"cat\", \"/etc/note\"]\n[environment]\nmodules = [{modules}]\n\
             [environment.container]\nimage = \"made/Dockerfile\"\n"
        );
        env.write("yard.toml", text.as_str());
        let printed = env.yard(&["run"]).success();
        assert!(printed.contains(&format!("[0] {note}")), "{printed}");
    }
}

/// The job that builds it waits, and meanwhile the files change: it ended with a refusal.
#[test]
fn an_image_is_built_of_the_files_as_they_were_when_it_was_asked_for() {
    let what = "a recipe built by a job";
    let Some(mut env) = with_image(what).filter(|_| builds(what)) else {
        return;
    };
    let cluster = "internet = \"compute\"\n[nodes.n]\ncount = 1\ncpus = 1\nmemory = \"4000M\"\n\
                   [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";
    let cluster = env.write("nodes.toml", cluster).display().to_string();
    env.yard(&["engine", "start", "nodes", "--cluster", &cluster])
        .success();
    write_recipe(&env, "old");
    env.write(
        "made/Dockerfile",
        "FROM scratch\nCOPY image /\nCOPY app /app\n",
    );
    env.write("made/app/note", "old");
    env.write("made/app/data/large", "ignored");
    env.write("made/.dockerignore", "app/data\n");
    env.write(
        "yard.toml",
        "command = [\"sh\", \"-c\", \"cat /app/note; ls /app\"]\n\
         [environment.container]\nimage = \"made/Dockerfile\"\n",
    );
    env.set_var("TRAINYARD_ENGINE", "nodes");
    let hold = env.slurm("sbatch", &["--parsable", "--wrap", "sleep 600"]);
    let hold = hold.success().trim().to_owned();
    // A shell waits for no such job, and is refused before anything is copied for one.
    let shell = ["shell", "--on", "nodes", "--", "true"];
    let refused = env.yard(&shell).code(3).snapshot();
    assert!(
        refused.contains("the image of the shell is not made yet"),
        "{refused}"
    );
    let copies = env.trainyard_home().join("scratch/.yard/sources");
    assert!(!copies.exists());
    let submitted = env.yard(&["run", "--detach", "--on", "nodes"]).success();
    assert!(
        submitted.contains("makes it on a node first"),
        "{submitted}"
    );
    assert!(copies.is_dir());
    env.write("made/app/note", "new");
    env.slurm("scancel", &[&hold]).success();
    env.yard(&["wait"]).success();
    let printed = env.yard(&["logs"]).success();
    assert!(printed.contains("old"), "{printed}");
    assert!(!printed.contains("data"), "{printed}");
    // What is ignored makes no other image.
    env.write("made/app/note", "old");
    env.write("made/app/data/large", "changed");
    let again = env.yard(&["run", "--on", "nodes"]).success();
    assert!(!again.contains("makes it on a node first"), "{again}");
    env.yard(&["engine", "stop", "nodes"]).success();
}

#[test]
fn what_a_step_or_a_shell_runs_in_is_not_pruned() {
    let what = "an image in use";
    let Some(env) = with_image(what).filter(|_| builds(what)) else {
        return;
    };
    write_recipe(&env, "one");
    let recipe = "--container-image=./made/Dockerfile";
    env.write("seen/note", "");
    let waits = "echo > started; while [ ! -e go ]; do sleep 0.05; done; cat /etc/note";
    let prune = || env.yard(&["cache", "prune", "--all"]).success();
    let step = [
        "slurm",
        "srun",
        "--container-mounts=./seen:/seen",
        "--container-workdir=/seen",
    ];
    let named = ["--container-name=mine", "sh", "-c", waits];
    let shell = ["shell", "--image", "made/Dockerfile", "--", "sh", "-c"];
    let check = |words: &[&str], place: &str, kept: usize| {
        let mut child = env.command(words).stdout(Stdio::piped()).spawn().unwrap();
        let at = |name: &str| env.work().join(place).join(name);
        wait_until("it runs", || at("started").exists());
        let said = prune();
        assert_eq!(
            said.matches("kept, as it is in use").count(),
            kept,
            "{said}"
        );
        assert!(!said.contains("removed  "), "{said}");
        fs::write(at("go"), "").unwrap();
        let mut read = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut read).unwrap();
        assert!(child.wait().unwrap().success() && read == "one", "{read}");
        for name in ["started", "go"] {
            fs::remove_file(at(name)).unwrap();
        }
    };
    check(
        &[&step[..], &[recipe, "sh", "-c", waits]].concat(),
        "seen",
        1,
    );
    check(&[&shell[..], &[waits]].concat(), "", 1);
    check(&[&step[..], &[recipe], &named[..]].concat(), "seen", 2);

    // A job that waits has no process yet.
    let job = ["--parsable", "--hold", recipe];
    let job = env.slurm("sbatch", &[&job[..], &["--wrap", "cat /etc/note"]].concat());
    let job = job.success().trim().to_owned();
    let over = ["--parsable", "--hold", recipe, "--wrap", "true"];
    let over = env.slurm("sbatch", &over).success().trim().to_owned();
    env.slurm("scancel", &[&over]).success();
    // One that the engine knows no more.
    let listed = env.yard(&["cache", "ls", "--json"]).success();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let all = listed["cached"].as_array().unwrap().iter();
    let mut noted = all.map(|one| PathBuf::from(format!("{}.jobs", one["path"].as_str().unwrap())));
    let noted = noted.find(|path| path.exists()).unwrap();
    let engine = env.engine_folder();
    let text = fs::read_to_string(&noted).unwrap();
    fs::write(&noted, format!("{text}999999 {}\n", engine.display())).unwrap();
    let kept = env.yard(&["cache", "prune"]).success();
    assert!(!kept.contains("images/"), "{kept}");
    let listed = env.yard(&["cache", "ls"]).success();
    assert!(listed.contains(&format!("job {job}")), "{listed}");
    assert!(!listed.contains(&format!("job {over}")), "{listed}");
    // The list of them doesn't grow for ever; what ended can be queued again.
    let text = fs::read_to_string(&noted).unwrap();
    assert!(!text.contains("999999 "), "{text}");
    for known in [&job, &over] {
        assert_eq!(text.matches(&format!("{known} /")).count(), 1, "{text}");
    }
    // A look starts no engine that was stopped, and what waits there keeps what it starts in.
    env.yard(&["engine", "stop"]).success();
    let kept = env.yard(&["cache", "prune"]).success();
    assert!(!kept.contains("images/"), "{kept}");
    let listed = env.yard(&["cache", "ls"]).success();
    assert!(listed.contains(&format!("job {job}")), "{listed}");
    let running = api::Client::connect_running(&env.engine_folder()).unwrap();
    assert!(running.is_none());
    env.slurm("scontrol", &["release", &job]).success();
    env.yard(&["wait", &job]).success();
    assert_eq!(
        fs::read_to_string(env.work().join(format!("slurm-{job}.out"))).unwrap(),
        "one"
    );

    // The container with a name is told of, and stays until it is asked for.
    let listed = env.yard(&["cache", "ls"]).success();
    assert!(
        listed.contains("container") && listed.contains("mine"),
        "{listed}"
    );
    let cleaned = env.yard(&["clean", "--dry-run"]).success();
    assert!(cleaned.contains("--container-name=mine keeps"), "{cleaned}");
    env.yard(&["cache", "prune"]).success();
    let there = env.slurm("srun", &["--container-name=mine:exec", "cat", "/etc/note"]);
    assert_eq!(there.success(), "one");
    let said = prune();
    assert!(said.contains("containers/mine"), "{said}");
    let _gone = env
        .slurm("srun", &["--container-name=mine:exec", "true"])
        .code(1);
    assert_eq!(env.yard(&["cache", "ls"]).success(), "nothing is cached\n");
}

/// Podman as far as images are made with it, with a folder for its storage. What is built becomes an image of the
/// recipe's words once all builds are there that wait for one another.
const PODMAN: &str = r#"#!/bin/bash
set -eu
store=${0%/*}/store
case "$1" in
  build) [ "$2 $4" = "--tag --file" ]
    mkdir -p "$store/$3"; cp "$5" "$store/$3/mark"; touch "$store/built.${5##*/}"
    until [ -e "$store/built.Dockerfile.one" -a -e "$store/built.Dockerfile.two" ]; do sleep 0.02; done ;;
  create) echo "$2" ;;
  export) tar -c -C "$store/$2" mark ;;
  image) ;;
  rm) ;;
  rmi) rm -r "$store/$2" ;;
  run) exit 0 ;;
  *) exit 64 ;;
esac
"#;

/// It was kept as the image of the files as they had been.
#[test]
fn an_image_whose_files_are_edited_while_it_is_made_is_not_kept() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let edits = PODMAN.replace("mkdir -p", "echo two > \"$6/note\"; mkdir -p");
    let edits = edits.replace("Dockerfile.one", "Dockerfile");
    let program = env.write("bin/podman", &edits.replace("Dockerfile.two", "Dockerfile"));
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    env.write("Dockerfile", "FROM a\nCOPY note /note\n");
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[environment.container]\nruntime = \"podman\"\nimage = \"Dockerfile\"\n",
    );
    let made = || {
        let listed = env.yard(&["cache", "ls", "--json"]).success();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        listed["cached"].as_array().unwrap().len()
    };
    for (ignored, at_first) in [("", "one"), ("other\n", "three")] {
        env.write(".dockerignore", ignored);
        env.write("note", at_first);
        let before = made();
        let refused = env.yard(&["run"]);
        if ignored.is_empty() {
            let shown = refused.code(1).snapshot();
            let why = "was edited while its image was made";
            assert!(shown.contains(why), "{shown}");
            assert_eq!(made(), before);
            // As it was edited it is that one.
            env.yard(&["run"]).success();
            assert_eq!(made(), before + 1);
        } else {
            // It is built of a copy.
            refused.success();
            assert_eq!(made(), before + 1);
        }
    }
}

#[test]
fn two_podman_builds_at_once_are_two_images_and_leave_none_in_its_storage() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = env.write("bin/podman", PODMAN);
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    let run = |name: &str| {
        env.write(format!("Dockerfile.{name}"), &format!("FROM {name}\n"));
        env.write(
            format!("{name}.toml"),
            &format!(
                "command = [\"true\"]\n[environment.container]\nruntime = \"podman\"\n\
                 image = \"Dockerfile.{name}\"\n"
            ),
        );
        env.yard(&["run", &format!("{name}.toml")]).success()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| run("one"));
        scope.spawn(|| run("two"));
    });
    let listed = env.yard(&["cache", "ls", "--json"]).success();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let images = listed["cached"].as_array().unwrap();
    assert_eq!(images.len(), 2, "{listed}");
    for image in images {
        let made_of = fs::read_to_string(image["made_of"].as_str().unwrap()).unwrap();
        let path = Path::new(image["path"].as_str().unwrap());
        let mark = fs::read_to_string(path.join("image/mark")).unwrap();
        assert_eq!(mark, made_of);
    }
    let stored = fs::read_dir(bin.join("store/localhost")).unwrap();
    assert_eq!(stored.count(), 0);
}

/// A registry on loopback, with a certificate of its own.
struct Registry {
    server: std::process::Child,
    address: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Registry {
    /// Serves an image `small:1` that is made of the folder `image`; none where this machine has not
    /// what that needs.
    fn start(env: &TestEnv) -> Option<Registry> {
        let root = env.root().join("registry");
        fs::create_dir_all(root.join("context")).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("localhost:{}", port.local_addr().unwrap().port());
        drop(port);
        let at = |name: &str| root.join(name).display().to_string();
        let run = |program: &str, args: &[&str]| Registry::run(&root, program, args);
        let subject = "subjectAltName=DNS:localhost,IP:127.0.0.1";
        let (key, cert) = (at("key.pem"), at("cert.pem"));
        let certified = run(
            "openssl",
            &[
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                &key,
                "-out",
                &cert,
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                subject,
            ],
        );
        let config = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
             http: {{addr: {address}, tls: {{certificate: {cert}, key: {key}}}}}\n",
            at("stored")
        );
        fs::write(root.join("config.yml"), config).unwrap();
        fs::write(
            root.join("context/Dockerfile"),
            "FROM base\nENV OF_IMAGE=yes\n",
        )
        .unwrap();
        let image = env.work().join("image").display().to_string();
        let archive = at("image.tar");
        let made = run("tar", &["-C", &image, "-cf", &archive, "."])
            && run("ch-image", &["import", &archive, "base"])
            && run("ch-image", &["build", "-t", "made", &at("context")]);
        let server = Command::new("docker-registry")
            .args(["serve", &at("config.yml")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let (true, true, Ok(server)) = (certified, made, server) else {
            skip(
                "a registry",
                "docker-registry, openssl, python3-lark and python3-requests are needed",
            );
            return None;
        };
        let registry = Registry { server, address };
        let reached = &registry.address;
        wait_until("the registry answers", || {
            std::net::TcpStream::connect(reached).is_ok()
        });
        let name = format!("{}/small:1", registry.address);
        assert!(run("ch-image", &["push", "made", &name]));
        Some(registry)
    }

    /// Runs what makes it, or what fills it; whether that went well.
    fn run(root: &std::path::Path, program: &str, args: &[&str]) -> bool {
        let output = Command::new(program)
            .args(args)
            .env("PATH", PATH)
            .env("USER", "user")
            .env("CH_IMAGE_STORAGE", root.join("storage"))
            .env("REQUESTS_CA_BUNDLE", root.join("cert.pem"))
            .stdin(Stdio::null())
            .output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// Takes 10 s: the image is pushed, and pulled by two jobs at once.
#[test]
fn an_image_of_a_registry_is_fetched_once() {
    let Some(mut env) = with_image("an image of a registry") else {
        return;
    };
    let Some(registry) = Registry::start(&env) else {
        return;
    };
    for name in ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"] {
        env.set_var(name, env.root().join("registry/cert.pem"));
    }
    let run_file = |image: &str| {
        format!(
            "command = [\"sh\", \"-c\", \"cat /etc/mark; echo of image $OF_IMAGE\"]\n\
             [environment.container]\nimage = \"docker://{image}\"\n"
        )
    };
    let image = format!("{}/small:1", registry.address);
    env.write("yard.toml", run_file(&image).as_str());
    let printed = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| env.yard(&["run"]))).collect();
        let ended = runs.into_iter().map(|run| run.join().unwrap().success());
        ended.collect::<Vec<_>>()
    });
    for printed in &printed {
        assert!(printed.contains("made of busybox"), "{printed}");
        assert!(printed.contains("of image yes"), "{printed}");
    }
    let made = printed.iter().filter(|text| text.contains("made in"));
    assert_eq!(made.count(), 1, "{printed:?}");
    let recorded = env.yard(&["show"]).success();
    assert!(
        recorded.contains(&format!("docker://{image}, sha256:")),
        "{recorded}"
    );
    assert!(!printed.concat().contains("another image"), "{printed:?}");
    // Where only nodes reach registries, a job of its own fetches it, for which the run waits.
    let cluster = "internet = \"compute\"\n[nodes.n]\ncount = 1\ncpus = 2\nmemory = \"4000M\"\n\
                   [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";
    let cluster = env.write("nodes.toml", cluster).display().to_string();
    let started = ["engine", "start", "nodes", "--cluster", &cluster];
    env.yard(&started).success();
    let kept = env.trainyard_home().join("cache/images");
    fs::rename(&kept, env.root().join("images")).unwrap();
    let fetched = env.yard(&["run", "--on", "nodes"]).success();
    assert!(fetched.contains("makes it on a node first"), "{fetched}");
    assert!(fetched.contains("of image yes"), "{fetched}");
    // What that job fetched is recorded too.
    let recorded = env.yard(&["show"]).success();
    assert!(
        recorded.contains(&format!("docker://{image}, sha256:")),
        "{recorded}"
    );
    let again = env.yard(&["run", "--on", "nodes"]).success();
    assert!(!again.contains("makes it on a node first"), "{again}");
    env.yard(&["engine", "stop", "nodes"]).success();
    // Another tag of the same image is not fetched again, and its files are the first one's.
    let root = env.root().join("registry");
    let tagged = format!(
        "curl -sf --cacert cert.pem -H 'Accept: {0}' https://{1}/v2/small/manifests/1 >manifest && \
         curl -sf --cacert cert.pem -X PUT -H 'Content-Type: {0}' --data-binary @manifest \
         https://{1}/v2/small/manifests/2",
        "application/vnd.docker.distribution.manifest.v2+json", registry.address
    );
    let shell = Command::new("sh")
        .args(["-c", &tagged])
        .current_dir(&root)
        .status();
    assert!(shell.unwrap().success());
    env.write(
        "yard.toml",
        run_file(&format!("{}/small:2", registry.address)).as_str(),
    );
    let second = env.yard(&["run"]).success();
    assert!(second.contains("of image yes"), "{second}");
    let images = fs::read_dir(&kept).unwrap().flatten();
    let numbers = images.filter_map(|image| {
        let mark = fs::metadata(image.path().join("image/etc/mark")).ok()?;
        Some(mark.ino())
    });
    let numbers: Vec<u64> = numbers.collect();
    assert!(
        numbers.len() == 2 && numbers[0] == numbers[1],
        "{numbers:?}"
    );
    env.write("yard.toml", run_file(&image).as_str());
    // The tag is given to an image with another value; the run has the one that was recorded.
    let root = env.root().join("registry");
    let context = root.join("context");
    fs::write(context.join("Dockerfile"), "FROM base\nENV OF_IMAGE=no\n").unwrap();
    let context = context.display().to_string();
    assert!(Registry::run(
        &root,
        "ch-image",
        &["build", "-t", "other", &context]
    ));
    assert!(Registry::run(&root, "ch-image", &["push", "other", &image]));
    let moved = env.yard(&["run"]).snapshot();
    assert!(
        moved.contains("names another image now, sha256:"),
        "{moved}"
    );
    assert!(moved.contains("of image yes"), "{moved}");
    let refused = |image: &str, words: &str| {
        env.write("yard.toml", run_file(image).as_str());
        let shown = env.yard(&["run"]).code(1).snapshot();
        assert!(shown.contains(words), "{shown}");
    };
    let unknown = format!("{}/no-such:1", registry.address);
    refused(&unknown, "the registry has no image");
    drop(registry);
    refused(&unknown, "its registry does not answer");
    env.write("yard.toml", run_file(&image).as_str());
    let printed = env.yard(&["run"]).success();
    assert!(
        printed.contains("of image yes") && !printed.contains("made in"),
        "{printed}"
    );
}
