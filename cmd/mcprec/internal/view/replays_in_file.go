package view

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/picture"
)

// replaysInFile are the replays that a file has with it: one for each client, server, room to the
// server and room to the client. static.js of the page reads them.
type replaysInFile struct {
	// Plain names the model of each model that the page offers, by end: an SDK runs as its model does.
	Plain   map[string]map[string]string `json:"plain"`
	Clients []string                     `json:"clients"` // models
	Servers []string                     `json:"servers"`
	Rooms   []string                     `json:"rooms"`
	// Setups has an index of List for each setup; the room to the client goes round first, then the
	// room to the server, the server, and the client.
	Setups []int `json:"setups"`
	// List are the runs, each once. A run has an index of Values for each of the first Names, or -1.
	List   [][]int           `json:"list"`
	Names  []string          `json:"names"` // members of a run, or of its verdict, as in verdict.waits
	Values []json.RawMessage `json:"values"`
	// Frames are those of all runs.
	Frames map[string]picture.Frame `json:"messages"`

	// Texts are the sentences of the runs' lines: told of a run has a place of each.
	Texts []string `json:"texts"`

	told                whyAnswer      // of the recorded session
	values, runs, texts map[string]int // by the text: a place in Values, in List, or in Texts
	rows                []picture.Row  // of the session
	fits                []fit
}

// runs plays the session under every listed setup, and returns the list too.
func (x *Exported) runs(ctx context.Context, i *index, rows []picture.Row) (options, *replaysInFile, error) {
	listed := listOptions()
	for _, extra := range []struct{ end, name string }{{"client", x.Client}, {"server", x.Server}} {
		if extra.name != "" && !slices.Contains(listed.of(extra.end), extra.name) {
			listed.Models = append(listed.Models, option{Value: extra.name, Text: extra.name, End: extra.end, Why: meaningOf(extra.name)})
		}
	}
	extra, err := closed.ParseCapacity(x.Capacity)
	if x.Capacity != "" && err != nil {
		return listed, nil, err
	}
	listed.Capacities = []string{"0", "1", "10", "unbounded"}
	for _, room := range []string{extra.C2S.String(), extra.S2C.String()} {
		if !slices.Contains(listed.Capacities, room) {
			listed.Capacities = append(listed.Capacities, room)
		}
	}
	recording, err := closed.Load(i.source.readAll(ctx))
	if err != nil {
		return listed, nil, err
	}
	recording.GoesOn(i.now())
	runs := &replaysInFile{
		Plain:  map[string]map[string]string{"client": {}, "server": {}},
		Rooms:  listed.Capacities,
		Frames: map[string]picture.Frame{},
		values: map[string]int{},
		runs:   map[string]int{},
		texts:  map[string]int{},
		rows:   rows,
	}
	if runs.told, err = i.why(ctx); err != nil {
		return listed, nil, err
	}
	runs.fits = fitsOf(recording, runs.told.Findings)
	for _, name := range listed.of("client") {
		setup, err := parseSetup(name, "", "")
		if err != nil {
			return listed, nil, err
		}
		runs.Clients = addOnce(runs.Clients, setup.Client.Unnamed().String())
		runs.Plain["client"][name] = setup.Client.Unnamed().String()
	}
	for _, name := range listed.of("server") {
		setup, err := parseSetup("", name, "")
		if err != nil {
			return listed, nil, err
		}
		runs.Servers = addOnce(runs.Servers, setup.Server.Unnamed().String())
		runs.Plain["server"][name] = setup.Server.Unnamed().String()
	}
	for _, client := range runs.Clients {
		for _, server := range runs.Servers {
			if err := runs.play(recording, client, server); err != nil {
				return listed, nil, err
			}
		}
	}
	return listed, runs, nil
}

// addOnce adds a text to a list that does not have it.
func addOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// play adds the replays of two models at every capacity.
func (x *replaysInFile) play(recording *closed.Recording, client, server string) error {
	for _, c2s := range x.Rooms {
		for _, s2c := range x.Rooms {
			setup, err := parseSetup(client, server, "c2s="+c2s+",s2c="+s2c)
			if err != nil {
				return err
			}
			run := picture.NewRun(recording, setup, func(seq uint64) picture.Frame { return frameOf(x.rows[seq-1]) })
			x.told.judge(&run)
			place, err := x.add(run)
			if err != nil {
				return err
			}
			x.Setups = append(x.Setups, place)
		}
	}
	return nil
}

// add adds a run, without what its setup says, and returns its place in List.
func (x *replaysInFile) add(run picture.Run) (place int, err error) {
	maps.Copy(x.Frames, run.Frames)
	steps, err := json.Marshal(packSteps(run.Steps))
	if err != nil {
		return 0, err
	}
	told, err := json.Marshal(x.packTold(run.Told))
	if err != nil {
		return 0, err
	}
	verdict, err := membersOf(run.Verdict)
	if err != nil {
		return 0, err
	}
	run.Frames, run.Steps, run.Told, run.Verdict = nil, nil, nil, closed.Verdict{} // they are most of it, and stand elsewhere
	members, err := membersOf(run)
	if err != nil {
		return 0, err
	}
	members["steps"] = steps
	members["told"] = told
	for name, value := range verdict {
		members["verdict."+name] = value
	}
	for _, name := range []string{"messages", "verdict", "verdict.models", "verdict.buffer", "verdict.sequence"} {
		delete(members, name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		x.Names = addOnce(x.Names, name)
	}
	row := make([]int, len(x.Names))
	for n, name := range x.Names {
		value, has := members[name]
		if !has {
			row[n] = -1
			continue
		}
		place, known := x.values[string(value)]
		if !known {
			place = len(x.Values)
			x.values[string(value)] = place
			x.Values = append(x.Values, value)
		}
		row[n] = place
	}
	key := fmt.Sprint(row)
	place, known := x.runs[key]
	if !known {
		place = len(x.List)
		x.runs[key] = place
		x.List = append(x.List, row)
	}
	return place, nil
}

// packTold returns the places of sentences in Texts.
func (x *replaysInFile) packTold(told []string) []int {
	packed := []int{}
	for _, text := range told {
		place, known := x.texts[text]
		if !known {
			place = len(x.Texts)
			x.texts[text] = place
			x.Texts = append(x.Texts, text)
		}
		packed = append(packed, place)
	}
	return packed
}

// membersOf returns the members of a value as JSON.
func membersOf(value any) (members map[string]json.RawMessage, err error) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	return members, err
}

// packSteps returns seven numbers a step, which static.js of the page unpacks: what it is (offer,
// take, ack, give, and 4 more for s2c), the frame, the frames in the transport (c2s, s2c), the line,
// and of the inner queues of the client and the server twice the size, and one more if it is stuck.
func packSteps(steps []picture.RunStep) (packed []int) {
	pack := func(queue *picture.Inner) (number int) {
		if queue == nil {
			return 0
		}
		number = 2 * queue.Size
		if queue.Stuck {
			number++
		}
		return number
	}
	for _, s := range steps {
		kind := slices.Index([]string{"offer", "take", "ack", "give"}, s.Op)
		if s.Dir == "s2c" {
			kind += 4
		}
		var inner picture.InnerPair
		if s.Inner != nil {
			inner = *s.Inner
		}
		packed = append(packed, kind, s.N, s.Queue.C2S, s.Queue.S2C, s.Tick, pack(inner.Client), pack(inner.Server))
	}
	return packed
}

// of returns the models of an end.
func (o options) of(end string) (names []string) {
	for _, m := range o.Models {
		if m.End == "" || m.End == end {
			names = append(names, m.Value)
		}
	}
	return names
}
