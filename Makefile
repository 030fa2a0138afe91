SHELL := bash
# The scripts change to their folder, and each shell would begin with a file.
unexport CDPATH BASH_ENV
.DEFAULT_GOAL := help
.PHONY: help doctor run operate check test test-one test-slice test-long test-longest test-stack build reference preflight rehearse watch sam-local test-sam chaos image simulate bench lines clean

SCRIPTS := infra/*.sh .ci/run

help: ## Print this list
	@infra/help.sh $(MAKEFILE_LIST)

##@ Run

run: ## Run all of Vestibule in one process on localhost, with the console at /operate/. The first build takes minutes (reads PORT=8080; ARGS="--help" lists the options)
	infra/run.sh $(ARGS)

operate: ## Serve the console of operators for a deployed stack on localhost, with your own AWS credentials (STACK=shop, PORT=8090, AWS_PROFILE, AWS_REGION)
	STACK="$(STACK)" infra/operate.sh

watch: ## Serve the functions with cargo lambda watch, which rebuilds them on change (PORT=9000, REDIS_URL, AWS_ENDPOINT_URL)
	infra/watch.sh

sam-local: ## Serve the functions in containers with `sam local` (PORT=3000, REDIS_URL, AWS_ENDPOINT_URL, ARGS)
	infra/sam-local.sh $(ARGS)

##@ Test

doctor: ## Show what make run, check and test need, what of it is here, and how to get the rest. Installs nothing
	@infra/doctor.sh

check: ## Check formatting, lints, documentation, the types of the client library, dependencies, the template, the API's document and the scripts (ADVISORIES=required fails without the database of vulnerabilities)
	infra/steps.sh check "cargo fmt --all --check" \
	  "cargo clippy --workspace --all-targets --locked -- -D warnings" \
	  "cargo clippy --package vestibule-wire --features schemas --locked -- -D warnings" \
	  "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked" \
	  "infra/client.sh check" "infra/check.sh dependencies" "infra/check.sh template" "infra/openapi.sh check" \
	  "infra/check.sh scripts $(SCRIPTS)"

test: ## Run the tests but the long ones, against servers that this command installs and starts
	infra/test.sh

test-one: ## Run one suite, and install and build only what it needs (SUITE=template; ARGS go to the test runner, such as ARGS="-E 'test(claim)'")
	infra/test.sh --suite "$(SUITE)" $(ARGS)

test-slice: ## Run one of the four slices of the long suites (SLICE=1)
	infra/test.sh --slice "$(SLICE)"

test-long: ## Run all long suites: random faults, failovers under load, the attacks, large crowds, the night of a sale in a browser, the template deployed to an emulator of AWS, generated clients and requests, more servers
	infra/steps.sh test-long "infra/test.sh --slice 1" "infra/test.sh --slice 2" "infra/test.sh --slice 3" \
	  "infra/test.sh --slice 4"

test-longest: ## Run what is in no slice: a million forged passes and tokens, the two lives of a queue in chaos, `make watch`, and what needs the Docker engine where one answers
	infra/test.sh --longest

test-stack: ## Deploy template.yaml to an emulator of AWS and send visitors through (AWS_ENDPOINT_URL uses a running one)
	infra/test-stack.sh $(ARGS)

test-sam: ## Run the HTTP suite against `sam local` (ARGS go to the test runner)
	infra/test-sam.sh $(ARGS)

chaos: ## Check the guarantees while the parts fail at random (SEEDS=50, or SEED=7 alone)
	infra/chaos.sh

image: ## Build a container image of the runner from a runner of this machine, and let two visitors through it (infra/image.sh build compiles it in the image)
	infra/image.sh test

##@ Deploy

build: reference ## Build every function for AWS and print the sizes (ARCHITECTURE=x86_64 for the other processor), and the reference
	infra/build.sh

reference: ## Build the reference page of the API and its openapi.json, in target/api
	infra/openapi.sh build

preflight: ## Ask the account and a deployed stack whether they are ready for a sale: quotas, Redis, tables, keys, routes. Changes nothing (STACK=shop, AWS_PROFILE, AWS_REGION; ARGS="--visitors 1000000 --arrival-seconds 1800" adds a crowd, ARGS=--json)
	@STACK="$(STACK)" infra/preflight.sh $(ARGS)

rehearse: ## Send a bounded crowd of visitors to a deployment, and compare what they met with its own report (URL=http://127.0.0.1:8080, or STACK=shop; VISITORS=1000, QUEUE; ARGS="--help" lists the options)
	URL="$(URL)" STACK="$(STACK)" VISITORS="$(VISITORS)" QUEUE="$(QUEUE)" infra/rehearse.sh $(ARGS)

##@ Measure

simulate: ## Simulate visitors with the real rules and a virtual clock (VISITORS=1000000, CEILING=2900 or none, CHECKS=0, WAIT_MINUTES, SCENARIO, SEED=1, SEEDS=1)
	infra/simulate.sh

bench: ## Measure one thing, and print its figures: NAME=attack, cold, crowd, fair, fallback-ticks, line, queues, requests, restore or wake (ARGS=--help lists its options; ARGS="--against PATH" compares with the earlier build PATH of `bench`)
	infra/bench.sh $(NAME) $(ARGS)

lines: ## Count the lines and words of each part (COMMIT=abc: also those of an earlier commit)
	infra/lines.py $(COMMIT)

##@ Clean up

clean: ## Remove the build output, the tools in .tools and the local data in .vestibule
	cargo clean
	rm -rf .tools .vestibule .aws-sam web/client/node_modules web/client/build web/client/dist/types web/page/build web/operate/build
	rm -rf tests/browser/node_modules tests/browser/test-results examples/express/node_modules
	rm -rf infra/reference/node_modules tests/api/node_modules tests/api/build
