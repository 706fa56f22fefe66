# The project's commands. Each makes what it needs inside the clone (.venv, .cache), so a fresh one can start anywhere.

BIN := .venv/bin
LOGS ?= tests/data/kafka-4.3.1/logs
OUT ?= out/demo

# Where this is set, as in images of containers, each of hundreds of processes would compile kodec and its tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test thorough quick lint generate jar bench bench-spark fuzz mutants bounds interop messages foreign edits wheels lock
.PHONY: program sbom maven image release
.PHONY: clean suite languages conform setup java clients node sparks connector s3 stores kills lake docs site

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java ## regenerate the codecs, export a real broker's log with Spark, show the result
	@echo "== 1. regenerate the codecs from schemas/"
	@$(BIN)/kodec generate
	@echo "== 2. export $(LOGS) to $(OUT) with Spark"
	@rm -rf $(OUT)
	@$(BIN)/kodec export $(LOGS) --to $(OUT) --engine spark
	@echo "== 3. what $(OUT) holds"
	@$(BIN)/python tools/show_export.py $(OUT)
	@echo "== 4. the same log as a table of Spark's"
	@$(BIN)/python tools/query.py $(LOGS)

test: java node ## every check: lint, format, contracts, types, words, names, generated code, and all tests but thorough ones
	@$(BIN)/python tools/check.py

thorough: java node ## long tests: many inputs, faults at each call, memory limits, other languages' examples
	@$(BIN)/python tools/check.py thorough thorough-pure

quick: setup ## after every change: lint, types, words, names, and quick tests of every folder; about a minute
	@$(BIN)/python tools/check.py lint format contracts types words nouns quick

lint: setup ## the checks that run no code of the project: lint, format, contracts, types, words, names
	@$(BIN)/python tools/check.py lint format contracts types words nouns

generate: setup ## regenerate generated/ from schemas/
	@$(BIN)/kodec generate

jar: java ## build the Spark source for the JVM; needs a JDK

bench: node ## measure the codec against other readers
	@$(BIN)/python -m benchmarks

bench-spark: java ## measure the CPU time of a row in Spark: sources, codecs, Parquet
	@$(BIN)/python -m benchmarks.spark

sparks: java ## run the source for the JVM in each supported version of Spark (fetches them)
	@$(BIN)/python tests/labs/spark_versions.py

s3: java ## read log directories from a real server of the S3 API, and count its requests (needs Go, Maven)
	@$(BIN)/python tests/labs/s3_lab.py

stores: setup ## read and write log directories in a real S3 server and emulators of other stores (needs Go, npm)
	@$(BIN)/python tests/labs/store_lab.py

lake: java ## append logs to tables of Iceberg and Delta that DuckDB and Spark read, and Spark compacts (fetches both)
	@$(BIN)/python tests/labs/lake_lab.py

kills: java ## kill processes of a Spark cluster in the middle of reads, streams, jobs and writes
	@$(BIN)/python tests/labs/kill_lab.py

connector: java ## compare results and cost with Spark's own Kafka source on a real broker
	@$(BIN)/python tests/labs/spark_connector.py

fuzz: setup ## fuzz kernels under sanitizers, compare them with pure Python, fuzz schemas and languages; some minutes
	@$(BIN)/python tests/fuzz/run.py
	@$(BIN)/python tests/fuzz/differential.py --inputs 3000
	@$(BIN)/python tests/fuzz/kernel_calls.py
	@$(BIN)/python tests/fuzz/messages.py --seconds 20
	@$(BIN)/python tests/fuzz/messages.py --seconds 25 --seed 2 --sanitize
	@$(BIN)/python tests/fuzz/streams.py
	@$(BIN)/python -m tests.fuzz.schemas --seconds 60
	@$(BIN)/python -m tests.fuzz.foreign_texts --seconds 60
	@$(BIN)/python -m tests.fuzz.hostile_languages --seconds 120

mutants: setup ## mutation testing for half an hour; continues where it stopped
	@$(BIN)/python tools/mutants.py

bounds: ## test the lowest version of each dependency, and each installed Python
	@python3 tools/bounds.py

interop: clients ## write log directories with a real Kafka broker and compare its answers with kodec's
	@$(BIN)/python tests/labs/run.py

messages: setup ## compare all of Kafka's messages, requests and responses with Kafka's own classes
	@$(BIN)/python tests/labs/messages/run.py --protocol --rounds 100

languages: java node ## test generated Java, Go, Rust, TypeScript and C, and run the conformance suite for docs/languages.md
	@$(BIN)/pytest -q --no-header -n 2 --dist loadgroup -m languages tests/languages tests/schemas tests/fuzz tests/generator
	@$(BIN)/python -m tests.languages.run $(LANGUAGES)

conform: java node ## run our own languages against the conformance suite and compare with docs/languages.md
	@$(BIN)/python -m tests.languages.run --check $(LANGUAGES)

suite: OUT = out/suite
suite: setup ## from the jars of a Kafka release (JARS=...) to schemas, code, vectors and a changelog in OUT
	@test -n "$(JARS)" || { echo "make suite JARS=a-jar-or-folder-of-jars [OUT=out/suite]" >&2; exit 2; }
	@$(BIN)/python tools/update_from_release.py $(JARS) $(OUT)
	@$(BIN)/kodec generate

edits: node ## edit real files of public formats, and have other tools judge them
	@$(BIN)/python -m tests.labs.edits.run $(EDITS)

foreign: node ## compile all public Kaitai schemas with stock ksc and with kodec; about ten minutes
	@$(BIN)/python -m tests.foreign.run --table docs/foreign-schemas.md $(FOREIGN)

wild: node ## read, write, generate and compile the schemas of public repositories, beside ksc; some hours, continues
	@$(BIN)/python -m tests.foreign.wild --table docs/foreign-schemas.md $(WILD)

docs: site ## make the site of the documentation in out/site; broken links, examples and undocumented names fail
	@$(BIN)/pytest -q --no-header -n 2 -m "not thorough" tests/test_api.py
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env --jobs 2 -c docs/site docs out/site
	@echo "the site is in out/site: open out/site/index.html"

wheels: ## build wheels and test each way to install them (needs uv)
	@sh tests/packaging/verify.sh

program: ## build the program for machines without Python, dist/kodec, and try it (needs uv)
	@python3 release/program.py

sbom: ## list the parts of an installation, in CycloneDX: dist/kodec.cdx.json (needs uv)
	@sh release/sbom.sh

maven: java ## make the Maven repository of the Spark source in dist/maven (needs mvn)
	@sh release/maven.sh "file://$(CURDIR)/dist/maven"

image: ## build the container image (needs podman or docker)
	@$$(command -v podman || echo docker) build -f release/Containerfile -t kodec .

release: ## publish a version (VERSION=1.2.3): check the clone, tag it, push the tag; the forge builds and uploads
	@test -n "$(VERSION)" || { echo "make release VERSION=1.2.3" >&2; exit 2; }
	@sh release/publish.sh "$(VERSION)"

lock: ## update the lock files of dependencies (needs uv)
	@sh tools/lock.sh

clean: ## delete everything generated except .venv and .cache
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
