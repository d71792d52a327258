//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/mcprec/mcprec/transport"
)

// floorPass and floorWrite are the least that a tap can be: a pass-through with
// blocking descriptors, and the same with one write(2) of each read to a file
// before it is passed on. Benchmarks set mcprec record beside them.
func floorPass()  { floor(nil) }
func floorWrite() { floor(must(os.CreateTemp(os.Getenv("FLOOR_DIR"), "floor-"))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func floor(log *os.File) {
	p := must(transport.StartProcess(os.Args[1:]...))
	go func() {
		floorCopy(p.Stdin, os.Stdin, log)
		p.Stdin.Close()
	}()
	var out sync.WaitGroup
	out.Go(func() { floorCopy(os.Stdout, p.Stdout, log) })
	out.Go(func() { io.Copy(os.Stderr, p.Stderr) })
	out.Wait()
	status, _ := p.Wait()
	os.Exit(status.Code)
}

// floorCopy forwards whole reads; of each it logs the lines that end in it,
// as a recorder must that keeps frames.
func floorCopy(dst, src, log *os.File) {
	buf := make([]byte, 64<<10)
	var carry []byte
	for {
		n, err := src.Read(buf)
		if log != nil && n > 0 {
			carry = append(carry, buf[:n]...)
			if end := bytes.LastIndexByte(carry, '\n') + 1; end > 0 {
				log.Write(carry[:end])
				carry = append(carry[:0], carry[end:]...)
			}
		}
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
