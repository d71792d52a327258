package standin

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

func TestParsePacer(t *testing.T) {
	for timing, want := range map[string]Pacer{
		"none":     Unpaced{},
		"recorded": Paced{Speed: 1, Max: time.Minute},
		"2x":       Paced{Speed: 2, Max: time.Minute},
		"0.5":      Paced{Speed: 0.5, Max: time.Minute},
	} {
		if got, err := ParsePacer(timing, time.Minute); err != nil || got != want {
			t.Errorf("%s: %v, %v", timing, got, err)
		}
	}
	for _, timing := range []string{"", "fast", "0", "-1x", "NaN", "Inf", "x"} {
		if got, err := ParsePacer(timing, 0); err == nil {
			t.Errorf("%q: %v", timing, got)
		}
	}
}

// FuzzPacer: a pace is understood or refused, and no wait is longer than the longest.
func FuzzPacer(f *testing.F) {
	f.Add("0.5x")
	f.Add("recorded")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePacer(text, time.Hour)
		if err != nil {
			return
		}
		if paced, ok := p.(Paced); ok && (paced.wait(time.Minute) < 0 || paced.wait(time.Minute) > time.Hour) {
			t.Errorf("%q waits %v", text, paced.wait(time.Minute))
		}
	})
}

func TestPaced(t *testing.T) {
	for _, tt := range []struct {
		pacer     Paced
		gap, want time.Duration
	}{
		{Paced{}, time.Second, time.Second},
		{Paced{Speed: 4}, time.Second, 250 * time.Millisecond},
		{Paced{Speed: 0.5, Max: time.Second}, time.Second, time.Second},
		{Paced{Speed: 1e-300, Max: time.Hour}, time.Second, time.Hour},
		{Paced{Speed: 1}, -time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			err := tt.pacer.Pace(t.Context(), tt.gap)
			if took := time.Since(start); err != nil || took != tt.want {
				t.Errorf("%+v: %v of %v, %v", tt.pacer, took, tt.gap, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Paced{}).Pace(ctx, time.Hour); err != context.Canceled {
		t.Error(err)
	}
}

// timedPlaybook is recordPlaybook with "@3s " in front of a mark: when it was.
func timedPlaybook(text string) []store.Event {
	var marks []time.Duration
	var plain strings.Builder
	for line := range strings.Lines(text) {
		at, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "@"), " ")
		if d, err := time.ParseDuration(at); ok && err == nil {
			marks = append(marks, d)
			plain.WriteString(rest)
			plain.WriteByte('\n')
		}
	}
	events := recordPlaybook(plain.String())
	for i, at := range marks {
		events[i+1].At = at
	}
	return events
}

// paced serves a session under a Pacer to a client that says each line when told, and
// returns what it read and when.
func paced(t *testing.T, pacer Pacer, recorded string, says map[time.Duration]string, end time.Duration) string {
	t.Helper()
	var b strings.Builder
	synctest.Test(t, func(t *testing.T) {
		conn, far := newWire()
		done := make(chan error, 1)
		p := NewPlayer(timedPlaybook(recorded), match.Rules{})
		go func() { done <- Serve(t.Context(), far, p, ServeOptions{Pacer: pacer}) }()
		start := time.Now()
		go func() {
			for _, at := range slices.Sorted(maps.Keys(says)) {
				time.Sleep(time.Until(start.Add(at)))
				conn.out <- transport.Frame{Bytes: []byte(says[at])}
			}
			time.Sleep(time.Until(start.Add(end)))
			conn.end()
		}()
		read := make(chan bool)
		go func() {
			defer close(read)
			for {
				f, err := conn.Read(t.Context())
				if err != nil {
					return
				}
				b.WriteString(time.Since(start).String() + " " + string(f.Bytes) + "\n")
			}
		}()
		if err := <-done; err != nil && err != io.EOF {
			t.Error(err)
		}
		close(far.out)
		<-read
	})
	return b.String()
}

const twoAtOnce = `
	@0s > {"id":1,"method":"tools/call","params":{"name":"a"}}
	@1s > {"id":2,"method":"tools/call","params":{"name":"b"}}
	@3s < {"id":2,"result":"b"}
	@4s < {"id":1,"result":"a"}
	@60s < {"method":"notifications/tools/list_changed"}
	@70s > {"id":3,"method":"tools/call","params":{"name":"c"}}
	@75s < {"id":3,"result":"c"}`

func TestServePaced(t *testing.T) {
	for _, tt := range []struct {
		name string
		says map[time.Duration]string
		want string
	}{
		{"the gap to the latest cause, in recorded order", map[time.Duration]string{
			0:               `{"id":1,"method":"tools/call","params":{"name":"a"}}`,
			4 * time.Second: `{"id":2,"method":"tools/call","params":{"name":"b"}}`,
		}, `
			6s {"id":2,"result":"b"}
			7s {"id":1,"result":"a"}
			1m3s {"method":"notifications/tools/list_changed"}`},
		{"what belongs to no call is overtaken", map[time.Duration]string{
			0:                `{"id":1,"method":"tools/call","params":{"name":"a"}}`,
			time.Second:      `{"id":2,"method":"tools/call","params":{"name":"b"}}`,
			10 * time.Second: `{"id":3,"method":"tools/call","params":{"name":"c"}}`,
		}, `
			3s {"id":2,"result":"b"}
			4s {"id":1,"result":"a"}
			10s {"method":"notifications/tools/list_changed"}
			15s {"id":3,"result":"c"}`},
		{"an error comes at once", map[time.Duration]string{
			time.Second: `{"id":1,"method":"ping"}`,
		}, `
			1s {"jsonrpc":"2.0","id":1,"result":{}}`},
	} {
		got := paced(t, Paced{}, twoAtOnce, tt.says, 100*time.Second)
		if want := strings.TrimPrefix(strings.ReplaceAll(tt.want, "\t", ""), "\n") + "\n"; got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, want)
		}
	}
}

// TestServePacedEnd holds that nothing is waited for once the client has ended.
func TestServePacedEnd(t *testing.T) {
	got := paced(t, Paced{}, twoAtOnce, map[time.Duration]string{
		0:           `{"id":1,"method":"tools/call","params":{"name":"a"}}`,
		time.Second: `{"id":2,"method":"tools/call","params":{"name":"b"}}`,
	}, 2*time.Second)
	want := `2s {"id":2,"result":"b"}
2s {"id":1,"result":"a"}
2s {"method":"notifications/tools/list_changed"}
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestServeApart holds that only a result behind a notification waits, and no longer
// than it did.
func TestServeApart(t *testing.T) {
	const recorded = `
	@0s > {"id":1,"method":"tools/call","params":{"name":"a"}}
	@1s < {"method":"notifications/progress"}
	@4s < {"method":"notifications/progress"}
	@4s < {"id":1,"result":"a"}
	@5s > {"id":2,"method":"tools/call","params":{"name":"b"}}
	@6s < {"method":"notifications/progress"}
	@6001ms < {"id":2,"result":"b"}
	@7s > {"id":3,"method":"tools/call","params":{"name":"c"}}
	@9s < {"id":3,"result":"c"}
	@10s < {"method":"notifications/tools/list_changed"}
	@11s > {"id":4,"method":"tools/call","params":{"name":"d"}}
	@12s < {"id":4,"result":"d"}`
	got := paced(t, Apart{By: 10 * time.Millisecond}, recorded, map[time.Duration]string{
		0:               `{"id":1,"method":"tools/call","params":{"name":"a"}}`,
		1 * time.Second: `{"id":2,"method":"tools/call","params":{"name":"b"}}`,
		2 * time.Second: `{"id":3,"method":"tools/call","params":{"name":"c"}}`,
		3 * time.Second: `{"id":4,"method":"tools/call","params":{"name":"d"}}`,
	}, 4*time.Second)
	want := `0s {"method":"notifications/progress"}
0s {"method":"notifications/progress"}
10ms {"id":1,"result":"a"}
1s {"method":"notifications/progress"}
1.001s {"id":2,"result":"b"}
2s {"id":3,"result":"c"}
2s {"method":"notifications/tools/list_changed"}
3s {"id":4,"result":"d"}
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
