package view

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/store"
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

// options are the models and the capacities of a replay.
type options struct {
	Models     []option `json:"models"`
	Capacities []string `json:"capacities"`
}

// listOptions lists what the page offers: first the plain models, then the SDKs.
func listOptions() options {
	o := options{Capacities: []string{"0", "1", "10", "1000", "unbounded"}}
	for _, m := range []struct{ name, why string }{
		{"free", "its reader never waits for its writer"},
		{"rigid", "one thread: the recorded local order of sends and receives is its control flow"},
		{"inline", "its reader writes the answers itself, and meanwhile does not read"},
		{"serial", "its reader runs each handler to its end before it reads on"},
		{"serial-except-tools", "as serial, but tools/call runs beside the reader"},
		{"inbox:0", "its reader hands notifications to a queue without room, which nobody drains during a call"},
		{"inbox:1", "as inbox:0, with room for one notification"},
		{"inbox:2", "as inbox:0, with room for two notifications"},
	} {
		o.Models = append(o.Models, option{Value: m.name, Text: m.name, Why: m.why})
	}
	for _, p := range replay.Presets() {
		end := ""
		if p.End != 0 {
			end = p.End.Sender()
		}
		o.Models = append(o.Models, option{p.SDK + "@" + p.Through, p.SDK + " " + p.Releases() + " (" + p.Model.Unnamed().String() + ")", end, p.Why, p.Source})
	}
	return o
}

// replays keeps the recording that was replayed last, for a minute after its last use.
type replays struct {
	mu        sync.Mutex
	of        *index
	seq       uint64 // of its last event when it was loaded
	recording *replay.Recording
	drop      *time.Timer
}

// keptReplay is how long a recording is kept without use: one of a million frames takes 300 MB.
const keptReplay = time.Minute

// load returns the recording of a session as it stands now.
func (x *replays) load(ctx context.Context, of *index) (*replay.Recording, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	head, _, err := of.source.head(ctx)
	if err != nil {
		return nil, err
	}
	if x.recording == nil || x.of != of || x.seq != head.Seq {
		x.recording, x.of, x.seq = nil, of, head.Seq
		if x.recording, err = replay.Load(of.source.read(ctx, 1, false)); err != nil {
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

// close drops the recording.
func (x *replays) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.recording = nil
	if x.drop != nil {
		x.drop.Stop()
	}
}

// parseSetup reads a setup as mcprec replay does.
func parseSetup(client, server, capacity string) (setup replay.Setup, err error) {
	for _, end := range []struct {
		dir   transport.Direction
		text  string
		model *replay.Model
	}{{transport.ClientToServer, client, &setup.Client}, {transport.ServerToClient, server, &setup.Server}} {
		if end.text == "" {
			continue
		}
		if *end.model, err = replay.ParseEnd(end.dir, end.text); err != nil {
			return setup, err
		}
	}
	if capacity != "" {
		setup.Capacity, err = replay.ParseCapacity(capacity)
	}
	return setup, err
}

// run answers with a closed replay under the models and the capacity of the request.
func (x *Server) run(i *index, r *http.Request) (any, error) {
	query := r.URL.Query()
	setup, err := parseSetup(query.Get("client"), query.Get("server"), query.Get("capacity"))
	if err != nil {
		return nil, err
	}
	recording, err := x.replays.load(r.Context(), i)
	if err != nil {
		return nil, err
	}
	played := play(recording, setup)
	played.Frames, err = i.frames(r.Context(), played.Steps)
	return played, err
}

// maxSteps is how many steps a page draws: the last of a run.
const maxSteps = 3000

// played is a run as the page draws it.
type played struct {
	Verdict replay.Verdict         `json:"verdict"`
	Words   string                 `json:"words"`
	Steps   []step                 `json:"steps"`
	Total   int                    `json:"total"`
	Held    []held                 `json:"held"`
	Frames  map[string]playedFrame `json:"frames,omitempty"`
	Error   string                 `json:"error"`
}

type step struct {
	Op    string              `json:"op"`
	Dir   string              `json:"dir"`
	N     int                 `json:"n"`
	Queue map[string]int      `json:"queue"`
	Inner map[string]innerBox `json:"inner,omitempty"`
	Tick  int                 `json:"tick"`
}

type innerBox struct {
	Size  int  `json:"size"`
	Room  int  `json:"room"`
	Stuck bool `json:"stuck"`
}

// held is a frame that did not arrive.
type held struct {
	Dir  string `json:"dir"`
	N    int    `json:"n"`
	By   string `json:"by"` // writer, queue or reader
	Text string `json:"text"`
}

type playedFrame struct {
	Seq   uint64 `json:"seq"`
	Label string `json:"label"`
	Kind  string `json:"kind"`
	Dir   string `json:"dir"`
	Tone  string `json:"tone"`
}

// play replays a recording, and keeps the last steps.
func play(recording *replay.Recording, setup replay.Setup) *played {
	p := &played{Verdict: replay.Closed(recording, setup).Judged(), Steps: []step{}, Held: []held{}}
	p.Words, _, _ = strings.Cut(p.Verdict.Text(), "\n")
	var offered, taken, given [3]int
	var last replay.Step
	tick := 0
	replay.Steps(recording, setup, func(s replay.Step) {
		p.Total++
		sameFrame := last.Dir == s.Dir && last.N == s.N
		if !sameFrame || s.Kind == transport.Take || last.Kind != transport.Take && last.Kind != transport.Ack { // a rendezvous is one line
			tick++
		}
		last = s
		switch s.Kind {
		case transport.Take:
			taken[s.Dir] = s.N
		case transport.Give:
			given[s.Dir] = s.N
		case transport.Ack:
		default:
			offered[s.Dir] = s.N
		}
		drawn := step{Op: strings.ToLower(s.Kind.String()), Dir: s.Dir.String(), N: s.N, Queue: map[string]int{"c2s": s.C2S, "s2c": s.S2C}, Tick: tick}
		for _, end := range []struct {
			name  string
			model replay.Model
			queue replay.InnerQueue
		}{{"client", setup.Client, s.Client}, {"server", setup.Server, s.Server}} {
			if _, ok := end.model.Queue(); ok {
				if drawn.Inner == nil {
					drawn.Inner = map[string]innerBox{}
				}
				drawn.Inner[end.name] = innerBox(end.queue)
			}
		}
		if p.Steps = append(p.Steps, drawn); len(p.Steps) >= 2*maxSteps {
			p.Steps = append(p.Steps[:0], p.Steps[len(p.Steps)-maxSteps:]...)
		}
	})
	p.Steps = p.Steps[max(0, len(p.Steps)-maxSteps):]
	if p.Verdict.Verdict != replay.Hang {
		return p
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if offered[dir] > taken[dir] {
			p.Held = append(p.Held, held{dir.String(), offered[dir], "writer", "its writer holds it: the transport has no room"})
		}
		for n := given[dir] + 1; n <= min(taken[dir], given[dir]+maxHeld); n++ {
			p.Held = append(p.Held, held{dir.String(), n, "queue", "it is in the transport, and nobody reads it"})
		}
	}
	for _, w := range p.Verdict.Waits {
		if w.Holds == "" {
			continue
		}
		for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			if strings.HasPrefix(w.Who, dir.Reverse().Sender()) && strings.Contains(w.Who, "reader") && given[dir] > 0 {
				p.Held = append(p.Held, held{dir.String(), given[dir], "reader", w.Why})
			}
		}
	}
	return p
}

// maxHeld is how many frames in a queue are told of.
const maxHeld = 20

// frames names the frames of the steps, as the rows of the session do.
func (x *index) frames(ctx context.Context, steps []step) (map[string]playedFrame, error) {
	found := map[string]playedFrame{}
	last := map[string]int{}
	wanted := map[string]bool{}
	for _, s := range steps {
		wanted[s.Dir+"."+strconv.Itoa(s.N)] = true
		last[s.Dir] = max(last[s.Dir], s.N)
	}
	numbers := map[string]int{}
	var seqs []uint64
	for e, err := range x.source.recorded(ctx, 1, false) {
		if err != nil {
			return nil, err
		}
		if e.Kind != store.Frame {
			continue
		}
		dir := e.Dir.String()
		numbers[dir]++
		if wanted[dir+"."+strconv.Itoa(numbers[dir])] {
			seqs = append(seqs, e.Seq)
			found[dir+"."+strconv.Itoa(numbers[dir])] = playedFrame{Seq: e.Seq}
		}
		if numbers["c2s"] >= last["c2s"] && numbers["s2c"] >= last["s2c"] {
			break
		}
	}
	rows, err := x.rowsAt(ctx, seqs)
	for key, frame := range found {
		if row, ok := rows[frame.Seq]; ok {
			found[key] = playedFrame{row.Seq, row.Label, row.Kind, row.Dir, row.Tone}
		}
	}
	return found, err
}

// rowsAt returns the rows of some events, which rise.
func (x *index) rowsAt(ctx context.Context, seqs []uint64) (map[uint64]picture.Row, error) {
	found := map[uint64]picture.Row{}
	for len(seqs) > 0 {
		answer, err := x.rows(ctx, seqs[0], maxRows)
		if err != nil || len(answer.Rows) == 0 {
			return found, err
		}
		for _, row := range answer.Rows {
			if row.Seq == seqs[0] {
				found[row.Seq] = row
				if seqs = seqs[1:]; len(seqs) == 0 {
					break
				}
			}
		}
		if last := answer.Rows[len(answer.Rows)-1].Seq; len(seqs) > 0 && seqs[0] <= last {
			return found, nil
		}
	}
	return found, nil
}
