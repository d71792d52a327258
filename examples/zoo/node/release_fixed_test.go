//go:build fixed

package node

// manifest names the releases: those without the bugs.
const manifest = "fixed.json"
