//go:build !unix

package main

import "os"

func dieOf(os.Signal) { os.Exit(exitData) }

func forwarded() []os.Signal { return []os.Signal{os.Interrupt} }

// fromTerminal: a console sends its interrupt to every process attached to it.
func fromTerminal(os.Signal) bool { return true }

func keepPipeErrors() {}
