use super::*;
use std::fs::File;
use std::os::fd::AsFd;

#[track_caller]
fn run(program: &str, args: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output");
    let (null, output) = (
        File::open("/dev/null").unwrap(),
        File::create(&path).unwrap(),
    );
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let pid = Spawn {
        program: OsStr::new(program),
        args: &args,
        environment: &[("A".to_owned(), "b c".to_owned())],
        pid_variable: Some("PID"),
        streams: [null.as_fd(), output.as_fd(), output.as_fd()],
        terminal: false,
        cpus: &[crate::cpu::available()[0]],
        umask: 0o27,
        oom_score_adj: 250,
        cgroups: &[],
        limits: &[],
        user: None,
        view: None,
    }
    .start()
    .unwrap();
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, 0) };
    let text = std::fs::read_to_string(&path).unwrap();
    (status, text.replace(&pid.to_string(), "<pid>"))
}

#[test]
fn everything_is_as_decided() {
    let script = "echo $A $PID $$; umask; cat /proc/self/oom_score_adj; nproc; \
                  ps -o pgid= -p $$ | tr -d ' '; kill -USR1 $$";
    let (status, text) = run("/bin/sh", &["sh", "-c", script]);
    assert_eq!(text, "b c <pid> <pid>\n0027\n250\n1\n<pid>\n");
    assert_eq!(status, libc::SIGUSR1);
}

/// Where the system lets it: `hostname`, and a file that another folder shows.
#[test]
fn a_view_has_a_host_name_and_folders_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["disk", "shown/kept/deep"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    std::fs::write(at("disk/a"), "of the node").unwrap();
    std::fs::write(at("shown/kept/b"), "kept").unwrap();
    let mut view = NodeView::new("node7").unwrap();
    let kept = [at("shown/kept/deep"), at("elsewhere")];
    view.replace(&at("disk"), &at("shown"), &kept).unwrap();
    let output = File::create(at("output")).unwrap();
    let null = File::open("/dev/null").unwrap();
    let shown = at("shown");
    let script = format!("uname -n; cd {}; cat a kept/b", shown.display());
    let args = ["sh", "-c", &script].map(OsString::from);
    let pid = Spawn {
        program: OsStr::new("/bin/sh"),
        args: &args,
        environment: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        pid_variable: None,
        streams: [null.as_fd(), output.as_fd(), output.as_fd()],
        terminal: false,
        cpus: &[],
        umask: 0o22,
        oom_score_adj: 0,
        cgroups: &[],
        limits: &[],
        user: None,
        view: Some(&view),
    }
    .start()
    .unwrap();
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, 0) };
    let text = std::fs::read_to_string(at("output")).unwrap();
    if text.contains("can't be made") {
        let text = format!("skipped: this system makes no namespaces: {text}\n");
        io::Write::write_all(&mut io::stderr(), text.as_bytes()).unwrap();
        return;
    }
    assert_eq!((status, text.as_str()), (0, "node7\nof the nodekept"));
    assert!(!at("shown/a").exists());
}

#[test]
fn a_missing_interpreter_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/nosuch -x\ntrue\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    let (status, text) = run(script.to_str().unwrap(), &["script"]);
    assert_eq!(status, libc::ENOENT << 8);
    assert_eq!(
        text,
        "slurmstepd: error: execve(): bad interpreter(/bin/nosuch -x): No such file or directory\n"
    );
}

#[test]
fn a_missing_program_is_said_as_slurmstepd_does() {
    let (status, text) = run("/no/such", &["such"]);
    assert_eq!(status, libc::ENOENT << 8);
    assert_eq!(
        text,
        "slurmstepd: error: execve(): /no/such: No such file or directory\n"
    );
}
