//go:build !fixed

package node

// manifest names the releases: those with the bugs.
const manifest = "package.json"
