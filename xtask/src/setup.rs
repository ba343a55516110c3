#![expect(clippy::disallowed_methods, reason = "I/O shell: installs packages and compiles the peers")]
//! Installs what the tests need and nothing that the product needs.
//!
//! Everything is looked for first, so a second run changes nothing, prints nothing and takes no time.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::workspace;

const CYCLONE_VERSION: &str = "11.0.1";
const FAST_DDS_3_VERSION: &str = "3.2.3";

/// A Debian package and the sign that it is there.
struct Package {
    name: &'static str,
    sign: Sign,
}

enum Sign {
    File(&'static str),
    Program(&'static str),
}

const PACKAGES: &[Package] = &[
    Package {
        name: "libfastrtps-dev",
        sign: Sign::File("/usr/include/fastdds/dds/domain/DomainParticipant.hpp"),
    },
    Package { name: "libfastcdr-dev", sign: Sign::File("/usr/include/fastcdr/Cdr.h") },
    Package { name: "cyclonedds-dev", sign: Sign::File("/usr/include/dds/dds.h") },
    Package { name: "cyclonedds-tools", sign: Sign::Program("idlc") },
    Package { name: "gcc", sign: Sign::Program("gcc") },
    Package { name: "g++", sign: Sign::Program("g++") },
    Package { name: "iproute2", sign: Sign::Program("ip") },
    Package { name: "util-linux", sign: Sign::Program("nsenter") },
    Package { name: "chromium", sign: Sign::Program("chromium") },
    Package { name: "python3", sign: Sign::Program("python3") },
];

/// Why the tests' needs could not be met, with what to do about it.
#[derive(Debug)]
pub(crate) enum SetupError {
    /// Packages are missing and cannot be installed by this user here.
    MissingPackages(Vec<&'static str>),
    /// A step was started and failed.
    Step { step: String, detail: String },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingPackages(names) => write!(
                f,
                "missing here: {}. Run as root on Debian 12: apt-get install --no-install-recommends {}",
                names.join(", "),
                names.join(" ")
            ),
            Self::Step { step, detail } => write!(f, "{step} failed:\n{detail}"),
        }
    }
}

/// Brings every need of the tests into place.
///
/// # Errors
/// When something is missing and cannot be installed by this user on this system, or when a step fails.
pub(crate) fn run() -> Result<(), SetupError> {
    install_packages()?;
    install_cyclone()?;
    compile_fast_peer()?;
    install_fast_3()?;
    compile_fast_3_peer()?;
    compile_fast_benches()?;
    compile_cyclone_bench()
}

fn install_packages() -> Result<(), SetupError> {
    let mut missing: Vec<&str> =
        PACKAGES.iter().filter(|package| !is_present(&package.sign)).map(|package| package.name).collect();
    if !cyclone_marker().exists() && !python_can_make_environments() {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || workspace::find_program("apt-get").is_none() {
        return Err(SetupError::MissingPackages(missing));
    }
    eprintln!("setup: installing {}", missing.join(", "));
    let mut update = Command::new("apt-get");
    step("apt-get update", update.args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    step("apt-get install", install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(missing))
}

fn is_present(sign: &Sign) -> bool {
    match sign {
        Sign::File(path) => Path::new(path).exists(),
        Sign::Program(name) => workspace::find_program(name).is_some(),
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1));
    effective == Some("0")
}

fn python_can_make_environments() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import ensurepip, venv"]).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

/// Names the installed version, so that another version replaces it.
fn cyclone_marker() -> std::path::PathBuf {
    workspace::peers_dir().join(format!("venv/cyclonedds-{CYCLONE_VERSION}"))
}

fn install_cyclone() -> Result<(), SetupError> {
    install_wheel("venv", "cyclonedds", CYCLONE_VERSION)
}

/// The wheel has the headers and libraries of Fast DDS 3, which Debian 12 does not.
fn install_fast_3() -> Result<(), SetupError> {
    install_wheel("fastdds3", "ros-fastdds", FAST_DDS_3_VERSION)
}

/// Makes a Python environment below `target/peers` with one package.
fn install_wheel(folder: &str, package: &str, version: &str) -> Result<(), SetupError> {
    let environment = workspace::peers_dir().join(folder);
    let marker = environment.join(format!("{package}-{version}"));
    if marker.exists() {
        return Ok(());
    }
    eprintln!("setup: installing {package} {version} into target/peers/{folder}");
    let mut create = Command::new("python3");
    step("python3 -m venv", create.args(["-m", "venv", "--clear"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "-q", "--disable-pip-version-check"]).arg(format!("{package}=={version}"));
    step(&format!("pip install {package}"), &mut pip)?;
    write("marking the environment as complete", &marker, b"")
}

fn compile_fast_3_peer() -> Result<(), SetupError> {
    let sources = workspace::root().join("peers");
    let (source, shared) = (sources.join("fastdds3/peer.cpp"), sources.join("fastdds/command_line.hpp"));
    let environment = workspace::peers_dir().join("fastdds3");
    let program = workspace::peers_dir().join("fastdds3_peer");
    if newest(&[&program]) > newest(&[&source, &shared]) {
        return Ok(());
    }
    eprintln!("setup: compiling the Fast DDS 3 peer");
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-Wextra"]);
    link_fast_3(compile.arg("-I").arg(environment.join("include")).arg(source).arg("-o").arg(program))?;
    step("compiling the Fast DDS 3 peer", &mut compile)
}

/// Links a program with the libraries of the wheel.
fn link_fast_3(compile: &mut Command) -> Result<(), SetupError> {
    let libraries = workspace::peers_dir().join("fastdds3/lib");
    let python = fs::read_dir(&libraries).into_iter().flatten().flatten().map(|entry| entry.path());
    let bundled =
        python.map(|python| python.join("site-packages/ros_fastdds.libs")).find(|path| path.is_dir());
    let bundled = bundled.ok_or_else(|| SetupError::Step {
        step: "finding the libraries of Fast DDS 3".into(),
        detail: format!("no python*/site-packages/ros_fastdds.libs below {}", libraries.display()),
    })?;
    compile.arg("-L").arg(&libraries).args(["-lfastdds", "-lfastcdr"]);
    // The old kind of run path also holds for the libraries' own libraries.
    compile.arg(format!("-Wl,--disable-new-dtags,-rpath,{}:{}", libraries.display(), bundled.display()));
    compile.arg(format!("-Wl,-rpath-link,{}", bundled.display()));
    Ok(())
}

fn compile_fast_peer() -> Result<(), SetupError> {
    let sources = workspace::root().join("peers/fastdds");
    let (program, types) =
        (workspace::peers_dir().join("fastdds_peer"), workspace::peers_dir().join("types.xml"));
    let names = ["peer.cpp", "command_line.hpp", "types.xml"];
    let parts = names.map(|name| sources.join(name));
    let sources_changed = newest(&parts.each_ref().map(std::path::PathBuf::as_path));
    if types.exists() && newest(&[&program]) > sources_changed {
        return Ok(());
    }
    eprintln!("setup: compiling the Fast DDS peer");
    let xml = fs::read(sources.join("types.xml"))
        .map_err(|error| SetupError::Step { step: "reading types.xml".into(), detail: error.to_string() })?;
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-O1", "-Wall", "-Wextra"]).arg(sources.join("peer.cpp"));
    compile.arg("-o").arg(&program).args(["-lfastrtps", "-lfastcdr"]);
    step("compiling the Fast DDS peer", &mut compile)?;
    write("placing types.xml", &types, &xml)
}

fn bench_sources() -> std::path::PathBuf {
    workspace::root().join("peers/bench")
}

fn compile_fast_benches() -> Result<(), SetupError> {
    let parts = ["fastdds.cpp", "fastdds_2.hpp", "fastdds_3.hpp"].map(|name| bench_sources().join(name));
    let changed = newest(&parts.each_ref().map(std::path::PathBuf::as_path));
    let source = bench_sources().join("fastdds.cpp");
    for (name, is_3) in [("bench_fastdds", false), ("bench_fastdds3", true)] {
        let program = workspace::peers_dir().join(name);
        if newest(&[&program]) > changed {
            continue;
        }
        eprintln!("setup: compiling {name}");
        let mut compile = Command::new("g++");
        compile.args(["-std=c++17", "-O2", "-Wall", "-Wextra"]);
        if is_3 {
            compile.args(["-DFAST_DDS_3", "-I"]).arg(workspace::peers_dir().join("fastdds3/include"));
        }
        compile.arg(&source).arg("-o").arg(program);
        if is_3 {
            link_fast_3(&mut compile)?;
        } else {
            compile.args(["-lfastrtps", "-lfastcdr"]);
        }
        step(&format!("compiling {name}"), &mut compile)?;
    }
    Ok(())
}

fn compile_cyclone_bench() -> Result<(), SetupError> {
    let (source, types) = (bench_sources().join("cyclone.c"), bench_sources().join("bench.idl"));
    let program = workspace::peers_dir().join("bench_cyclone");
    if newest(&[&program]) > newest(&[&source, &types]) {
        return Ok(());
    }
    eprintln!("setup: compiling bench_cyclone");
    let generated = workspace::peers_dir().join("idl");
    fs::create_dir_all(&generated).map_err(|error| SetupError::Step {
        step: "making a folder for the output of idlc".into(),
        detail: format!("{}: {error}", generated.display()),
    })?;
    let mut translate = Command::new("idlc");
    step("translating bench.idl", translate.arg(types).current_dir(&generated))?;
    let mut compile = Command::new("gcc");
    compile.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-I"]).arg(&generated);
    compile.arg(source).arg(generated.join("bench.c")).arg("-o").arg(program).arg("-lddsc");
    step("compiling bench_cyclone", &mut compile)
}

/// The latest change of these files; a missing one counts as never changed.
fn newest(paths: &[&Path]) -> Option<SystemTime> {
    paths.iter().filter_map(|path| path.metadata().and_then(|data| data.modified()).ok()).max()
}

fn write(what: &str, path: &Path, bytes: &[u8]) -> Result<(), SetupError> {
    fs::write(path, bytes).map_err(|error| SetupError::Step {
        step: what.into(),
        detail: format!("{}: {error}", path.display()),
    })
}

/// Runs one command quietly; its output is shown only when it fails.
fn step(name: &str, command: &mut Command) -> Result<(), SetupError> {
    let failed = |detail: String| SetupError::Step { step: name.into(), detail };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(failed(String::from_utf8_lossy(&text).into_owned()))
}
