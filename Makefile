# Commands for people who work on Holdfast. Each is plain enough to be typed.

VERSION ?= dev
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build test race lint cross bench torture fuzz man reproducible snapshot acceptance clean

build: ## one static binary in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/holdfast ./cmd/holdfast

test: ## everything that needs nothing but Go and git
	go test ./...

race: ## the race detector; the packages that link SQLite take their time
	go test -race -timeout 30m ./internal/ledger/... ./internal/durable ./internal/filelog ./internal/git ./internal/secret ./internal/client ./internal/txn ./internal/surface ./internal/project ./internal/mcpserver

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

cross: ## does it build everywhere?
	for os in linux darwin windows; do for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -o /dev/null ./cmd/holdfast || exit 1; done; done

bench: ## the bars of docs/BENCHMARKS.md, as ratios within one run
	go run ./bench

fuzz: ## every parser for a short while; FUZZ=100000x or FUZZ=10m for longer
	./bench/fuzz.sh $${FUZZ:-2000x}

torture: ## power cuts, kills, races, faults, many writers; ROUNDS=1000 for the long form
	go run ./bench/torture -states $${STATES:-400} -rounds $${ROUNDS:-20}
	mkdir -p bin
	HOLDFAST_TORTURE=$${ROUNDS:-20} go test -count=1 -timeout 2h -run 'Torture|Kill|Fault|Linear' -v ./internal/... ./cmd/... >bin/torture.log 2>&1 || { tail -100 bin/torture.log; exit 1; }
	grep -E '^(--- PASS|ok)' bin/torture.log

acceptance: ## real coding tools from npm against the files that setup writes; ONLY=codex,claude for some
	./bench/acceptance.sh

man: ## man pages and completions in bin/share, made by the program itself
	./release/man.sh

reproducible: ## two builds in two folders, same bytes; FULL=1 without the cache
	./release/reproducible.sh

snapshot: ## everything a release is made of, in dist, with the Linux packages tried; publishes nothing
	./release/snapshot.sh

clean:
	rm -rf bin dist
