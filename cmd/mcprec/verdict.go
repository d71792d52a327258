package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// judged is what a command found out: a JSON object, and a text.
type judged interface{ Text() string }

// printVerdict writes what was found, as text or JSON, and makes a verdict other
// than pass the exit code.
func printVerdict(cmd *cobra.Command, format string, v judged, passed bool) (err error) {
	out, err := newScreen(cmd)
	if err != nil {
		return err
	}
	if format == "json" {
		err = encoderTo(out).Encode(v)
	} else {
		out.paintVerdicts(v.Text())
	}
	if err = errors.Join(err, out.flush()); err == nil && !passed {
		return verdictError
	}
	return err
}
