//! How the program is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    // At a fixed address. Elsewhere the loader writes every address of the program's tables anew at
    // each start, over a hundred thousand of them on hundreds of pages: more than all that `sbatch`
    // does itself. Libraries, stack and heap lie at random addresses all the same.
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
