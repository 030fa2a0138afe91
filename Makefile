SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help run check test test-stack build watch sam-local test-sam chaos simulate bench-line bench-wake bench-fallback-ticks bench-restore bench-estimate bench-cold clean

SCRIPTS := infra/*.sh .ci/run

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run all of Vestibule in one process on localhost (PORT=8080 and ARGS="--help" are passed on)
	cargo run --profile local --package vestibule-local -- $(ARGS)

check: ## Check formatting, lints, documentation, dependencies, the template and scripts
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features vestibule-tests/stack --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	@source infra/tools.sh && check_dependencies
	@source infra/tools.sh && check_template
	@source infra/tools.sh && check_scripts $(SCRIPTS)

test: ## Run every test, against servers that it installs and starts itself
	infra/test.sh
	infra/test-stack.sh

test-stack: ## Deploy template.yaml to an emulator of AWS and send visitors through (AWS_ENDPOINT_URL for one that runs)
	infra/test-stack.sh $(ARGS)

watch: ## Serve the functions with cargo lambda watch, built anew at every change (PORT=9000, REDIS_URL, AWS_ENDPOINT_URL)
	infra/watch.sh

build: ## Build every function as AWS runs it and print the sizes (ARCHITECTURE=x86_64 for the other processor)
	infra/build.sh

sam-local: ## Serve the functions in containers by `sam local` (PORT=3000, REDIS_URL, AWS_ENDPOINT_URL and ARGS are passed on)
	infra/sam-local.sh $(ARGS)

test-sam: ## Hold `sam local` to the suite over HTTP (ARGS are passed to the test runner)
	infra/test-sam.sh $(ARGS)

chaos: ## Check the guarantees while the parts fail at random (SEEDS=50, or SEED=7 alone)
	infra/chaos.sh

simulate: ## Simulate visitors with the real rules and a virtual clock (VISITORS=1000000, SCENARIO=flash or all, SEED=1, SEEDS=1)
	infra/simulate.sh

bench-restore: ## Measure how long the restore of a million entries takes (ARGS=100000 for fewer)
	infra/bench-restore.sh $(ARGS)

bench-line: ## Measure the line against Redis commands (ARGS="--against PATH" compares with the earlier build PATH)
	infra/bench-line.sh $(ARGS)

bench-estimate: ## Measure the accuracy of the wait estimates of 10,000 clients over HTTP (ARGS=2000 for fewer)
	infra/bench-estimate.sh $(ARGS)

bench-wake: ## Measure how soon held polls are answered, and the commands that Redis runs for that
	infra/bench-wake.sh $(ARGS)

bench-fallback-ticks: ## Measure how fast fallback ticks move a line while the promoter is off
	infra/bench-fallback-ticks.sh

bench-cold: ## Measure the cold start and the size of the functions
	infra/bench-cold.sh $(ARGS)

clean: ## Remove what was built, the tools under .tools and the local line under .vestibule
	cargo clean
	rm -rf .tools .vestibule .aws-sam
