//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// serving runs a server that prints its URL, then a client that is given it, and
// interrupts the server. It exits as the client did, and if that was well as the
// server:
//
//	serving SERVER [ARG]... -- CLIENT [ARG]...
//
// {URL} in the client's arguments is the URL; {{URL}} is {URL}, for a client that is a
// serving itself.
func serving() {
	dash := slices.Index(os.Args, "--")
	server := exec.Command(os.Args[1], os.Args[2:dash]...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	url, _ := bufio.NewReader(out).ReadString('\n')
	words := slices.Clone(os.Args[dash+1:])
	for i := range words {
		words[i] = strings.NewReplacer("{{URL}}", "{URL}", "{URL}", strings.TrimSpace(url)).Replace(words[i])
	}
	client := exec.Command(words[0], words[1:]...)
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	asked := client.Run()
	_ = server.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if served := server.Wait(); errors.As(asked, &exit) || errors.As(served, &exit) {
		os.Exit(exit.ExitCode())
	} else if err := errors.Join(asked, served); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// saying makes one HTTP request and prints the answer; see remoteSay:
//
//	saying METHOD URL SESSION BODY [HEADER VALUE]
func saying() { remoteSay(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]...) }
