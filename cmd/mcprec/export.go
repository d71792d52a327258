package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type exportOptions struct {
	home
	format string
	dir    string
	out    string
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [SESSION]",
		Short: "Write a session as a fixture, or one of its streams byte for byte",
		Long: `export writes a session as JSON Lines, the text form that a test loads and import
reads back, or with -T raw gives back the exact bytes of one stream: what the
client wrote (c2s), what the server wrote (s2c), or the server's standard error.

` + sessionHelp + "\n\n" + exitLine,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runExport(cmd, o, firstOf(args)) },
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.format, "to", "T", "jsonl", "jsonl or raw")
	f.StringVar(&o.dir, "dir", "", "the stream that raw gives back: c2s, s2c or stderr")
	f.StringVarP(&o.out, "out", "o", "-", "the `FILE` to write; - is standard output")
	completeWords(cmd, "to", "jsonl", "raw")
	completeWords(cmd, "dir", "c2s", "s2c", "stderr")
	return cmd
}

func runExport(cmd *cobra.Command, o exportOptions, arg string) (err error) {
	if err := oneOf("to", o.format, "jsonl", "raw"); err != nil {
		return err
	}
	if o.format == "raw" {
		if o.dir == "" {
			return usagef("-T raw needs --dir c2s, s2c or stderr: each is a stream of its own")
		}
		if err := oneOf("dir", o.dir, "c2s", "s2c", "stderr"); err != nil {
			return err
		}
	} else if o.dir != "" {
		return usagef("--dir is for -T raw")
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	return replaceFile(o.out, cmd.OutOrStdout(), func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		events := s.events(cmd.Context(), 1, store.ReadOptions{})
		if o.format == "jsonl" {
			return errors.Join(encode(b, events), b.Flush())
		}
		for e, err := range events {
			if err != nil {
				return errors.Join(err, b.Flush())
			}
			if err := writeRaw(b, e, o.dir); err != nil {
				return err
			}
		}
		return b.Flush()
	})
}

// writeRaw writes the event's bytes if it belongs to the stream. A gap in the
// recording is an error: the stream's bytes cannot be given back.
func writeRaw(w *bufio.Writer, e store.Event, stream string) error {
	of := e.Dir.String()
	if e.Kind == store.Stderr {
		of = "stderr"
	}
	switch {
	case e.Kind == store.Lost:
		info, _ := store.DecodePayload[store.LostInfo](e)
		return errors.Join(w.Flush(), fmt.Errorf("event %d: %d frames and %d bytes are missing here (%s); what is before it was written",
			e.Seq, info.Frames, info.Bytes, info.Reason))
	case e.Kind != store.Frame && e.Kind != store.Stderr, of != stream:
		return nil
	}
	_, err := w.Write(transport.AppendFrame(w.AvailableBuffer(), e.AsFrame()))
	return err
}
