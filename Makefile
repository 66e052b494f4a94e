# Copyright The maas-operator Authors.
# SPDX-License-Identifier: Apache-2.0

MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# What may be set on the command line:
GO ?= go
# A release is built with VERSION=0.1.0: it has no image to fall back to.
VERSION ?= 0.1.0-dev
# ONCE=1 makes "run" end after the table.
ONCE ?=
# ENGINES=1 makes "run" and "up" carry policies out with the real Kuadrant and Authorino.
ENGINES ?=
# NAME=red is the tenant of "tenant" and "delete-tenant".
NAME ?=
# V=1 prints the output of passing tests too.
V ?=
# RACE= runs "test" without the race detector, which it uses where goroutines are.
RACE ?= -race
# PKG=./internal/render/... limits test, vet and bench-go.
PKG ?= ./...
# BENCH="burst many" limits bench to some scenarios; BENCH_OUT=file stores its
# figures, for "bin/bench compare"; BENCH_FLAGS="--repeat 1" are further flags.
BENCH ?=
BENCH_OUT ?=
BENCH_FLAGS ?=
# RERUN=3 lets "test" and "test-engines" run packages that failed, up to three, once
# more by themselves; those that pass then are named as flaky.
RERUN ?= 0
# TEST_LONG_FRACTION=10 runs "test-long" and "fuzz" with a tenth of the counts.
TEST_LONG_FRACTION ?= 1

# A switch is on with 1 and off without a value, with 0, no and false; anything else is
# a mistake, and not the opposite of what was meant.
off := 0 no false
switch = $(if $(filter-out 1 $(off),$($1)),$(error $1=$($1) is neither on nor off: set $1=1, or leave it out (or 0, no, false)))$(filter 1,$($1))
override ONCE := $(call switch,ONCE)
override ENGINES := $(call switch,ENGINES)
override V := $(call switch,V)
# The flag itself is the value of this one.
override RACE := $(if $(filter $(off),$(RACE)),,$(if $(filter-out 1 -race,$(RACE)),$(error RACE=$(RACE) is neither on nor off: set RACE= for tests without the race detector, or leave it out),$(RACE:1=-race)))

BIN := bin
TOOLS := $(BIN)/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint
KUSTOMIZE := $(TOOLS)/kustomize
# Prometheus' own program to check rules, and ours to look into expressions.
PROMTOOLS := $(TOOLS)/promtool $(TOOLS)/promselectors
TESTREPORT := $(TOOLS)/testreport $(if $(V),-v)

# The date of the commit, not of the build: the same sources give the same binary.
VERSION_PKG := github.com/opendatahub-io/maas-operator/internal/version
COMMIT = $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
COMMIT_DATE = $(shell git show --no-patch --format=%cI HEAD 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X $(VERSION_PKG).version=$(VERSION) -X $(VERSION_PKG).commit=$(COMMIT) -X $(VERSION_PKG).date=$(COMMIT_DATE)

##@ General

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET [NAME=VALUE ...]" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 } \
		END { print "\nVariables" } \
		END { print "  PKG=./internal/...       packages for test, vet and bench-go" } \
		END { print "  V=1                      output of passing tests too" } \
		END { print "  RACE=                    test without the race detector" } \
		END { print "  NAME=red                 tenant of tenant and delete-tenant" } \
		END { print "  ONCE=1                   run ends after its tables" } \
		END { print "  ENGINES=1                run and up with the real Kuadrant and Authorino: 401, 403 and 429 too (root)" } \
		END { print "  BENCH=\"burst many\"       scenarios of bench; BENCH_OUT=file stores figures, BENCH_FLAGS adds flags" } \
		END { print "  TEST_LONG_FRACTION=10    a tenth of the counts of test-long and fuzz" }' Makefile

##@ Try it

.PHONY: run
run: $(if $(ENGINES),check-engines) build devstack controlplane crds postgres gateway sim $(if $(ENGINES),engines) ## Show a governed model, a key and a call until interrupted; ONCE=1 ends after the tables, ENGINES=1 enforces
	@$(BIN)/devstack run $(if $(ONCE),--once) $(if $(ENGINES),--engines)

.PHONY: up
up: $(if $(ENGINES),check-engines) build devstack controlplane crds postgres gateway sim $(if $(ENGINES),engines) ## Leave the same running in the background; settings in .dev/env
	@$(BIN)/devstack up $(if $(ENGINES),--engines)

.PHONY: check-engines
check-engines: devstack ## Tell, before anything takes long, whether ENGINES=1 works here
	@$(BIN)/devstack check-engines

.PHONY: down
down: devstack ## End exactly what "up" started
	@$(BIN)/devstack down

.PHONY: status
status: devstack ## Show which processes of "up" are running, where they listen, and the tenants
	@$(BIN)/devstack status

.PHONY: tenant
tenant: devstack ## Add tenant NAME to "up", with a Gateway, a maas-api and a model of its own
	@$(BIN)/devstack tenant $(NAME)

.PHONY: delete-tenant
delete-tenant: devstack ## Delete tenant NAME of "up", and show how its keys were revoked
	@$(BIN)/devstack delete-tenant $(NAME)

.PHONY: kubeconfig
kubeconfig: devstack ## Print the path of the kubeconfig of "up"
	@$(BIN)/devstack kubeconfig

.PHONY: stop-controller
stop-controller: devstack ## Stop the controller of "up"; returns when it is gone
	@$(BIN)/devstack stop-controller

.PHONY: start-controller
start-controller: build devstack ## Start the controller of "up"; returns when it is ready
	@$(BIN)/devstack start-controller

.PHONY: stop-maas-api
stop-maas-api: devstack ## Stop the maas-api of "up", that of every tenant; returns when it is gone
	@$(BIN)/devstack stop-maas-api

.PHONY: start-maas-api
start-maas-api: build devstack ## Start the maas-api of "up"; returns when it is ready
	@$(BIN)/devstack start-maas-api

##@ Build

.PHONY: build
build: ## Build the project's programs into bin/
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: devstack
devstack: ## Build the program behind run, up and down
	@mkdir -p $(BIN)
	@CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -o $(BIN)/devstack ./test/cmd/devstack

.PHONY: controlplane
controlplane: ## Build the Kubernetes control plane used by run and the tests (minutes the first time)
	@hack/build.sh controlplane

.PHONY: crds
crds: ## Collect the CRDs of Gateway API, Kuadrant, KServe and others from their modules
	@hack/build.sh crds

.PHONY: postgres
postgres: ## Download Debian's PostgreSQL and PgBouncer into bin/postgres, for run and the tests
	@hack/postgres.sh

.PHONY: gateway
gateway: ## Build the stand-in for a gateway used by run and the tests
	@hack/build.sh gateway

.PHONY: sim
sim: ## Build the model simulator used by run and the tests (minutes the first time)
	@hack/build.sh sim

.PHONY: engines
engines: ## Build the engines of the gateway: kuadrant, its extension for telemetry, authorino, oidc and nsrun
	@hack/build.sh engines

.PHONY: kuadrant
kuadrant: ## Build the operator of Kuadrant, which carries out policies (minutes the first time)
	@hack/build.sh kuadrant

.PHONY: authorino
authorino: ## Build Authorino, which gateways ask about each request (minutes the first time)
	@hack/build.sh authorino

.PHONY: oidc
oidc: ## Build the provider of OIDC tokens
	@hack/build.sh oidc

.PHONY: nsrun
nsrun: ## Build the program that runs others in a network namespace of their own (Linux, root)
	@hack/build.sh nsrun

.PHONY: deps
deps: ## Download every module, so that all other targets work offline
	@hack/deps.sh

.PHONY: clean
clean: ## Stop what "up" started and remove everything that was built
	@if [[ -d .dev ]]; then $(GO) build -o $(BIN)/devstack ./test/cmd/devstack; fi
	@if [[ -d .dev/run ]]; then $(BIN)/devstack clean --dir .dev/run >/dev/null; fi
	@if [[ -d .dev/controlplane-only ]]; then $(GO) run ./test/cmd/controlplane down; fi
	@if [[ -d .dev ]]; then $(BIN)/devstack clean; fi
	rm -rf $(BIN) .dev

##@ Generate

.PHONY: generate
generate: ## Generate deep-copy functions
	@hack/generate.sh object

.PHONY: manifests
manifests: ## Generate CRDs and the manager's role from Go types and markers
	@hack/generate.sh crd rbac

.PHONY: docs
docs: ## Generate the reference documentation
	@hack/generate.sh docs

.PHONY: golden
golden: ## Rewrite the golden files from what the code renders now
	@hack/golden.sh

##@ Check

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format all Go files
	$(GOLANGCI_LINT) fmt ./...

.PHONY: vet
vet: ## Run go vet
	$(GO) vet -mod=readonly $(PKG)

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters and check the formatting
	$(GOLANGCI_LINT) run ./...
	cd hack/crds && ../../$(GOLANGCI_LINT) run --config ../../.golangci.yml ./...
	cd hack && ../$(GOLANGCI_LINT) run --config ../.golangci.yml ./gateway/... ./loopback/... ./nsrun/...
	cd hack/envoy && ../../$(GOLANGCI_LINT) run --config ../../.golangci.yml ./...
	cd hack/engines/oidc && ../../../$(GOLANGCI_LINT) run --config ../../../.golangci.yml ./...
	cd hack/tools/promtool && ../../../$(GOLANGCI_LINT) run --config ../../../.golangci.yml ./selectors/...

.PHONY: verify
verify: $(KUSTOMIZE) ## Check that generated files are current, manifests build and scripts parse
	@hack/verify.sh $(KUSTOMIZE)

.PHONY: test
test: $(TOOLS)/testreport $(PROMTOOLS) controlplane crds postgres gateway ## Run the quick suites, those on the control plane included
	@RERUN=$(RERUN) hack/test.sh $(RACE) $(PKG) | $(TESTREPORT)

.PHONY: test-rules
test-rules: $(TOOLS)/testreport $(PROMTOOLS) controlplane crds ## Run only those of alerts, dashboards and monitors, with promtool
	@hack/test.sh ./test/rules/... ./test/golden/observability/... ./internal/desired/monitoring/... | $(TESTREPORT)

.PHONY: test-usage
test-usage: $(TOOLS)/testreport controlplane crds ## Run only those of usage logs, with the collector itself (6 minutes the first time)
	@hack/test.sh usage | $(TESTREPORT)

.PHONY: test-engines
test-engines: $(TOOLS)/testreport build devstack controlplane crds postgres gateway sim engines ## Run the suites with programs of others and the longest from outside: models, databases that fail, tenants, engines of the gateway; OLM follows
	@RERUN=$(RERUN) hack/test.sh engines | $(TESTREPORT)

.PHONY: test-enforcement
test-enforcement: $(TOOLS)/testreport build controlplane crds postgres gateway sim engines ## Run only those of them where the real engines of the gateway carry out policies
	@hack/test.sh enforcement | $(TESTREPORT)

.PHONY: test-long
test-long: $(TOOLS)/testreport controlplane crds postgres engines ## Run property tests, fuzz targets, random sequences, crashes, chaos, revocations and many models with full counts
	@TEST_LONG_FRACTION=$(TEST_LONG_FRACTION) hack/test-long.sh property fuzz random crash chaos coherence scale | $(TESTREPORT)

.PHONY: fuzz
fuzz: $(TOOLS)/testreport ## Run only the fuzz targets
	@TEST_LONG_FRACTION=$(TEST_LONG_FRACTION) hack/test-long.sh fuzz | $(TESTREPORT)

.PHONY: bench
bench: build controlplane crds postgres ## Measure calls, times and memory of the operator and maas-api (30 minutes)
	@CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -o $(BIN)/bench ./test/cmd/bench
	@$(BIN)/bench run $(BENCH) --binary $(BIN)/maas-controller --service-binary $(BIN)/maas-api $(if $(BENCH_OUT),--out $(BENCH_OUT)) $(BENCH_FLAGS)

.PHONY: bench-go
bench-go: ## Run the benchmarks of Go packages
	$(GO) test -mod=readonly -run '^$$' -bench . -benchmem $(PKG)

.PHONY: ci
ci: ## Run everything CI runs
	@.ci/run

# Tools are built from the versions their own modules pin.

$(GOLANGCI_LINT): hack/tools/lint/go.mod hack/tools/lint/go.sum
	@echo 'building golangci-lint (about 6 minutes the first time)' >&2
	@cd hack/tools/lint && CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -ldflags '-s -w' -o ../../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(KUSTOMIZE): hack/tools/kustomize/go.mod hack/tools/kustomize/go.sum
	@echo 'building kustomize' >&2
	@cd hack/tools/kustomize && CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -ldflags '-s -w' -o ../../../$@ sigs.k8s.io/kustomize/kustomize/v5

# Prometheus registers every kind of service discovery unless it is told not to; promtool
# needs none of them, and they are most of what it would compile.
$(TOOLS)/promtool: hack/tools/promtool/go.mod hack/tools/promtool/go.sum
	@echo 'building promtool (minutes the first time)' >&2
	@cd hack/tools/promtool && CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -tags remove_all_sd -ldflags '-s -w' -o ../../../$@ github.com/prometheus/prometheus/cmd/promtool

$(TOOLS)/promselectors: hack/tools/promtool/go.mod hack/tools/promtool/go.sum $(wildcard hack/tools/promtool/selectors/*.go)
	@cd hack/tools/promtool && CGO_ENABLED=0 $(GO) build -mod=readonly -trimpath -tags remove_all_sd -ldflags '-s -w' -o ../../../$@ ./selectors

$(TOOLS)/testreport: $(wildcard test/cmd/testreport/*.go)
	@$(GO) build -mod=readonly -o $@ ./test/cmd/testreport
