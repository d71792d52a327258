//go:build !unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

func dieOf(os.Signal) { os.Exit(exitData) }

func forwarded() []os.Signal { return []os.Signal{os.Interrupt} }

func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// fromTerminal: a console sends its interrupt to every process attached to it.
func fromTerminal(os.Signal) bool { return true }

func keepPipeErrors() {}

// vacate does nothing: descriptors are not reused by number here.
func vacate(std streams) (streams, error) { return std, nil }

func mayFollow(fs.FileInfo) bool { return true }
