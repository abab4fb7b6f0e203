//! How the program is linked.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" {
        return;
    }
    // At a fixed address. Elsewhere the loader writes every address of the program's tables anew at
    // each start, over a hundred thousand of them on hundreds of pages: more than all that `sbatch`
    // does itself. Libraries, stack and heap lie at random addresses all the same.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    // What unwinds the stack, in the program itself: each start of `sbatch` would load and link a
    // library for it, which it never calls. Where the compiler has none, the library does.
    if has_static("gcc_eh") && has_static("gcc") {
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
        println!("cargo:rustc-link-lib=static:-bundle=gcc");
    }
}

/// Whether the C compiler that links for this target has that library as an archive: then it says where.
fn has_static(name: &str) -> bool {
    let own = std::env::var("HOST") == std::env::var("TARGET");
    let linker = std::env::var("RUSTC_LINKER").ok();
    let Some(linker) = linker.or_else(|| own.then(|| "cc".to_owned())) else {
        return false;
    };
    let asked = Command::new(linker)
        .arg(format!("-print-file-name=lib{name}.a"))
        .output();
    let Ok(answer) = asked else { return false };
    let path = String::from_utf8_lossy(&answer.stdout);
    let path = Path::new(path.trim());
    path.is_absolute() && path.exists()
}
