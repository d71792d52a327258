//go:build fixed

package acpgo063

import "github.com/mcprec/mcprec/replay/external"

// want is what is found at the release without the bug: nothing.
const want external.Fault = ""
