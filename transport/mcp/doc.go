// Package mcp holds the words of the Model Context Protocol: its revisions, methods,
// members, keys of _meta, HTTP headers and media types. Every other package names these
// constants; a test of cmd/mcprec finds a word that is spelled anywhere else. The package
// also says when two ids, or two progress tokens, are the same ([KeyOf]), and compares JSON
// values and numbers exactly ([Value], [CompareNumbers]).
//
// It knows no rules: which method needs which answer, and who may send it when, is the
// business of replay/order and replay/check.
package mcp
