//go:build !unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

func dieOf(os.Signal) { os.Exit(exitData) }

func forwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func endSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// fromTerminal: a console sends its interrupt to every process attached to it.
func fromTerminal(os.Signal) bool { return true }

func keepPipeErrors() {}

// moveStdio does nothing: descriptors are not reused by number here.
func moveStdio(std streams) (streams, error) { return std, nil }

func mayFollow(fs.FileInfo) bool { return true }
