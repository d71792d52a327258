//go:build !race

package recorder

const raced = false
