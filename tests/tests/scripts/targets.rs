//! Each target of the Makefile is run by a test. Here each builds what it needs and takes its first step, in a checkout whose
//! compiler, servers and packages are stubs.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::{
    repository_root,
    stubs::{Run, find_program},
};

/// The scripts of the checkout that print their arguments instead of doing something.
const STUB_SCRIPTS: [&str; 4] = ["check.sh", "client.sh", "openapi.sh", "image-root.sh"];
/// What the stub of `infra/servers.sh` does: it starts nothing, and runs the command.
const SERVERS: &str = "#!/usr/bin/env bash
echo \"servers.sh $1 $2 $3\"
export TEST_REDIS_URL=redis://127.0.0.1:1 TEST_DYNAMODB_URL=http://127.0.0.1:1
while [[ $1 != -- ]]; do shift; done
exec \"${@:2}\"
";
/// What the stub of `infra/packages.sh` finds: each tool is there.
const PACKAGES: &str = "
PYTHON_MINIMUM='3, 11' NODE_MINIMUM=20
need_python() { find_python; }
find_python() { command -v python3; }
python_packages() { echo python3; }
need_node() { command -v node; }
need_sam() { echo /stub; }
need_lambda_emulator() { echo /stub/emulator; }
for name in environment valkey ministack checkov cargo_lambda cargo_deny nextest shellcheck; do eval \"need_$name() { :; }\"; done
install_packages() { :; }
install_shops() { :; }
";
/// A cargo that says what it would do.
const CARGO: &str = "case $1 in
  --version) echo 'cargo 1.95.0 (stub)' ;;
  metadata) echo \"{\\\"target_directory\\\":\\\"$TARGET\\\"}\" ;;
  -Z) exit 1 ;;
  *) echo \"cargo $*\" ;;
esac";

/// Each target of the Makefile, with a file of the repository that runs it or what it starts, and a text in that file. Below it
/// are the arguments of `make`, and after the colon what a run prints in a checkout of stubs: the build, and what comes first.
const TARGETS: &str = "
help tests/tests/structure/progress.rs help.sh
  : make test-one
doctor tests/tests/scripts/doctor.rs doctor.sh
  : Rust 1.95.0
run tests/tests/runner/startup.rs fn first_line_of_output_is_the_address
  ARGS=--quiet : cargo build --profile local --locked --package vestibule-local | vestibule-local --quiet
operate tests/tests/console/stack.rs fn overview_and_orders_go_by_the_admin_function
  STACK=shop : --package vestibule-stack-console | vestibule-stack-console shop
  : make operate STACK=shop
watch tests/tests/watch/main.rs infra/watch.sh
check .ci/run run_step check
  : cargo fmt --all --check | cargo clippy --workspace | check.sh dependencies | check.sh scripts
test .ci/run run_step test
  : cargo build --workspace --locked --all-targets | cargo nextest run --workspace --locked --no-tests fail --profile default
test-one tests/tests/scripts/targets.rs test-one
  SUITE=structure : cargo nextest run | --test structure
  : usage: infra/test.sh
test-slice .ci/run run_step test-slice
  SLICE=3 : cargo build --workspace --locked --all-targets | --profile slice-3
  SLICE=5 : usage: infra/test.sh
test-long tests/tests/scripts/targets.rs test-long
  : --profile slice-1 | --profile slice-2
test-longest tests/tests/scripts/targets.rs test-longest
  : --profile longest | not run, because no container engine answers: make image, make sam-local and make test-sam
test-stack infra/test.sh run_until_end infra/test-stack.sh
test-sam infra/test.sh run_until_end infra/test-sam.sh
  : cargo nextest run --profile sam-local | --no-run | no container engine answers
sam-local infra/test-sam.sh infra/sam-local.sh run
  : servers.sh run --only redis,dynamodb | no container engine answers
image infra/test.sh run_until_end infra/image.sh test
  : --package vestibule-local | no container engine answers
chaos tests/tests/chaos.rs fn a_lost_redis_costs_no_visitor_a_place
  SEEDS=3 : cargo build --workspace --locked --bins | servers.sh run --only dynamodb | chaos 1 3
build tests/tests/scripts/targets.rs build
  ARCHITECTURE=x86_64 : openapi.sh build | cargo lambda build --locked --release --package functions --x86-64
reference tests/tests/scripted.rs \"openapi.sh\", &[\"page\"]
  : openapi.sh build
preflight tests/tests/stack/preflight.rs fn preflight_names_what_the_emulator_cannot_answer
  STACK=shop ARGS=--json : --package vestibule-preflight | vestibule-preflight shop --json
  : make preflight STACK=shop
rehearse tests/tests/rehearse/figures.rs fn figures_of_5_000_visitors
  URL=http://127.0.0.1:1 VISITORS=5 : --package vestibule-rehearse | vestibule-rehearse --url http://127.0.0.1:1 --visitors 5
  : name the deployment
simulate tools/simulate/tests/crowds.rs fn a_rush_costs_no_turn
  VISITORS=1000 SEED=2 : --package vestibule-simulate | vestibule-simulate crowd 1000 2 1
bench tests/tests/benchmarks.rs fn line_prints_its_figures
  : The benchmarks are attack cold crowd fair fallback-ticks line queues requests restore wake
  NAME=speed : there is no benchmark 'speed'. The benchmarks are attack cold crowd
  NAME=line ARGS=--help : --package vestibule-tests --bin bench | bench line --help
lines tests/tests/scripts/targets.rs lines
  : docs, in words
clean tests/tests/scripts/targets.rs fn clean_removes_what_was_built
  : cargo clean
";

/// A checkout with the scripts and the Makefile, and programs that take the place of others.
struct Checkout(TempDir);

impl Checkout {
    fn new() -> Self {
        let checkout = Self(TempDir::new().expect("a folder"));
        let root = repository_root();
        let scripts = fs::read_dir(root.join("infra")).expect("the scripts");
        let scripts = scripts.map(|entry| entry.expect("an entry").file_name());
        let scripts = scripts.map(|name| format!("infra/{}", name.to_string_lossy()));
        let scripts = scripts.filter(|name| root.join(name).is_file());
        for name in scripts.chain(["Makefile", "Cargo.toml", "rust-toolchain.toml"].map(str::to_owned)) {
            let copy = checkout.path(&name);
            fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
            fs::copy(root.join(&name), copy).expect("a copy");
        }
        checkout.write("functions/main.rs", "");
        checkout.write("infra/servers.sh", SERVERS);
        checkout.write("infra/packages.sh", PACKAGES);
        for name in STUB_SCRIPTS {
            checkout.write(&format!("infra/{name}"), "#!/bin/sh\necho \"${0##*/} $*\"\n");
        }
        checkout.add_program("programs/cargo", CARGO);
        checkout.add_program("programs/redis-server", "echo 'Redis server v=7.0.15 sha=0'");
        checkout.add_program("programs/rustc", "echo \"$TARGET/rust\"");
        for name in [
            "redis-cli",
            "nginx",
            "chromium",
            "openssl",
            "cc",
            "docker",
            "node",
            "curl",
        ] {
            checkout.add_program(&format!("programs/{name}"), "echo 'stub 140.0.1'");
        }
        // The engine of this machine is not asked.
        checkout.add_program("programs/docker", "exit 1");
        for name in ["aarch64", "x86_64"] {
            let library = format!("target/rust/lib/rustlib/{name}-unknown-linux-gnu/lib");
            fs::create_dir_all(checkout.path(&library)).expect("a folder");
        }
        let local = ["local", "stack-console", "preflight", "rehearse", "simulate"];
        let local = local.map(|name| format!("local/vestibule-{name}"));
        for program in local
            .into_iter()
            .chain(["local/bench", "debug/chaos"].map(str::to_owned))
        {
            checkout.add_program(&format!("target/{program}"), "echo \"${0##*/} $*\"");
        }
        let git = |arguments: &[&str]| {
            let mut git = Command::new(find_program("git"));
            let done = git.args(arguments).current_dir(checkout.path("")).output();
            assert!(done.expect("git").status.success(), "git {arguments:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "Makefile", "infra"]);
        checkout
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn add_program(&self, name: &str, lines: &str) {
        self.write(name, &format!("#!/usr/bin/env bash\n{lines}\n"));
        let made = Command::new("chmod").arg("+x").arg(self.path(name)).status();
        assert!(made.expect("chmod").success());
    }

    fn make(&self, arguments: &str) -> Run {
        let path = std::env::var("PATH").expect("a PATH");
        let output = Command::new(find_program("make"))
            .args(arguments.split_whitespace())
            .current_dir(self.path(""))
            .env("PATH", format!("{}:{path}", self.path("programs").display()))
            .env("TARGET", self.path("target"))
            // No other engine is installed or started.
            .env("DOCKER_HOST", "unix:///nowhere")
            .envs([("REDIS_URL", ""), ("AWS_ENDPOINT_URL", "")])
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .env_remove("VESTIBULE_CARGO_TARGET")
            .env_remove("VESTIBULE_CARGO_TRIPLE")
            .env_remove("VESTIBULE_FUNCTIONS_DIR")
            .env_remove("VESTIBULE_REPORT")
            .output();
        Run::from(output.expect("make can be started"))
    }

    /// Runs a target, and expects these texts in what it prints.
    fn expect(&self, arguments: &str, texts: &[&str]) {
        let run = self.make(arguments);
        let printed = format!("{}{}", run.stdout, run.stderr);
        for text in texts {
            assert!(
                printed.contains(text),
                "make {arguments}: no {text} in\n{printed}"
            );
        }
    }
}

#[test]
fn each_target_of_the_makefile_is_run_by_a_test() {
    let root = repository_root();
    let read =
        |path: &str| fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let makefile = read("Makefile");
    let targets: BTreeSet<_> = makefile
        .lines()
        .filter(|line| line.starts_with(char::is_lowercase))
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect();
    let mut listed = BTreeSet::new();
    for line in TARGETS
        .lines()
        .filter(|line| line.starts_with(char::is_lowercase))
    {
        let [target, file, text] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("a target, a file and a text: {line}");
        };
        assert!(read(file).contains(text), "{target}: {file} has no {text}");
        listed.insert(target);
    }
    assert_eq!(
        targets, listed,
        "a target without a test, or a test without a target"
    );
}

#[test]
fn each_target_builds_and_takes_its_first_step() {
    let checkout = Checkout::new();
    let mut target = "";
    for line in TARGETS.lines() {
        let Some((arguments, texts)) = line.strip_prefix("  ").and_then(|step| step.split_once(": ")) else {
            target = line.split(' ').next().unwrap_or_default();
            continue;
        };
        let texts: Vec<_> = texts.split(" | ").collect();
        checkout.expect(&format!("{target} {arguments}"), &texts);
    }
}

/// The runner and the functions are built by a command of their own, so that they have no features that only tests enable.
#[test]
fn each_benchmark_builds_what_it_measures_and_starts() {
    let checkout = Checkout::new();
    let build = |package: &str| format!("cargo build --profile local --locked --package {package}\n");
    for (name, servers, packages) in [
        ("attack", "redis", "vestibule-local"),
        ("cold", "redis,dynamodb", ""),
        ("crowd", "redis", "vestibule-local"),
        ("fair", "redis", ""),
        ("fallback-ticks", "redis", ""),
        ("line", "redis", "vestibule-local"),
        ("queues", "redis", ""),
        (
            "requests",
            "redis,dynamodb",
            "functions --package vestibule-local",
        ),
        ("restore", "redis,dynamodb", ""),
        ("wake", "redis", ""),
    ] {
        let run = checkout.make(&format!("bench NAME={name} ARGS=--small"));
        let printed = &run.stdout;
        assert!(run.is_success, "{name}: {printed}{}", run.stderr);
        let own = build("vestibule-tests --bin bench --bin empty_function");
        let others = build(packages);
        assert!(
            packages.is_empty() || printed.contains(&others),
            "{name}: {printed}"
        );
        assert!(printed.contains(&own), "{name}: {printed}");
        let start = format!("servers.sh run --only {servers}\nbench {name} --small\n");
        assert!(printed.ends_with(&start), "{name}: {printed}");
        let lambda = format!("{}{printed}", run.stderr).contains("cargo lambda build --release --locked");
        assert_eq!(lambda, name == "cold", "{name}: {printed}");
    }
}

#[test]
fn clean_removes_what_was_built_and_nothing_else() {
    let checkout = Checkout::new();
    let built = [
        ".tools/a",
        ".vestibule/a",
        "web/client/node_modules/a",
        "web/page/build/a",
        "tests/api/build/a",
    ];
    let kept = ["web/client/dist/a.js", "web/page/src/a.ts", "tests/api/a.py"];
    for name in built.iter().chain(&kept) {
        checkout.write(name, "");
    }
    checkout.expect("clean", &["cargo clean"]);
    let left: Vec<_> = built.iter().filter(|name| checkout.path(name).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    for name in kept.iter().chain(&["Makefile", "infra/tools.sh"]) {
        assert!(Path::new(&checkout.path(name)).exists(), "{name}");
    }
}
