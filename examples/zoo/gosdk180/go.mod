module github.com/mcprec/mcprec/examples/zoo/gosdk180

go 1.25.0

require (
	github.com/mcprec/mcprec v0.1.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..

replace github.com/modelcontextprotocol/go-sdk => github.com/modelcontextprotocol/go-sdk v1.8.0
