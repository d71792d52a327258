package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// judged is what a command found out: a JSON object, and a text.
type judged interface{ Text() string }

// printVerdict writes what was found, as text or JSON, and makes a verdict other
// than pass the exit code.
func printVerdict(cmd *cobra.Command, format string, v judged, passed bool) (err error) {
	if format == "json" {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetEscapeHTML(false)
		err = enc.Encode(v)
	} else {
		_, err = fmt.Fprint(cmd.OutOrStdout(), v.Text())
	}
	if err == nil && !passed {
		return verdictError
	}
	return err
}
