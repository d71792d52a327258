package hang

import (
	"fmt"
	"strings"
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
		"the reader's":                    {false, nil, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 9},
		"of one that it started":          {false, nil, stacks.Dump{reader, stack("8 [running", "5"), stack("9 [select (durable)", "8")}, 9},
		"there before":                    {false, nil, stacks.Dump{reader, stack("6 [select (durable)", "5")}, 0},
		"of somebody else":                {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "6")}, 0},
		"of one that has ended":           {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "8")}, 9},
		"of which two may be":             {true, nil, stacks.Dump{reader, stack("9 [select (durable)", "8"), stack("10 [select (durable)", "8")}, 0},
		"of which side is not known":      {false, nil, stacks.Dump{reader, stack("9 [select (durable)", "8")}, 0},
		"started at the next message":     {false, map[int]bool{5: true}, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 0},
		"started before the next message": {false, map[int]bool{5: true, 9: true}, stacks.Dump{reader, stack("9 [select (durable)", "5")}, 9},
		"of another bubble":               {true, nil, stacks.Dump{reader, stacks.Parse("goroutine 9 [select (durable), synctest bubble 4]:\na.b()\n\tx/y.go:1\ncreated by a.c in goroutine 8\n\tx/y.go:2")}, 0},
		"untraced":                        {true, nil, nil, 0},
	} {
		c := &gate.Call{Request: &gate.Flight{}}
		p := &pickup{reader: gate.Lineage{ID: 5, Parent: 1}, before: map[int]bool{1: true, 5: true, 6: true}, next: test.until}
		d := diagnosis{all: test.all, alone: test.alone, Scene: Scene{Tracer: &Tracer{pickups: map[*gate.Flight]*pickup{c.Request: p}}}}
		if got := d.worker(c); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// Who wrote a request is asked first whether it got the response, then the
// operation that it wrote it for.
func TestWentOn(t *testing.T) {
	stack := func(id int, functions ...string) stacks.Goroutine {
		text := fmt.Sprintf("goroutine %d [select]:", id)
		for _, f := range functions { // such as a.b:12
			name, line, _ := strings.Cut(f, ":")
			text += "\n" + name + "()\n\tx/y.go:" + line
		}
		return stacks.Parse(text)
	}
	const write = "github.com/mcprec/mcprec/replay/explore/gate.(*End).Write:9"
	wrote := []string{write, "a.send:3", "a.call:1", "a.main:7"}
	waits := []string{"a.call:2", "a.main:7"}
	for name, test := range map[string]struct {
		writer    int
		wrote     []string
		then, now stacks.Dump
		want      bool
	}{
		"still there":                   {1, wrote, stacks.Dump{stack(1, waits...)}, stacks.Dump{stack(1, waits...)}, false},
		"somewhere else":                {1, wrote, stacks.Dump{stack(1, waits...)}, stacks.Dump{stack(1, "a.main:8")}, true},
		"early, and now there":          {1, wrote, stacks.Dump{stack(1, wrote...)}, stacks.Dump{stack(1, waits...)}, false},
		"early, and now somewhere else": {1, wrote, stacks.Dump{stack(1, wrote...)}, stacks.Dump{stack(1, "a.main:8")}, true},
		"early, and cannot be told":     {1, []string{write, "a.main:7"}, stacks.Dump{stack(1, write, "a.main:7")}, stacks.Dump{stack(1, "a.main:8")}, false},
		"a worker that still waits":     {2, wrote, stacks.Dump{stack(1, "a.op:1"), stack(2, waits...)}, stacks.Dump{stack(1, "a.op:2"), stack(2, waits...)}, false},
		"a worker that is done":         {2, wrote, stacks.Dump{stack(1, "a.op:1"), stack(2, waits...)}, stacks.Dump{stack(1, "a.op:1")}, true},
		"a loop that writes":            {2, []string{write, "a.loop:1"}, stacks.Dump{stack(1, "a.op:1"), stack(2, "a.loop:2")}, stacks.Dump{stack(1, "a.op:2"), stack(2, "a.loop:2")}, true},
		"a loop, and still there":       {2, []string{write, "a.loop:1"}, stacks.Dump{stack(1, "a.op:1"), stack(2, "a.loop:2")}, stacks.Dump{stack(1, "a.op:1"), stack(2, "a.loop:2")}, false},
		"who wrote it had ended":        {2, wrote, stacks.Dump{stack(1, "a.op:1")}, stacks.Dump{stack(1, "a.op:2")}, true},
	} {
		op := &Operation{Goroutine: 1}
		c := &gate.Call{Request: &gate.Flight{Writer: gate.Lineage{ID: test.writer}, Wrote: stack(test.writer, test.wrote...).Calls()}}
		d := diagnosis{all: test.now, Scene: Scene{Tracer: &Tracer{stances: map[*gate.Call]*stance{c: stanceIn(test.then, c, 1)}}}}
		if got := d.wentOn(op, c); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
