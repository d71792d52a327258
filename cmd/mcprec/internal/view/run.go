package view

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// optionAnswer is a model that the page offers.
type optionAnswer struct {
	Value  string `json:"value"`
	Text   string `json:"text"`
	End    string `json:"end"`
	Why    string `json:"why"`
	Source string `json:"source"`
}

// listOptions lists the models and the capacities of a replay.
func listOptions() any {
	var models []optionAnswer
	for _, m := range []struct{ name, why string }{
		{"free", "its reader never waits for its writer"}, {"rigid", "one thread: the recorded local order is its control flow"},
		{"inline", "its reader writes the answers itself"}, {"serial", "its reader runs each handler to its end before it reads on"},
		{"serial-except-tools", "as serial, but tools/call runs beside the reader"}, {"inbox:0", "nobody drains the queue of notifications during a call: room for none"},
		{"inbox:1", "as inbox:0, with room for one"}, {"inbox:2", "as inbox:0, with room for two"},
	} {
		models = append(models, optionAnswer{Value: m.name, Text: m.name, Why: m.why})
	}
	for _, p := range replay.Presets() {
		end := ""
		if p.End != 0 {
			end = p.End.Sender()
		}
		models = append(models, optionAnswer{p.SDK + "@" + p.Through, p.SDK + " " + p.Releases() + ": " + p.Model.String(), end, p.Why, p.Source})
	}
	return map[string]any{"models": models, "capacities": []string{"0", "1", "10", "1000", "unbounded"}}
}

func (x *index) run(r *http.Request) (any, error) {
	query := r.URL.Query()
	var setup replay.Setup
	var err error
	if setup.Client, err = replay.ParseEnd(transport.ClientToServer, query.Get("client")); err != nil {
		return nil, err
	}
	if setup.Server, err = replay.ParseEnd(transport.ServerToClient, query.Get("server")); err != nil {
		return nil, err
	}
	if setup.Capacity, err = replay.ParseCapacity(query.Get("capacity")); err != nil {
		return nil, err
	}
	recording, err := replay.Load(x.source.read(r.Context(), 1, false))
	if err != nil {
		return nil, err
	}
	verdict := replay.Closed(recording, setup)
	words, _, _ := strings.Cut(verdict.Text(), "\n")
	frames := map[string]any{}
	x.mu.Lock()
	defer x.mu.Unlock()
	numbers := map[string]int{}
	for _, row := range x.rows {
		if row.Dir == "" || row.Kind == "eof" || row.Kind == "stderr" || row.Kind == "delivered" || row.Kind == "http" {
			continue
		}
		numbers[row.Dir]++
		frames[row.Dir+"."+strconv.Itoa(numbers[row.Dir])] = map[string]any{"seq": row.Seq, "label": row.Label, "kind": row.Kind, "dir": row.Dir, "tone": row.Tone}
	}
	return map[string]any{"verdict": verdict, "words": words, "steps": []any{}, "total": 0, "frames": frames, "held": []any{}, "error": ""}, nil
}
