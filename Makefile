.PHONY: build test
build: ## build bin/mcprec
	go build -o bin/mcprec ./cmd/mcprec
test: ## run the tests
	go test ./...
