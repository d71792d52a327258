module github.com/mcprec/mcprec/examples/zoo/node

go 1.25.5

// This module is not published: it is used in a clone only.
replace github.com/mcprec/mcprec => ../../..

require github.com/mcprec/mcprec v0.0.0-00010101000000-000000000000

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-runewidth v0.0.31 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
