//! Which compiler it is, for the greeting.

use std::{env, process::Command};

fn main() {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let found = Command::new(compiler)
        .arg("--version")
        .output()
        .map(|done| done.stdout)
        .unwrap_or_default();
    println!(
        "cargo::rustc-env=RUSTC_VERSION={}",
        String::from_utf8_lossy(&found).trim()
    );
    println!("cargo::rerun-if-changed=build.rs");
}
