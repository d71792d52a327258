package explore

import (
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// Who took up a request is told by who started whom, and when.
func TestWorker(t *testing.T) {
	stack := func(head, by string) stacks.Goroutine {
		return stacks.Parse("goroutine " + head + ", synctest bubble 3]:\na.b()\n\tx/y.go:1\ncreated by a.c in goroutine " + by + "\n\tx/y.go:2")
	}
	reader := stack("5 [select (durable)", "1")
	for name, test := range map[string]struct {
		alone bool
		until map[int]bool
		all   stacks.Dump
		want  int
	}{
		"the reader's":                  {false, nil, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 9},
		"of one that it started":        {false, nil, stacks.Dump{reader, stack("8 [running", "5"), stack("9 [select (durable)", "8")}, 9},
		"there before":                  {false, nil, stacks.Dump{reader, stack("6 [select (durable)", "5")}, 0},
		"of somebody else":              {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "6")}, 0},
		"of one that has ended":         {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "8")}, 9},
		"of which two may be":           {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "8"), stack("10 [select (durable)", "8")}, 0},
		"of which end is not known":     {false, nil, stacks.Dump{reader, stack("9 [select (durable)", "8")}, 0},
		"started at the next frame":     {false, map[int]bool{5: true}, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 0},
		"started before the next frame": {false, map[int]bool{5: true, 9: true}, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 9},
		"of another bubble":             {true, nil, stacks.Dump{reader, stacks.Parse("goroutine 9 [select (durable), synctest bubble 4]:\na.b()\n\tx/y.go:1\ncreated by a.c in goroutine 8\n\tx/y.go:2")}, 0},
		"untraced":                      {true, nil, nil, 0},
	} {
		c := &gate.Call{Request: &gate.Flight{}}
		p := &pickup{reader: gate.Lineage{ID: 5, Parent: 1}, before: map[int]bool{1: true, 5: true, 6: true}, next: test.until}
		d := diagnosis{all: test.all, alone: test.alone, trace: &tracer{pickups: map[*gate.Flight]*pickup{c.Request: p}}}
		if got := d.worker(c); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
