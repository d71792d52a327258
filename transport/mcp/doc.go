// Package mcp holds the protocol's words in one place, and how they compare. So far it
// has the ids: every package that asks which response, progress or cancellation belongs
// to which request compares them by [KeyOf].
package mcp
