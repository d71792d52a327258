// Package mcp says when two ids, or two progress tokens, are the same. Every package that
// asks which response, progress or cancellation belongs to which request compares them by
// [KeyOf].
package mcp
