# The project's commands. Each makes what it needs inside the clone (.venv, .cache), so a fresh one can start anywhere.

BIN := .venv/bin
LOGS ?= tests/data/kafka-4.3.1/logs
OUT ?= out/demo

.DEFAULT_GOAL := help
.PHONY: help demo test thorough quick lint generate jar bench bench-spark fuzz mutants bounds interop messages foreign wheels lock
.PHONY: clean suite languages conform setup java clients node sparks connector s3 kills lake docs site

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java ## regenerate the codecs, export a real broker's log with Spark, show the table
	@echo "== 1. regenerate the codecs from schemas/"
	@$(BIN)/kodec generate
	@echo "== 2. export $(LOGS) to $(OUT) with Spark"
	@rm -rf $(OUT)
	@$(BIN)/kodec export $(LOGS) --to $(OUT) --engine spark
	@echo "== 3. what $(OUT) holds"
	@$(BIN)/python tools/show.py $(OUT)
	@echo "== 4. the same log as a table of Spark's"
	@$(BIN)/python tools/query.py $(LOGS)

test: java node ## every check: lint, format, contracts, types, generated code, tests but those of `make thorough`
	@$(BIN)/python tools/check.py

thorough: java node ## tests that take long: very many inputs, faults at each call, limits of memory, other languages' examples
	@$(BIN)/python tools/check.py thorough thorough-pure

quick: setup ## what one runs after every change: lint, types, and tests of every room, in a minute
	@$(BIN)/python tools/check.py lint format contracts types quick

lint: setup ## the checks that run no code of ours
	@$(BIN)/python tools/check.py lint format contracts types

generate: setup ## make generated/ from schemas/ again
	@$(BIN)/kodec generate

jar: java ## build the Spark source for the JVM, where there is a JDK

bench: node ## measure the codec against other readers
	@$(BIN)/python -m benchmarks

bench-spark: java ## measure a row in Spark: sources, codecs, Parquet, in CPU of all processes
	@$(BIN)/python -m benchmarks.spark

sparks: java ## run the source for the JVM in each version of Spark, which are fetched
	@$(BIN)/python tests/labs/spark_versions.py

s3: java ## read log directories from a real server of the S3 API, and count its requests (needs Go, Maven)
	@$(BIN)/python tests/labs/s3_lab.py

lake: java ## append logs to tables of Iceberg and Delta that DuckDB and Spark read, and Spark compacts (fetches both)
	@$(BIN)/python tests/labs/lake_lab.py

kills: java ## kill processes of a Spark cluster in the middle of reads, streams, jobs and writes
	@$(BIN)/python tests/labs/kill_lab.py

connector: java ## compare it, and its cost, with Spark's own Kafka source on a real broker
	@$(BIN)/python tests/labs/spark_connector.py

fuzz: setup ## break kernels under sanitizers, compare them with pure Python, generate broken schemas, for some minutes
	@$(BIN)/python tests/fuzz/run.py
	@$(BIN)/python tests/fuzz/differential.py --inputs 3000
	@$(BIN)/python tests/fuzz/kernel_calls.py
	@$(BIN)/python tests/fuzz/messages.py --seconds 20
	@$(BIN)/python tests/fuzz/messages.py --seconds 25 --seed 2 --sanitize
	@$(BIN)/python -m tests.fuzz.schemas --seconds 60

mutants: setup ## change the code in small ways and see whether a test fails, for half an hour; goes on where it ended
	@$(BIN)/python tools/mutants.py

bounds: ## try the lowest version of each dependency, and each Python that is here
	@python3 tools/bounds.py

interop: clients ## make log directories with a real Kafka broker and compare what it says with what we read
	@$(BIN)/python tests/labs/run.py

messages: setup ## compare all of Kafka's messages, requests and responses too, with Kafka's own classes
	@$(BIN)/python tests/labs/messages/run.py --protocol --rounds 100

languages: java node ## test generated Java, Go, Rust, TypeScript and C, and run the conformance suite for docs/languages.md
	@$(BIN)/pytest -q --no-header -n 2 --dist loadgroup -m languages tests/languages tests/schemas
	@$(BIN)/python -m tests.languages.run $(LANGUAGES)

conform: java node ## our own languages against the conformance suite, and against what docs/languages.md says of them
	@$(BIN)/python -m tests.languages.run --check $(LANGUAGES)

suite: OUT = out/suite
suite: setup ## from the jars of a Kafka release (JARS=...) to schemas, code, vectors and a changelog in OUT
	@test -n "$(JARS)" || { echo "make suite JARS=a-jar-or-folder-of-jars [OUT=out/suite]" >&2; exit 2; }
	@$(BIN)/python tools/suite.py $(JARS) $(OUT)
	@$(BIN)/kodec generate

foreign: node ## run all public Kaitai schemas through stock ksc and through ours, for some ten minutes
	@$(BIN)/python -m tests.foreign.run --table docs/foreign-schemas.md $(FOREIGN)

docs: site ## make the site of the documentation in out/site; broken links, examples and undocumented names fail
	@$(BIN)/pytest -q --no-header -n 2 -m "not thorough" tests/test_api.py
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env --jobs 2 -c docs/site docs out/site
	@echo "the site is in out/site: open out/site/index.html"

wheels: ## build wheels and try each way to install them (needs uv)
	@sh tests/packaging/verify.sh

lock: ## lock the dependencies anew (needs uv)
	@sh tools/lock.sh

clean: ## delete everything that was made but .venv and .cache
	@rm -rf out build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

setup:
	@sh tools/bootstrap.sh
java:
	@sh tools/bootstrap.sh java
clients:
	@sh tools/bootstrap.sh java interop
node:
	@sh tools/bootstrap.sh node
site:
	@sh tools/bootstrap.sh docs
