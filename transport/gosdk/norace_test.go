//go:build !race

package gosdk_test

const slowed = 1
