//! Mail and web hooks of a real run, to servers that stand in for real ones.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use testkit::{TestEnv, wait_until};

/// What came to a server, message by message.
fn server(serve: fn(TcpStream, &Sender<String>)) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, hear) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, &tell);
        }
    });
    (port, hear)
}

fn smtp(mut stream: TcpStream, tell: &Sender<String>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    stream.write_all(b"220 stand-in\r\n").unwrap();
    let mut message = String::new();
    while let Some(Ok(line)) = lines.next() {
        let answer = match line.split([' ', ':']).next().unwrap_or_default() {
            "DATA" => {
                stream.write_all(b"354 go on\r\n").unwrap();
                for line in lines
                    .by_ref()
                    .map_while(Result::ok)
                    .take_while(|line| line != ".")
                {
                    message.push_str(&line);
                    message.push('\n');
                }
                tell.send(std::mem::take(&mut message)).unwrap();
                "250 taken"
            }
            "MAIL" | "RCPT" => {
                message.push_str(&format!("{line}\n"));
                "250 fine"
            }
            "QUIT" => "221 bye",
            _ => "250 stand-in",
        };
        stream
            .write_all(format!("{answer}\r\n").as_bytes())
            .unwrap();
    }
}

fn http(mut stream: TcpStream, tell: &Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    tell.send(format!("{head}{}", String::from_utf8(body).unwrap()))
        .unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .unwrap();
}

/// The texts of all files below a folder, but for copies of the program itself.
fn texts(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name() == "bin" {
            continue;
        }
        if entry.path().is_dir() {
            texts(&entry.path(), found);
        } else {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            found.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_run_that_fails_is_reported_once_and_no_secret_is_written() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let (mail_port, mails) = server(smtp);
    let (hook_port, calls) = server(http);
    let secret = "T0KEN-that-is-secret";
    let hook = env.write("hook", &format!("http://127.0.0.1:{hook_port}/{secret}\n"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o600)).unwrap();
    env.write(
        "yard.toml",
        &format!(
            "name = \"gan\"\ncommand = [\"sh\", \"-c\", \"echo out of memory; exit 3\"]\n\
             [notify]\nmail = \"me@example.org\"\non = [\"end\", \"fail\"]\n\
             server = \"smtp://127.0.0.1:{mail_port}\"\nhook_file = \"hook\"\n"
        ),
    );
    let ended = env.yard(&["run", "--on", "local"]);
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let _failed = ended.code(1);
    let mail = mails.try_iter().collect::<Vec<_>>();
    let [mail] = &mail[..] else {
        panic!("one mail, not {mail:?}\n{printed}");
    };
    for part in [
        "RCPT TO:<me@example.org>",
        "Subject: [yard] gan-",
        "failed on local",
        "why         rank 0",
        "last lines of rank 0",
        "  out of memory",
        "yard requeue gan-",
    ] {
        assert!(mail.contains(part), "{part:?} in\n{mail}");
    }
    let calls: Vec<String> = calls.try_iter().collect();
    let [call] = &calls[..] else {
        panic!("one call, not {calls:?}\n{printed}");
    };
    assert!(call.starts_with(&format!("POST /{secret} ")), "{call}");
    assert!(
        call.contains("\"event\":\"failed\"") && call.contains("out of memory"),
        "{call}"
    );
    let mut written = String::new();
    texts(&env.trainyard_home(), &mut written);
    assert!(!written.contains(secret) && !printed.contains(secret));
}

#[test]
fn mail_about_a_batch_script_is_sent_by_the_engine_and_what_can_not_be_sent_is_said() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let script = "#!/bin/sh\n#SBATCH --mail-user=me@example.org --mail-type=BEGIN,END,TIME_LIMIT_50\n\
                  echo out of memory\nexit 3\n";
    env.write("job.sh", script);
    // Nothing listens there: the job runs, and the engine's log says it.
    let config = "../yard/config/config.toml";
    env.write(config, "[notify]\nserver = \"smtp://127.0.0.1:1\"\n");
    let submitted = env.slurm("sbatch", &["--wait", "job.sh"]);
    assert!(
        submitted
            .stderr
            .contains("no mail is sent about TIME_LIMIT_50"),
        "{}",
        submitted.stderr
    );
    wait_until("the engine says that both mails were not sent", || {
        let log = fs::read_to_string(env.engine_folder().join("engine.log")).unwrap_or_default();
        let said = "mail to me@example.org could not be sent: 127.0.0.1:1: no connection";
        log.matches(said).count() == 2
    });
    let (port, mails) = server(smtp);
    env.write(
        config,
        &format!("[notify]\nserver = \"smtp://127.0.0.1:{port}\"\n"),
    );
    let _failed = env.slurm("sbatch", &["--wait", "job.sh"]);
    let limit = Duration::from_secs(60);
    let begun = mails.recv_timeout(limit).unwrap();
    assert!(
        begun.contains("Subject: [yard] job 2 (job.sh) has started on local"),
        "{begun}"
    );
    let failed = mails.recv_timeout(limit).unwrap();
    for part in [
        "RCPT TO:<me@example.org>",
        "Subject: [yard] job 2 (job.sh) failed (FAILED) on local",
        "why         FAILED, exit code 3",
        "  out of memory",
        "sacct -j 2",
    ] {
        assert!(failed.contains(part), "{part:?} in\n{failed}");
    }
}

#[test]
fn servers_that_hang_hold_no_run_up_for_long_and_are_named() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // It takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    env.write("hook", "no address at all\n");
    env.write(
        "yard.toml",
        &format!(
            "name = \"quick\"\ncommand = [\"true\"]\n[notify]\nmail = \"me@example.org\"\n\
             server = \"smtp://127.0.0.1:{port}\"\nhook_file = \"hook\"\nhook_form = \"slack\"\n"
        ),
    );
    let planned = env.yard(&["plan", "--on", "local"]).success();
    assert!(planned.contains("other users can read it"), "{planned}");
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    assert!(
        shown.contains("127.0.0.1") && shown.contains("no answer within 10 s"),
        "{shown}"
    );
    assert!(shown.contains("no address that begins with"), "{shown}");
}
