//! Mail by real programs: a real `sendmail` (msmtp), and `curl` over TLS with a certificate of the
//! test's own, to a server on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testkit::{TestEnv, skip, wait_until};

const SERVER: &str = include_str!("support/smtp_server.py");

/// The server; it ends with this.
struct Server {
    child: Child,
    folder: PathBuf,
    port: String,
}

impl Server {
    fn start(env: &TestEnv, certificate: &[&Path]) -> Server {
        let program = env.write("smtp_server.py", SERVER);
        let folder = env.work().join("server");
        fs::create_dir(&folder).unwrap();
        let child = Command::new("python3")
            .arg(program)
            .arg(&folder)
            .args(certificate)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the server listens", || folder.join("port").exists());
        let port = fs::read_to_string(folder.join("port")).unwrap();
        Server {
            child,
            folder,
            port,
        }
    }

    /// The message with this number, from 1, once it came.
    fn mail(&self, number: usize) -> String {
        let file = self.folder.join(format!("mail-{number}"));
        wait_until("mail comes", || file.exists());
        fs::read_to_string(file).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_there(program: &str) -> bool {
    let tried = Command::new(program).arg("--version").output();
    tried.is_ok_and(|output| output.status.success())
}

#[test]
#[ignore = "needs msmtp: apt-get install msmtp; cargo test -p yard-cli --test mail -- --ignored"]
fn a_real_sendmail_takes_mail_of_runs_and_of_batch_scripts() {
    if !is_there("msmtp") {
        let test = "a_real_sendmail_takes_mail_of_runs_and_of_batch_scripts";
        return skip(test, "msmtp is not installed (apt-get install msmtp)");
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let server = Server::start(&env, &[]);
    let config = env.write(
        "msmtprc",
        &format!("account default\nhost 127.0.0.1\nport {}\n", server.port),
    );
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    // As msmtp-mta links it, with a config of the test's own.
    let script = format!("#!/bin/sh\nexec msmtp -C {} \"$@\"\n", config.display());
    let sendmail = env.write("bin/sendmail", &script);
    fs::set_permissions(&sendmail, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    env.write(
        "yard.toml",
        "name = \"gan\"\ncommand = [\"sh\", \"-c\", \"echo out of mémoire; exit 3\"]\n\
         [notify]\nmail = \"me@example.org\"\nfrom = \"yard@example.org\"\non = [\"fail\"]\n",
    );
    let _failed = env.yard(&["run", "--on", "local"]).code(1);
    let mail = server.mail(1);
    for part in [
        "MAIL FROM:<yard@example.org>",
        "RCPT TO:<me@example.org>",
        "Subject: [yard] gan-",
        "  out of mémoire",
        "yard requeue gan-",
    ] {
        assert!(mail.contains(part), "{part:?} in\n{mail}");
    }
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH --mail-user=me@example.org --mail-type=END\ntrue\n",
    );
    let _ended = env.slurm("sbatch", &["--wait", "job.sh"]);
    let mail = server.mail(2);
    assert!(mail.contains("(job.sh)") && mail.contains("RCPT TO:<me@example.org>"));
}

#[test]
#[ignore = "needs openssl: cargo test -p yard-cli --test mail -- --ignored"]
fn mail_goes_over_starttls_to_a_server_that_is_trusted() {
    if !is_there("curl") || Command::new("openssl").arg("version").output().is_err() {
        let test = "mail_goes_over_starttls_to_a_server_that_is_trusted";
        return skip(test, "curl and openssl are needed");
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let (certificate, key) = (env.work().join("cert.pem"), env.work().join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let server = Server::start(&env, &[&certificate, &key]);
    env.write(
        "yard.toml",
        &format!(
            "name = \"quick\"\ncommand = [\"true\"]\n[notify]\nmail = \"me@example.org\"\n\
             server = \"smtp://127.0.0.1:{}\"\n",
            server.port
        ),
    );
    let ended = env.yard(&["run", "--on", "local"]);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    let _done = ended.success();
    assert!(
        said.contains("no TLS connection that can be trusted"),
        "{said}"
    );
    assert!(!server.folder.join("mail-1").exists());
    env.set_var("CURL_CA_BUNDLE", &certificate);
    env.yard(&["run", "--on", "local"]).success();
    let mail = server.mail(1);
    assert!(mail.contains("Subject: [yard] quick-"), "{mail}");
}
