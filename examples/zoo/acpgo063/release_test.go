//go:build !fixed

package acpgo063

import "github.com/mcprec/mcprec/replay/external"

// want is what is found at the release with the bug.
const want = external.Different
