module github.com/mcprec/mcprec/examples/zoo/gomcp

go 1.25.0

require (
	github.com/ThinkInAIXYZ/go-mcp v0.2.29
	github.com/mcprec/mcprec v0.1.0
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	github.com/orcaman/concurrent-map/v2 v2.0.1 // indirect
	github.com/tidwall/gjson v1.18.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..
