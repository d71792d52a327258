package view

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/transport"
)

// option is a model that the page offers.
type option struct {
	Value  string `json:"value"`
	Text   string `json:"text"`
	End    string `json:"end"` // client, server, or "" for both
	Why    string `json:"why"`
	Source string `json:"source"`
}

// options are the models and the capacities of a replay, and the words of its verdict.
type options struct {
	Models     []option      `json:"models"`
	Capacities []string      `json:"buffers"`
	Words      []closed.Term `json:"words"`
}

// listOptions lists what the page offers: first the plain models, then the SDKs.
func listOptions() options {
	o := options{
		Capacities: []string{"0", "1", "10", "1000", "unbounded"},
		Words:      slices.Concat(closed.CategoryTerms(), closed.VerdictTerms()),
	}
	for _, m := range closed.ModelTerms() {
		kind, sized := strings.CutSuffix(m.Word, "=Q")
		if !sized {
			o.Models = append(o.Models, option{Value: m.Word, Text: m.Word, Why: m.Means})
			continue
		}
		for _, size := range []string{"0", "1", "2"} {
			name := kind + "=" + size
			o.Models = append(o.Models, option{Value: name, Text: name, Why: meaningOf(name)})
		}
	}
	for _, p := range closed.Presets() {
		end := ""
		if p.End != 0 {
			end = p.End.Sender()
		}
		text := fmt.Sprintf("%s %s (%v)", p.SDK, p.Releases(), p.Model.Unnamed())
		name := p.SDK + "@" + p.Through
		o.Models = append(o.Models, option{name, text, end, p.Why, p.Source})
	}
	return o
}

// meaningOf says how a side of a model works; "" for no model.
func meaningOf(name string) string {
	for _, end := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if model, err := closed.ParseEnd(end, name); err == nil {
			return model.Means()
		}
	}
	return ""
}

// replays keeps the recording that was replayed last, for a minute after its last use.
type replays struct {
	mu        sync.Mutex // also held while a recording is read, so that no two are read at once
	of        *index
	seq       uint64 // of its last event when it was loaded
	recording *closed.Recording
	drop      *time.Timer
}

// keptReplay is how long a recording is kept without use: one of a million frames takes 300 MB.
const keptReplay = time.Minute

// load returns the recording of a session as it stands now.
func (x *replays) load(ctx context.Context, of *index) (*closed.Recording, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	head, _, err := of.source.head(ctx)
	if err != nil {
		return nil, err
	}
	if x.recording == nil || x.of != of || x.seq != head.Seq {
		x.recording, x.of, x.seq = nil, of, head.Seq
		x.recording, err = closed.Load(of.source.readAll(ctx))
		if err != nil {
			return nil, err
		}
	}
	if x.drop != nil {
		x.drop.Stop()
	}
	x.drop = time.AfterFunc(keptReplay, func() { x.forget(of) })
	return x.recording, nil
}

// forget drops the recording of a session.
func (x *replays) forget(of *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == of {
		x.recording, x.of = nil, nil
	}
}

// parseSetup reads a setup as mcprec replay does.
func parseSetup(client, server, capacity string) (setup closed.Setup, err error) {
	for _, end := range []struct {
		dir   transport.Direction
		text  string
		model *closed.Model
	}{{transport.ClientToServer, client, &setup.Client}, {transport.ServerToClient, server, &setup.Server}} {
		if end.text == "" {
			continue
		}
		if *end.model, err = closed.ParseEnd(end.dir, end.text); err != nil {
			return setup, err
		}
	}
	if capacity != "" {
		setup.Capacity, err = closed.ParseCapacity(capacity)
	}
	return setup, err
}

// run answers with a closed replay under the models and the capacity of the request.
func (x *replays) run(i *index, r *http.Request) (any, error) {
	query := r.URL.Query()
	setup, err := parseSetup(query.Get("client"), query.Get("server"), query.Get("buffer"))
	if err != nil {
		return nil, err
	}
	recording, err := x.load(r.Context(), i)
	if err != nil {
		return nil, err
	}
	asOfNow := *recording // which other requests may play meanwhile
	asOfNow.GoesOn(i.now())
	run, err := play(r.Context(), i, &asOfNow, setup)
	if err != nil {
		return nil, err
	}
	told, err := i.why(r.Context())
	if err != nil {
		return nil, err
	}
	told.judge(&run)
	return run, nil
}

// play replays a recording of a session, and names its frames as the rows of the session do.
func play(ctx context.Context, i *index, recording *closed.Recording, setup closed.Setup) (picture.Run, error) {
	var seqs []uint64
	run := picture.NewRun(recording, setup, func(seq uint64) picture.Frame {
		seqs = append(seqs, seq)
		return picture.Frame{Seq: seq}
	})
	err := i.name(ctx, seqs, run.Frames)
	run.Name(run.Frames)
	return run, err
}
