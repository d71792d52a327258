module github.com/mcprec/mcprec/examples/zoo/mcpgo043

go 1.25.5

require (
	github.com/mark3labs/mcp-go v0.43.2
	github.com/mcprec/mcprec v0.1.0
	github.com/mcprec/mcprec/transport/mcpgo v0.1.0
)

require (
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/buger/jsonparser v1.1.1 // indirect
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/invopop/jsonschema v0.13.0 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/wk8/go-ordered-map/v2 v2.1.8 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..

replace github.com/mcprec/mcprec/transport/mcpgo => ../../../transport/mcpgo
