package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
)

// driveTarget are the flags of drive for a server that is reached over HTTP.
type driveTarget struct {
	url     string
	headers []string
}

const driveTargetHelp = `With --target the server is reached over HTTP, as the recorded client reached it: by
Streamable HTTP or HTTP+SSE, with the standalone stream if that client asked for it.
A session recorded on stdio is driven over Streamable HTTP. A status that is no
success is an error, unless it was recorded for the same request; redirects are not
followed. What the recorded server refused for how it was asked (without the session's
id, say) is asked in the same way; of a request without a message that it refused so, a
PUT, say, the status is a step.

`

func (t *driveTarget) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.url, "target", "", "drive the HTTP server whose MCP endpoint is `URL`, in place of COMMAND")
	f.StringArrayVar(&t.headers, "header", nil, "with --target: send `'NAME: VALUE'` with every request; may be repeated")
}

// check refuses what does not go together.
func (t *driveTarget) check(command []string) error {
	switch {
	case t.url == "" && len(t.headers) > 0:
		return usagef("--header is for --target; give both")
	case t.url != "" && len(command) > 0:
		return usagef("drive: a COMMAND and --target; give one of them")
	case t.url != "" && !strings.HasPrefix(t.url, "http://") && !strings.HasPrefix(t.url, "https://"):
		return usagef("--target %s: want a URL such as http://localhost:3000/mcp", t.url)
	}
	return nil
}

// header returns what goes with every request.
func (t *driveTarget) header() (http.Header, error) {
	h := http.Header{}
	for _, line := range t.headers {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, usagef("--header %q: want 'NAME: VALUE'", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

// drive plays the driver to the server at the URL; keep: and records it.
func (t *driveTarget) drive(ctx context.Context, r *recordedSession, d *replay.Driver, o replay.DriveOptions, keep bool) (run *driven, err error) {
	client := replay.Dial(r.events, t.url)
	if client.Header, err = t.header(); err != nil {
		return nil, err
	}
	var kept *keptExchanges
	if keep {
		if kept, err = keepExchanges(ctx, &client, r.header); err != nil {
			return nil, err
		}
		defer kept.tap.Close()
	}
	asides, err := replay.DialAside(ctx, client, r.events)
	if err != nil {
		return nil, err
	}
	o.HangUp = asides.HangUp
	start := time.Now()
	run = &driven{remote: true}
	if run.end, err = replay.Drive(ctx, asides, d, o); err != nil {
		return nil, err
	}
	run.took, run.asides = time.Since(start), asides.Asides()
	if keep && run.end == replay.Complete {
		run.kept, err = kept.end()
	}
	return run, err
}
