// Package gosdk has examples for who uses the official Go SDK: a client against a
// recorded server (client_test.go), both ends live in one process (pair_test.go).
// Each can be copied into a module that requires mcprec and the SDK.
package gosdk
