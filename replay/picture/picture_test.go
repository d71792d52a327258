package picture_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

var update = replaytest.Update

// read reads the events of a session's text.
func read(t testing.TB, path string) []store.Event {
	t.Helper()
	events, err := jsonl.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// fold returns the index and the rows of a whole session.
func fold(t testing.TB, events []store.Event) (*picture.Index, []picture.Row) {
	t.Helper()
	index := picture.NewIndex()
	rows := []picture.Row{}
	transcript := timeline.NewTranscript(func(entry timeline.Entry) error {
		rows = append(rows, picture.RowOf(entry))
		return nil
	})
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), index, transcript); err != nil {
		t.Fatal(err)
	}
	return index, rows
}

// rowsFrom returns the rows of a range, made of as few events as the range wants.
func rowsFrom(t testing.TB, index *picture.Index, events []store.Event, from uint64, count int) []picture.Row {
	t.Helper()
	r := index.Range(from, count)
	for _, seq := range r.Wants() {
		if err := r.Apply(events[seq-1]); err != nil {
			t.Fatal(err)
		}
	}
	first, last := r.Events()
	for seq := first; seq <= last; seq++ {
		if err := r.Apply(events[seq-1]); err != nil {
			t.Fatal(err)
		}
	}
	return r.Rows()
}

// checkAnyStart holds that rows from any event are those of the whole fold, and that the
// calls and the overview agree with them.
func checkAnyStart(t *testing.T, events []store.Event) {
	t.Helper()
	index, rows := fold(t, events)
	for from := range events {
		for _, count := range []int{1, 3, len(events)} {
			want := rows[from:min(len(rows), from+count)]
			if got := rowsFrom(t, index, events, uint64(from+1), count); !reflect.DeepEqual(got, want) {
				t.Fatalf("%d rows from %d:\n%+v\nwant\n%+v", count, from+1, got, want)
			}
		}
	}
	all := index.Calls(1, index.Len())
	for from := range uint64(len(events)) {
		var want []picture.Call
		for _, c := range all {
			if c.Request <= from+3 && (c.End == 0 || c.End >= from+1) {
				c.Late = nil
				want = append(want, c)
			}
		}
		var got []picture.Call
		for _, c := range index.Calls(from+1, from+3) {
			c.Late = nil
			got = append(got, c)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("calls over %d: %+v, want %+v", from+1, got, want)
		}
	}
	checkEndings(t, index, events)
	o := index.Overview(len(events))
	for i, row := range rows {
		isFrame := events[i].Kind == store.Frame
		if o.Fault[i] == 1 != (row.Tone == "fault") || o.C2S[i] == 1 != (isFrame && row.Dir == "c2s") || o.S2C[i] == 1 != (isFrame && row.Dir == "s2c") {
			t.Errorf("overview of %+v: %d c2s, %d s2c, %d faults", row, o.C2S[i], o.S2C[i], o.Fault[i])
		}
		if row.Call != index.Request(row.Seq) && row.Kind != "batch" {
			t.Errorf("%+v belongs to request %d", row, index.Request(row.Seq))
		}
		if at := strings.IndexFunc(row.Label+row.Kind, func(r rune) bool { return !unicode.IsGraphic(r) }); at >= 0 {
			t.Errorf("%q has what nobody sees", row.Label)
		}
	}
}

// checkEndings holds that an index knows the ends of the calls as a reading of the log ahead does.
func checkEndings(t *testing.T, index *picture.Index, events []store.Event) {
	t.Helper()
	ahead := timeline.NewEndings()
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), ahead); err != nil {
		t.Fatal(err)
	}
	foreseen := func(endings *timeline.Endings) (calls []string) {
		transcript := timeline.NewTranscript(func(entry timeline.Entry) error {
			for _, m := range entry.Messages {
				if m.Call != nil {
					call := *m.Call
					call.Scope, call.Exchange = nil, nil // pointers, of another model each
					calls = append(calls, fmt.Sprintf("#%d %+v", entry.Seq, call))
				}
			}
			return nil
		})
		transcript.Foresee(endings)
		if err := timeline.Project(timeline.Steps(jsonl.Each(events)), transcript); err != nil {
			t.Fatal(err)
		}
		return calls
	}
	got := foreseen(index.Endings())
	want := foreseen(ahead)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the calls end so:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnyStart: rows from any event of a session are those of the whole session.
func TestAnyStart(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkAnyStart(t, read(t, path)) })
	}
	t.Run("odd", func(t *testing.T) { checkAnyStart(t, lines(odd)) })
}

// TestAnyStartRandom is TestAnyStart of sessions of few ids, where calls overlap, answers come
// twice or late, in batches, and over HTTP.
func TestAnyStartRandom(t *testing.T) {
	texts := []string{
		`{"id":%d,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":%[1]d}}}`, `{"id":%d,"method":"ping"}`,
		`{"id":%d,"result":{}}`, `{"id":%d,"result":{"isError":true}}`, `{"id":%d,"error":{"code":1,"message":"no"}}`,
		`{"method":"notifications/progress","params":{"progressToken":%d}}`, `{"method":"notifications/cancelled","params":{"requestId":%d}}`,
	}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		var events []store.Event
		for range 60 {
			e := store.Event{
				Seq: uint64(len(events) + 1), At: time.Duration(random.IntN(1e9)), Kind: store.Frame,
				Dir: transport.Direction(1 + random.IntN(2)), Stream: uint64(random.IntN(3)),
			}
			var messages []string
			for range 1 + random.IntN(2)*random.IntN(3) {
				messages = append(messages, fmt.Sprintf(texts[random.IntN(len(texts))], random.IntN(4)))
			}
			e.Payload = []byte(messages[0])
			if len(messages) > 1 {
				e.Payload = []byte("[" + strings.Join(messages, ",") + "]")
			}
			if e.Stream > 0 && random.IntN(5) == 0 {
				e.Kind = store.HTTP
				e.Payload = []byte([]string{`{"what":"response","status":404}`, `{"what":"end"}`, `{"what":"request"}`}[random.IntN(3)])
			}
			events = append(events, e)
		}
		if checkAnyStart(t, events); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// lines reads lines of a kind, or > or < and a number of an HTTP exchange, and a payload.
func lines(text string) (list []store.Event) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		kind, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := store.Event{Kind: store.Kind(kind), Payload: []byte(payload)}
		if kind[0] == '>' || kind[0] == '<' {
			e.Kind, e.Dir = store.Frame, transport.ClientToServer
			if kind[0] == '<' {
				e.Dir = transport.ServerToClient
			}
			_, _ = fmt.Sscan(kind[1:], &e.Stream) // no number is 0
		}
		if strings.HasPrefix(kind, "http") {
			e.Kind, e.Dir = store.HTTP, transport.ClientToServer
			_, _ = fmt.Sscan(kind[4:], &e.Stream)
		}
		e.Seq, e.At = uint64(len(list)+1), time.Duration(len(list))*10*time.Millisecond
		list = append(list, e)
	}
	return list
}

// odd is a session of all that a row can be about.
const odd = `
	opened {"mcprec":1,"id":"019a0000-0000-7000-8000-000000000000","transport":"stdio","label":"odd","command":["srv"]}
	> {"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"a"}}}
	> {"id":2,"method":"tools/call","params":{"name":"\u202eevil\u200b\u0007<b>"}}
	< {"method":"notifications/progress","params":{"progressToken":"a","progress":1}}
	< {"id":9,"method":"sampling/createMessage"}
	stderr a [31mwarning
	> {"id":9,"result":{}}
	< {"id":2,"result":{"isError":true,"content":[]}}
	> {"method":"notifications/cancelled","params":{"requestId":1}}
	< {"id":1,"result":{}}
	< {"method":"notifications/progress","params":{"progressToken":"a","progress":2}}
	< {"id":1,"result":{}}
	> {"method":"notifications/cancelled","params":{"requestId":1}}
	< {"id":77,"result":{}}
	< starting up
	> [{"id":3,"method":"ping"},{"method":"x"},{"id":4,"method":"tools/call","params":{"name":"four"}},7]
	> []
	< {"id":4,"result":{"isError":true}}
	< [{"id":3,"result":{}},{"id":3,"result":{}},{"id":88,"result":{}}]
	> [{"id":5,"method":"ping"}]
	< [{"id":5,"error":{"code":-1,"message":"no\u001b"}}]
	lost {"frames":3,"bytes":120,"reason":"disk full"}
	http3 {"what":"request","method":"POST","path":"/mcp"}
	>3 {"id":6,"method":"tools/call","params":{"name":"web"}}
	http3 {"what":"response","status":404}
	<3 {"id":6,"error":{"code":-32000,"message":"gone"}}
	http3 {"what":"end"}
	> {"id":7,"method":"a"}
	> {"id":7,"method":"b"}
	< {"id":7,"result":{}}
	< {"id":7,"result":{}}
	> {"id":8,"method":"never"}
	un\u202eknown x
	closed {"frames":26,"lost":3}`

func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(got)+"\n" != string(want) {
		t.Errorf("%s: %v; -update rewrites it\n%s", path, err, got)
	}
}

// TestPicture: the rows, calls and overview of a few sessions, as the page gets them.
func TestPicture(t *testing.T) {
	for name, events := range map[string][]store.Event{
		"odd": lines(odd), "seed": read(t, "../../fixtures/seed.jsonl"), "late": read(t, "../../fixtures/mcpgo-late-progress.jsonl"),
	} {
		index, rows := fold(t, events)
		index.Mark(3)
		index.Mark(3)
		index.Mark(0)
		index.Mark(index.Len() + 1)
		if index.Marked() != 1 {
			t.Errorf("%d events are marked", index.Marked())
		}
		golden(t, name+".json", map[string]any{
			"rows": rows, "calls": index.Calls(1, index.Len()), "overview": index.Overview(5), "rails": index.Rails(),
		})
	}
}

// TestStates: the state at each event is near, however long the session, and later events
// leave it alone.
func TestStates(t *testing.T) {
	var states picture.States
	now := picture.NewPoint()
	if got := states.Nearest(7).State.Seq(); got != 0 {
		t.Errorf("of nothing the nearest state is that of %d", got)
	}
	const events = 3_000
	for seq := uint64(1); seq <= events; seq++ {
		e := store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"method":"notifications/message"}`)}
		if err := now.State.Take(now.Model.Take(e)); err != nil {
			t.Fatal(err)
		}
		states.Add(now)
		if nearest := states.Nearest(seq).State.Seq(); nearest > seq || seq-nearest > max(seq/64, 1) {
			t.Fatalf("nearest to %d is %d", seq, nearest)
		}
	}
	for _, seq := range []uint64{1, 99, 100, 1500, events} {
		nearest := states.Nearest(seq).State
		if nearest.Seq() > seq || seq-nearest.Seq() > events/64 || nearest.View(0).Frames.S2C != nearest.Seq() {
			t.Errorf("nearest to %d is %d, with %d messages", seq, nearest.Seq(), nearest.View(0).Frames.S2C)
		}
	}
}

// TestStatesOfManyCalls: the more calls are open, the fewer states are kept, and never none.
func TestStatesOfManyCalls(t *testing.T) {
	var states picture.States
	now := picture.NewPoint()
	for seq := uint64(1); seq <= 20_000; seq++ {
		text := fmt.Appendf(nil, `{"id":%d,"method":"a"}`, seq)
		if err := now.State.Take(now.Model.Take(store.Event{Seq: seq, Kind: store.Frame, Dir: transport.ClientToServer, Payload: text})); err != nil {
			t.Fatal(err)
		}
		states.Add(now)
	}
	open := 0
	last := uint64(0)
	for seq := uint64(500); seq <= 20_000; seq += 500 {
		if nearest := states.Nearest(seq).State; nearest.Seq() != last {
			last = nearest.Seq()
			open += nearest.Open()
		}
	}
	if open > 100_000 || last < 15_000 {
		t.Errorf("%d calls are kept in states, the last of #%d", open, last)
	}
}

// TestIndexRefuses: an event out of order and an unfinished one are errors, and change nothing.
func TestIndexRefuses(t *testing.T) {
	index := picture.NewIndex()
	for _, e := range []store.Event{{Seq: 0}, {Seq: 2}, {Seq: 1, Open: true, Kind: store.Frame}} {
		if err := index.Take(timeline.Step{Event: e}); err == nil || index.Len() != 0 {
			t.Errorf("%+v: %v, %d events", e, err, index.Len())
		}
	}
	r := picture.NewIndex().Range(1, 10)
	if err := r.Apply(store.Event{Seq: 1}); err == nil {
		t.Error("an event outside the range has a row")
	}
}

// TestManyCalls: the calls over an event are found among many, and calls beyond the columns
// share one.
func TestManyCalls(t *testing.T) {
	var events []store.Event
	add := func(dir transport.Direction, text string) {
		seq := uint64(len(events) + 1)
		events = append(events, store.Event{Seq: seq, At: time.Duration(seq) * time.Microsecond, Kind: store.Frame, Dir: dir, Payload: []byte(text)})
	}
	const calls = 1000
	for id := range calls {
		add(transport.ClientToServer, fmt.Sprintf(`{"id":%d,"method":"ping"}`, id))
		if id >= 100 && id%7 != 0 {
			add(transport.ServerToClient, fmt.Sprintf(`{"id":%d,"result":{}}`, id-100))
		}
	}
	index, rows := fold(t, events)
	all := index.Calls(1, index.Len())
	if len(all) != calls || index.Rails().Client != 65 || index.Rails().Server != 0 {
		t.Errorf("%d calls, rails %+v", len(all), index.Rails())
	}
	for from := uint64(1); from <= index.Len(); from += 97 {
		want := []picture.Call{}
		for _, c := range all {
			if c.Request <= from+9 && (c.End == 0 || c.End >= from) {
				want = append(want, c)
			}
		}
		if got := index.Calls(from, from+9); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d calls over %d, want %d", len(got), from, len(want))
		}
		got := rowsFrom(t, index, events, from, 10)
		if want := rows[from-1 : min(int(from)+9, len(rows))]; !reflect.DeepEqual(got, want) {
			t.Fatalf("rows from %d: %+v, want %+v", from, got, want)
		}
	}
}

// TestRefusedAnswer: an answer that HTTP refuses ends no call.
func TestRefusedAnswer(t *testing.T) {
	var events []store.Event
	for e, err := range jsonl.Decode(strings.NewReader(replaytest.RefusedAnswer)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	for last, want := range map[int]string{
		7:  "open #3 0, answered #5 7",
		8:  "open #3 0, open #5 0",
		13: "answered #3 13, answered #5 11",
	} {
		index, _ := fold(t, events[:last])
		var got []string
		for _, c := range index.Calls(1, uint64(last)) {
			got = append(got, fmt.Sprintf("%s #%d %d", c.How, c.Request, c.End))
		}
		if said := strings.Join(got, ", "); said != want {
			t.Errorf("after #%d: %s, want %s", last, said, want)
		}
	}
}
