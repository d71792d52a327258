package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
)

// exactOut returns the output for exact bytes: a fixture or a stream.
func exactOut(cmd *cobra.Command) io.Writer { return terminal.Underneath(cmd.OutOrStdout()) }

// screenOf returns the screen of a command. It must be flushed.
func screenOf(cmd *cobra.Command) (*terminal.Screen, error) {
	when, err := cmd.Flags().GetString("color")
	if err == nil {
		err = oneOf("color", when, "auto", "always", "never")
	}
	if err != nil {
		return nil, err
	}
	return terminal.NewScreen(cmd.OutOrStdout(), when), nil
}

// printReport writes a report on the screen. If it did not pass, the error is the exit code.
func printReport(cmd *cobra.Command, format string, r report.Report) error {
	out, err := screenOf(cmd)
	if err != nil {
		return err
	}
	if err := errors.Join(r.Write(out, format), out.Flush()); err != nil {
		return err
	}
	if !r.Passed {
		return exit.ErrVerdict
	}
	return nil
}

// single returns a report of one section.
func single(passed bool, value any, text func(io.Writer) error) report.Report {
	return report.Report{Passed: passed, Sections: []report.Section{{Value: value, Text: text}}}
}

// printVerdict writes a verdict on the screen.
func printVerdict(cmd *cobra.Command, format string, v interface{ Text() string }, passed bool) error {
	return printReport(cmd, format, single(passed, v, func(w io.Writer) error {
		w.(*terminal.Screen).PaintVerdict(v.Text())
		return nil
	}))
}

// addOutFlags adds --out and --force.
func addOutFlags(cmd *cobra.Command, o *outfile.File, name, usage string) {
	f := cmd.Flags()
	f.StringVarP(&o.Name, "out", "o", name, usage)
	f.BoolVar(&o.Force, "force", false, "write over the FILE of --out if it is there")
}
