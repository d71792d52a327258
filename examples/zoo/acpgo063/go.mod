module github.com/mcprec/mcprec/examples/zoo/acpgo063

go 1.25.0

require (
	github.com/coder/acp-go-sdk v0.6.3
	github.com/mcprec/mcprec v0.1.0
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..
