package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/replay/why"
)

// TestOneTruth: the commands agree about each session: which calls are open, and which were cancelled by what.
// Free ends hang in no order, because they wait for nothing: what explore says hangs is what why says hung.
func TestOneTruth(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"testdata/truth/*.jsonl", "../../fixtures/*.jsonl", "../../replay/standin/testdata/http/*.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			shown, wantCancelled := callsOfShow(t, path)
			state := callsOfState(t, path)
			for request, cancelled := range state {
				if by, isOpen := shown[request]; !isOpen || by != cancelled {
					t.Errorf("state has the call of #%d open, cancelled by #%d; show: open %t, cancelled by #%d", request, cancelled, isOpen, by)
				}
			}
			findings := findingsOfWhy(t, path)
			if out, _, code := inProcess(t, nil, "explore", "--vary", "sending", "--orders", "3", path); code == 1 && len(findings) == 0 {
				t.Errorf("explore says that it hangs, and why that nothing is stuck:\n%s", out)
			}
			for _, f := range findings {
				for _, request := range f.Calls {
					if _, isOpen := shown[request]; !isOpen && f.Shape != why.NoNewline && f.Shape != why.OtherFraming && f.Shape != why.LateAnswer {
						t.Errorf("why says that #%d is stuck (%s), and show that it is answered", request, f.Shape)
					}
				}
			}
			wantOpen := 0
			for _, by := range shown {
				if by == 0 {
					wantOpen++
				}
			}
			if open, cancelled := countsOfCheck(t, path); open != wantOpen || cancelled != wantCancelled {
				t.Errorf("check counts %d open and %d cancelled calls, show has %d and %d", open, cancelled, wantOpen, wantCancelled)
			}
		})
	}
}

// inJSON runs a command on a file, and reads what it prints, a value a line.
func inJSON[T any](t *testing.T, command, path string) (list []T) {
	t.Helper()
	out, errs, code := inProcess(t, nil, command, "--format", "json", path)
	if code > 1 {
		t.Fatalf("%s: exit %d\n%s", command, code, errs)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var value T
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		list = append(list, value)
	}
	return list
}

// callsOfShow returns the requests without an answer, by their events, and what cancelled each. Of all
// requests it counts those that were cancelled while they were open.
func callsOfShow(t *testing.T, path string) (open map[uint64]uint64, cancelled int) {
	type entry struct {
		Seq       uint64
		Refused   []uint64
		Cancelled []uint64
		Undone    []uint64
		Messages  []struct {
			Kind, Method string
			Request      uint64
		}
	}
	open = map[uint64]uint64{}
	before := map[uint64]uint64{} // the cancellation before the latest
	for _, e := range inJSON[entry](t, "show", path) {
		for _, m := range e.Messages {
			by, isOpen := open[m.Request]
			switch {
			case m.Kind == "request":
				open[e.Seq] = 0
			case m.Kind == "response":
				before[m.Request] = by
				delete(open, m.Request)
			case isOpen:
				if by == 0 {
					cancelled++
				}
				before[m.Request] = by
				open[m.Request] = e.Seq
			}
		}
		for _, request := range e.Refused {
			delete(open, request)
		}
		for _, request := range e.Cancelled {
			if open[request] == 0 {
				cancelled++
			}
			open[request] = e.Seq
		}
		for _, request := range e.Undone {
			if open[request] != 0 && before[request] == 0 {
				cancelled--
			}
			open[request] = before[request]
		}
	}
	return open, cancelled
}

func callsOfState(t *testing.T, path string) map[uint64]uint64 {
	type state struct {
		Calls []struct{ Request, Cancelled uint64 }
	}
	calls := map[uint64]uint64{}
	for _, c := range inJSON[state](t, "state", path)[0].Calls {
		calls[c.Request] = c.Cancelled
	}
	return calls
}

func findingsOfWhy(t *testing.T, path string) []why.Finding {
	type answer struct{ Findings []why.Finding }
	return inJSON[answer](t, "why", path)[0].Findings
}

func countsOfCheck(t *testing.T, path string) (open, cancelled int) {
	type line struct {
		Summary *struct {
			Calls []struct{ Open, Cancelled int }
		}
	}
	for _, l := range inJSON[line](t, "check", path) {
		if l.Summary != nil {
			for _, c := range l.Summary.Calls {
				open += c.Open
				cancelled += c.Cancelled
			}
		}
	}
	return open, cancelled
}
