module github.com/mcprec/mcprec/examples/zoo/mcpgo110

go 1.25.5

require (
	github.com/mark3labs/mcp-go v1.1.1
	github.com/mcprec/mcprec v0.1.0
	github.com/mcprec/mcprec/transport/mcpgo v0.1.0
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..

replace github.com/mcprec/mcprec/transport/mcpgo => ../../../transport/mcpgo
