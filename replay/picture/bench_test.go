package picture_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// long returns a session with overlapping calls, half of them with progress, and calls back
// into the client.
func long(count int) (events []store.Event) {
	random := rand.New(rand.NewPCG(7, 7))
	at := time.Duration(0)
	add := func(kind store.Kind, dir transport.Direction, text string) {
		at += time.Duration(random.ExpFloat64() * float64(300*time.Microsecond))
		events = append(events, store.Event{Seq: uint64(len(events) + 1), At: at, Kind: kind, Dir: dir, Payload: []byte(text)})
	}
	const c2s, s2c = transport.ClientToServer, transport.ServerToClient
	add(store.Opened, 0, `{"mcprec":1,"id":"01a1fee3-ffff-7e18-8ba0-5616e36c62b1","start":"2026-11-21T16:15:16Z","transport":"stdio","command":["srv"]}`)
	add(store.Frame, c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"long","version":"1"}}}`)
	add(store.Frame, s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"srv","version":"1"}}}`)
	add(store.Frame, c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	type call struct {
		id, left int
		dir      transport.Direction
	}
	var open []call
	id := 1
	for len(events) < count {
		if len(open) == 0 || random.IntN(10) < 3 && len(open) < 6 {
			id++
			if random.IntN(14) == 0 {
				add(store.Frame, s2c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"maxTokens":100,"messages":[]}}`, id))
				open = append(open, call{id, 0, s2c})
				continue
			}
			open = append(open, call{id, random.IntN(2) * random.IntN(6), c2s})
			add(store.Frame, c2s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":%[1]d},"name":"search","arguments":{"q":"text %[1]d"}}}`, id))
			continue
		}
		i := random.IntN(len(open))
		switch o := &open[i]; {
		case o.left > 0:
			add(store.Frame, s2c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d,"message":"step"}}`, o.id, 6-o.left))
			o.left--
			continue
		case o.dir == s2c:
			add(store.Frame, c2s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"done"}}}`, o.id))
		default:
			add(store.Frame, s2c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"result of %[1]d, with some text behind it so that it has a usual length"}]}}`, o.id))
		}
		open = append(open[:i], open[i+1:]...)
	}
	return events
}

// BenchmarkIndex folds a session of 100,000 events into check alone, then also into the index
// from the same steps, then also into the kept states, and into why.
func BenchmarkIndex(b *testing.B) {
	events := long(100_000)
	for parts, name := range []string{"check", "check,index", "check,index,states", "check,index,states,why"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				judge := check.New(check.Gate{}, func(check.Finding) {})
				index := picture.NewIndex()
				now := picture.NewPoint()
				var states picture.States
				var waits why.Fold
				for step, err := range now.Model.Steps(jsonl.Each(events)) {
					err = errors.Join(err, judge.Take(step))
					if parts > 0 {
						err = errors.Join(err, index.Take(step))
					}
					if parts > 1 {
						err = errors.Join(err, now.State.Take(step))
						states.Add(now)
					}
					if parts > 2 {
						err = errors.Join(err, waits.Take(step))
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkRange makes 256 rows in the middle of a session of a million events.
func BenchmarkRange(b *testing.B) {
	events := long(1_000_000)
	index := picture.NewIndex()
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), index); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rowsFrom(b, index, events, 700_001, 256)
		index.Calls(700_001, 700_256)
		index.Overview(800)
	}
}
