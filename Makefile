# Everything runs with Go, git and make alone.

GO ?= go
FUZZTIME ?= 60s
CORPUS ?= $(wildcard ../shared/corpus)
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# go.mod asks for the oldest release of the official SDK that is supported, the
# example's for the newest: there the adapter's tests run again.
NEWEST = cd examples/gosdk && $(GO) test
GOSDK = github.com/mcprec/mcprec/transport/gosdk
# The page of mcprec view is bundled by a module of its own.
BUNDLE = cmd/mcprec/internal/view/bundle
# Its tests in a real browser are a module of their own, too.
BROWSER = cmd/mcprec/internal/view/browser
# What shares sessions with a team is one as well, with a program: mcprec-share.
SHARE = store/share
INSTALLED = $(shell command -v chromium || command -v chromium-browser || command -v google-chrome-stable || command -v google-chrome)
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
# What writes the texts of a release, and tests it, is a module of its own, as well. goreleaser packs
# it: this is its newest release that builds with Go 1.26.
DIST = .ci/dist
GORELEASER = $(GO) run github.com/goreleaser/goreleaser/v2@v2.16.0
# make dist writes to RELEASE.
RELEASE = $(CURDIR)/bin/dist
# The same commit and the same Go make the same bytes, wherever they are built: no
# paths, no C, no settings of the machine. The version is that of git. Without the tables for
# debuggers (-s -w) a download is half as large; traces have their lines all the same.
BUILD = CGO_ENABLED=0 GOFLAGS= GOAMD64= GOARM64= GOEXPERIMENT= $(GO) build -trimpath -buildvcs=auto -ldflags='-s -w'

# Packages whose goroutines meet: the race detector runs over these. A program of a race build sleeps
# for a second when it ends, unless GORACE says otherwise.
RACE = ./recorder/... ./transport ./transport/streamable ./replay/standin ./replay/explore/gate ./fixtures
ELSEWHERE = windows darwin
# The modules that a push lints; a night lints the others as well.
LINTED = . examples/gosdk transport/mcpgo $(BUNDLE) $(BROWSER)
OTHERS = $(SHARE) $(DIST)

.PHONY: help build test ci night speed doubling race sdks fuzz soak soundness torture clusters share zoo conformance root bench golden page browser tidy lint elsewhere modules reproducible dist dist-test vuln clean

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14

build: ## build bin/mcprec
	$(BUILD) -o bin/mcprec ./cmd/mcprec

# Three rings: make test for every change, make ci for every push, make night for every day.
# The program is built without C, and so are its tests, which start in a third less time.
test: export CGO_ENABLED = 0
test: ## the first ring: units, tables, goldens, scripts, one seed of each search
	$(GO) test -timeout 20m $(FLAGS) ./...

# The tests of CI read the sessions of CORPUS as well, where they are here. No test is
# skipped that is not in the lists of .ci, and none leaves a file in the tree.
ci: lint elsewhere ## the second ring: the first, linters, the race detector, the newest SDKs, the page in a browser
	@mkdir -p bin; git status --porcelain >bin/tree
	@status=0; export MCPREC_CORPUS=$(abspath $(CORPUS)); \
	for ring in test sdks race $(if $(INSTALLED),browser); do MCPREC_BROWSER=1 $(MAKE) -s $$ring FLAGS=-json || status=1; done >bin/tests; \
	$(if $(INSTALLED),,echo "no browser: the page is not tested in one";) \
	$(GO) run ./.ci/skips .ci/skips.txt $(if $(CORPUS),,.ci/skips-without-corpus.txt) <bin/tests && exit $$status
	@git status --porcelain | diff bin/tree - || { echo "a test has changed the tree"; exit 1; }

night: speed doubling soak torture clusters zoo reproducible dist-test ## the third ring: the long forms, crashes, damage by random, clusters, mutants, the zoo, a release
	$(MAKE) race RACE=./...
	$(NEWEST) -race -timeout 30m . $(GOSDK)
	cd transport/mcpgo && $(GO) test -race -timeout 30m . && $(GO) test -race -timeout 30m -modfile=newest.mod .
	$(MAKE) lint LINTED="$(OTHERS)"
	cd $(DIST) && $(GO) test .

# go.mod of the root has only what make test needs, so that go mod download is enough for it.
sdks: ## the tests of the other modules: the adapters with the oldest and the newest SDKs, push and pull, and the bundler's
	$(NEWEST) $(FLAGS) . $(GOSDK)
	cd transport/mcpgo && $(GO) test $(FLAGS) . && $(GO) test $(FLAGS) -modfile=newest.mod .
	cd $(SHARE) && $(GO) test $(FLAGS) ./stream ./push ./pull ./mcprec-share
	cd $(BUNDLE) && $(GO) test -count=1 $(FLAGS) . # its cache does not see files of other modules

race: export GORACE = atexit_sleep_ms=10
race: ## the tests of the packages with goroutines under the race detector
	$(GO) test -race -timeout 30m $(FLAGS) $(RACE)

# Each find is made small a little: else that takes most of the time. Go's fuzzer at times
# takes the end of its time for a failure, and says so with no input (go.dev/issue/75804).
fuzz: ## run each fuzz target for FUZZTIME (60s)
	@mkdir -p bin; set -e; out=$(CURDIR)/bin/fuzz; for dir in . $(SHARE); do cd $(CURDIR)/$$dir; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    printf '%s %s ' $$pkg $$target; \
	    if $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg >$$out 2>&1 || \
	      grep -A1 '^--- FAIL' $$out | grep -qx '    context deadline exceeded'; \
	    then grep '^fuzz: elapsed' $$out | tail -n 1; else cat $$out; exit 1; fi; \
	  done; \
	done; done

speed: ## check, state, replay and export beside a plain scan of JSON: red where one has become slower by a fifth
	$(GO) test -count=1 -v -tags night -run '^TestSpeed$$' -timeout 30m ./cmd/mcprec

doubling: ## each command over twice as much of anything: red where that costs more than 2.6 times the time or the memory
	$(GO) test -count=1 -v -tags night -run '^TestDoubling$$' -timeout 120m ./cmd/mcprec

# MCPREC_NIGHT asks a test for its long form. Where it is the full path of a file, what was tried is
# added to the table there.
soak: export MCPREC_NIGHT = 1
soak: soundness ## the long forms of the tests: a million pings, two million orders, every token, a million events in a browser
	$(GO) test -count=1 -run 'TestPingPong|TestFiveRecorders|TestKilledRecorder|TestFlood|TestPlantedSecrets|TestReading' -timeout 60m ./cmd/mcprec
	$(GO) test -count=1 -timeout 120m ./replay/explore/...
	$(GO) test -count=1 -cpu 1,2,8 -run Token -timeout 60m ./replay/explore
	$(GO) test -count=1 -race -run Token -timeout 60m ./replay/explore
	$(NEWEST) -count=1 -cpu 1,2,8 -run Token -timeout 120m $(GOSDK)
	$(GO) test -count=1 -run 'TestLaw|TestRecordedHalves|TestAgreement' -timeout 60m ./replay/closed
	$(if $(INSTALLED),MCPREC_BROWSER=1 $(MAKE) browser,@echo "no browser: the page is not tested in one")

# A verdict is a fault of the engine, or a new bug of an SDK.
soundness: ## 1.9 million orders of conforming pairs, with timers and over HTTP, and their tokens; says how many
	@mkdir -p bin; export MCPREC_NIGHT=1; status=0; \
	($(NEWEST) -v -count=1 -timeout 120m $(GOSDK)) >bin/soundness 2>&1 || status=1; \
	(cd transport/mcpgo && $(GO) test -v -count=1 -timeout 120m -modfile=newest.mod .) >>bin/soundness 2>&1 || status=1; \
	[ $$status = 0 ] || cat bin/soundness; \
	awk '/ orders without a verdict$$/ { orders += $$2 } / tokens without a divergence$$/ { tokens += $$2 } \
	  END { print orders " orders without a verdict, " tokens " tokens without a divergence" }' bin/soundness; exit $$status

TABLE = awk -F'|' 'BEGIN { printf "%-58s %6s %9s  %s\n", "fault", "tried", "survived", "what happened" } \
	  { printf "%-58s %6d %9d  %s\n", $$1, $$2, $$3, $$4 }'

torture: export MCPREC_NIGHT = $(CURDIR)/bin/torture
torture: ## crashes, power cuts, faults, damage by random, and broken builds that must be found
	@mkdir -p bin; : >bin/torture; status=0; \
	$(GO) test -count=1 -timeout 60m ./store/boltstore & \
	$(GO) test -count=1 -timeout 60m -tags night -run 'TestKilled|TestMutants|TestClockSteps|TestStuck|TestSlow|TestBusy|TestLate|TestFull|TestBudget|TestStrict|TestPlantedSecretsHTTP|TestMonth' ./cmd/mcprec ./cmd/mcprec/internal/retention ./recorder || status=1; \
	wait $$! || status=1; $(TABLE) bin/torture; exit $$status

clusters: export MCPREC_NIGHT = $(CURDIR)/bin/clusters
clusters: ## push and pull against real servers, killed, frozen and cut off
	@mkdir -p bin; : >bin/clusters; status=0; \
	(cd $(SHARE) && $(GO) test -count=1 -timeout 60m -tags night ./...) || status=1; $(TABLE) bin/clusters; exit $$status

share: ## build bin/mcprec-share
	cd $(SHARE) && $(BUILD) -o $(CURDIR)/bin/mcprec-share ./mcprec-share

zoo: ## explore bugs of released SDKs, published ones and those of docs/bugs; downloads them once; types docs/explore.md
	@$(GO) run ./examples/zoo/table
	$(GO) test -count=1 -tags night -run '^TestExplorePage$$' -timeout 20m ./cmd/mcprec

# Not part of a ring: a finding is of the server.
conformance: build ## play the sessions of the official conformance suite to the Go SDK's server in other orders; needs npm, curl and Linux
	cd examples/conformance && npm install --no-fund --no-audit && PATH="$(CURDIR)/bin:$$PATH" sh run.sh "$(CURDIR)/bin/conformance"

root: ## what only root may try: disks that are full, read-only, very small, or that do not answer; fails on skips
	@mkdir -p bin; $(GO) test -json -count=1 -run '^(TestTinyDisks|TestReadOnlyDisk|TestFullInTheMiddle|TestStuckDisk|TestKilledWhileStuck)$$' \
	  ./store/boltstore ./cmd/mcprec >bin/root; $(GO) run ./.ci/skips <bin/root

bench: ## run the benchmarks: ratios, side by side in one run
	$(GO) test -run '^$$' -bench . ./...
	cd $(SHARE) && $(GO) test -run '^$$' -bench . -timeout 60m ./cluster

golden: ## rewrite the expected outputs; read the diff
	$(GO) test $$(grep -rl --include=*_test.go '"update"' . | xargs -n1 dirname | sort -u) -update

page: ## bundle the page of mcprec view
	$(GO) generate ./cmd/mcprec/internal/view

browser: export CGO_ENABLED = 0
browser: ## test the page of mcprec view in a real browser; skips where there is none, unless MCPREC_BROWSER=1
	cd $(BROWSER) && $(GO) test -count=1 -timeout 30m $(FLAGS) .

tidy: ## bring every module's go.mod and go.sum up to date
	$(GO) mod tidy
	@set -e; for mod in transport/*/*.mod examples/gosdk/go.mod examples/zoo/*/*.mod docs/bugs/go.mod $(BUNDLE)/go.mod $(BROWSER)/go.mod $(SHARE)/go.mod $(DIST)/go.mod; do \
	  (cd $$(dirname $$mod) && $(GO) mod tidy -modfile=$$(basename $$mod)); \
	done

lint: modules ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	@set -e; for dir in $(LINTED); do \
	  (cd $$dir && $(GO) vet -tags night,install ./... && $(GO) run $(STATICCHECK) -tags night,install ./...); \
	done
	cd docs/bugs && $(GO) vet ./... # what they show is of deprecated features, too
	$(GO) vet ./.ci/skips && $(GO) test ./.ci/skips

# A package is vetted for a system if other files of it are built there than here.
BUILT = $(GO) list -f '{{.ImportPath}} {{.GoFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}' ./...
elsewhere: ## go vet of what is built for other systems alone
	@mkdir -p bin; $(BUILT) >bin/here; \
	for os in $(ELSEWHERE); do \
	  GOOS=$$os $(BUILT) | grep -vxFf bin/here | cut -d' ' -f1 | GOOS=$$os xargs $(GO) vet || exit 1; \
	done

modules: ## go.mod is what the code needs, and what was downloaded is what go.sum says
	$(GO) mod tidy -diff
	$(GO) mod verify
	@set -e; for dir in examples/gosdk transport/mcpgo docs/bugs $(BUNDLE) $(BROWSER) $(SHARE) $(DIST); do (cd $$dir && $(GO) mod tidy -diff); done

reproducible: ## build HEAD twice, in two folders and with two caches: the same bytes, without C
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	git clone -q . "$$dir/a"; git clone -q . "$$dir/and/another"; \
	(cd "$$dir/a" && $(BUILD) -o "$$dir/one/" ./cmd/mcprec && cd $(SHARE) && $(BUILD) -o "$$dir/one/" ./mcprec-share); \
	export GOCACHE="$$dir/cache"; \
	(cd "$$dir/and/another" && $(BUILD) -o "$$dir/two/" ./cmd/mcprec && cd $(SHARE) && $(BUILD) -o "$$dir/two/" ./mcprec-share); \
	for program in mcprec mcprec-share; do \
	  $(GO) version -m "$$dir/one/$$program" | grep -q CGO_ENABLED=0; \
	  cmp "$$dir/one/$$program" "$$dir/two/$$program"; git hash-object "$$dir/one/$$program"; \
	done; "$$dir/one/mcprec" version

# What is not committed is left out. A commit without a tag is a snapshot for goreleaser. It leaves more
# files than those of the release, which are the ones in SHA256SUMS.
dist: ## make the files of a release of HEAD in bin/dist: archives, packages, checksums
	@changed=$$(git status --porcelain); [ -z "$$changed" ] || printf 'not committed, and not in the release:\n%s\n' "$$changed"
	@set -e; umask 022; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; git clone -q . "$$dir/mcprec"; cd "$$dir/mcprec"; \
	TZ=UTC $(GORELEASER) release --parallelism 1 --skip publish,announce $$(git describe --tags --exact-match >/dev/null 2>&1 || echo --snapshot); \
	cp .ci/dist/Dockerfile bin/release; rm -rf "$(RELEASE)"; mkdir -p "$(RELEASE)"; cd bin/release; \
	tar -cf - SHA256SUMS $$(sed 's/^[^ ]*  //' SHA256SUMS) | tar -xf - -C "$(RELEASE)"; cat SHA256SUMS

dist-test: ## make the release twice, compare it, install each file that can run here, and take the module by version
	cd $(DIST) && $(GO) test -tags install -count=1 -v -timeout 60m .

vuln: ## govulncheck of what the command calls; asks vuln.go.dev
	$(GO) run $(GOVULNCHECK) ./...

clean: ## remove what was built
	rm -rf bin
