//! An image for Charliecloud, made of busybox.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{TestEnv, skip};

/// Where Debian's packages are: `ch-image` runs with the system's own Python.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An environment with an image in the folder `image`; none where this machine has not what it needs.
pub fn with_image(what: &str) -> Option<TestEnv> {
    let runs = Command::new("ch-run")
        .arg("--version")
        .env("USER", "user")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !runs.is_ok_and(|status| status.success()) {
        skip(what, "Charliecloud is needed");
        return None;
    }
    with_busybox(what)
}

/// The same, whatever runs it.
pub fn with_busybox(what: &str) -> Option<TestEnv> {
    let places = ["/bin/busybox", "/usr/bin/busybox"].into_iter();
    let Some(busybox) = places.map(Path::new).find(|path| path.exists()) else {
        skip(what, "busybox-static is needed");
        return None;
    };
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("PATH", PATH);
    make_image(busybox, &env.work().join("image"));
    Some(env)
}

/// Programs and a file: what Charliecloud mounts by itself has no places in it.
fn make_image(busybox: &Path, image: &Path) {
    for folder in ["bin", "etc"] {
        fs::create_dir_all(image.join(folder)).unwrap();
    }
    fs::copy(busybox, image.join("bin/busybox")).unwrap();
    for name in [
        "sh", "cat", "echo", "env", "ls", "pwd", "id", "sleep", "grep",
    ] {
        symlink("busybox", image.join("bin").join(name)).unwrap();
    }
    fs::write(image.join("etc/mark"), "made of busybox\n").unwrap();
}
