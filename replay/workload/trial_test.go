package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// railway is a server of trains, which says in plain words what is wrong with a call.
type railway map[string]string

var neighbours = map[string][]string{"Mill Lane": {"Port Road", "Stone Pit"}, "Port Road": {"Mill Lane"}, "Stone Pit": {"Mill Lane"}}

func (r railway) call(tool string, arguments map[string]any) (says string, isFailed bool) {
	train, _ := arguments["train"].(string)
	from, _ := arguments["from"].(string)
	to, _ := arguments["to"].(string)
	switch {
	case tool == "list":
		return "2K14 at Port Road\n6M02 at Stone Pit", false
	case tool == "add":
		isThere := r["added"] != ""
		r["added"] = "yes"
		return "added, or there already", isThere
	case tool == "store":
		return "that is a folder, or stored", arguments["path"] == FolderMark
	case tool == "seat":
		return "taken, or not there", fmt.Sprint(arguments["number"]) != "42"
	case tool == "seats":
		return "free: 17, 42", false
	case tool == "swap":
		return "swapped, or no change", from == to
	case neighbours[to] == nil:
		return fmt.Sprintf("no such place: %q", to), true
	case tool == "route" && neighbours[from] == nil:
		return fmt.Sprintf("no such place to start: %q", from), true
	case tool == "route":
		return from + " > Mill Lane > " + to, false
	case r[train] == "":
		return fmt.Sprintf("no train %q", train), true
	case !slices.Contains(neighbours[r[train]], to):
		return fmt.Sprintf("%s is not next to %s", to, r[train]), true
	}
	return "moved", false
}

// TestTrial: the arguments are found that a server takes, from what it names in answers and in errors.
func TestTrial(t *testing.T) {
	const place = `{"type":"string"}`
	offer := Offer{Tools: []OfferedTool{
		{Name: "list", IsReadOnly: true},
		{Name: "move", Schema: json.RawMessage(`{"type":"object","properties":{"train":` + place + `,"to":` + place + `},"required":["train","to"]}`)},
		{Name: "route", IsReadOnly: true, Schema: json.RawMessage(`{"type":"object","properties":{"from":` + place + `,"to":` + place + `},"required":["from","to"]}`)},
		{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"team":{"type":"string"},"captain":{"type":"string"}},"required":["team","captain"]}`)},
		{Name: "seat", Schema: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}`)},
		{Name: "seats", IsReadOnly: true},
		{Name: "store", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "swap", Schema: json.RawMessage(`{"type":"object","properties":{"from":{"enum":["A","B"]},"to":{"enum":["A","B"]}},"required":["from","to"]}`)},
	}}
	wishes := Wishes{AllTools: true}
	server := railway{"2K14": "Port Road", "6M02": "Stone Pit"}
	answers := func(request transport.Frame) transport.Frame {
		m := timeline.MessagesOf(request)[0]
		var params struct {
			Name      string
			Arguments map[string]any
		}
		_ = json.Unmarshal(m.Params, &params) // what cannot be read is not there
		says, isFailed := server.call(params.Name, params.Arguments)
		return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}],"isError":%t}}`, m.ID, says, isFailed)}
	}
	var events []store.Event
	add := func(dir transport.Direction, frame transport.Frame) {
		events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: frame.Bytes})
	}
	for id, item := range Choose(offer, wishes).Items {
		request := message(`"id":%d,"method":%q`, item.Params, id, item.Method)
		add(transport.ClientToServer, request)
		if item.Method == mcp.MethodCallTool {
			add(transport.ServerToClient, answers(request))
		}
	}
	wishes.Seen = See(events)
	trial := NewTrial(offer, wishes)
	if got := strings.Join(trial.Tools(), " "); got != "route move add seat store swap" {
		t.Errorf("it tries %s", got)
	}
	trial.hasChosen = true
	delete(server, "added") // it is another process
	calls := 0
	for frames := trial.follow(trial.proceed()); len(frames) > 0; calls++ {
		frames = trial.Receive(answers(frames[0]))
	}
	wishes.Seen = trial.Close()
	if calls > 80 {
		t.Errorf("it makes %d calls", calls)
	}
	said := map[bool][]string{}
	for _, item := range Choose(offer, wishes).Items {
		if item.Method == mcp.MethodCallTool && item.How == Alone && !item.Again {
			said[item.HasProgress] = append(said[item.HasProgress], item.words())
		}
	}
	want := "tools/call list {}\ntools/call move {\"to\":\"Mill Lane\",\"train\":\"2K14\"}\ntools/call move {\"to\":\"Port Road\",\"train\":\"2K14\"}\ntools/call route {\"from\":\"Stone Pit\",\"to\":\"Port Road\"}\n" +
		"tools/call add {\"captain\":\"a\",\"team\":\"a\"}\n" +
		"tools/call seat {\"number\":42}\ntools/call seats {}\ntools/call store {\"path\":\"%DIR/a.txt\"}\n" +
		"tools/call swap {\"from\":\"A\",\"to\":\"B\"}"
	if got := strings.Join(said[false], "\n"); got != want {
		t.Errorf("the calls are\n%s\nwant\n%s", got, want)
	}
	for _, call := range said[true] {
		if strings.Contains(call, moreWords) {
			t.Errorf("%s, of which nothing is there", call)
		}
	}
}

// TestTrialEnds: a trial ends with the session, and when a server takes nothing.
func TestTrialEnds(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"integer"},"d":{"type":"boolean"}},"required":["a","b","c","d"]}`)
	offer := Offer{Tools: []OfferedTool{{Name: "open", Schema: schema}, {Name: "shut", Schema: schema}}}
	things := []any{}
	for n := range 30 {
		things = append(things, fmt.Sprintf("T%d", n))
	}
	for _, isCut := range []bool{false, true} {
		seen := Seen{takes: map[string]time.Duration{"shut": 2 * time.Second}, failures: map[string]int{"open": 1, "shut": 1}, members: map[string][]any{"c": {json.Number("7")}}, names: map[string]bool{}, works: map[string]json.RawMessage{}, things: things}
		trial := NewTrial(offer, Wishes{AllTools: true, Seen: seen})
		calls := 0
		for item := trial.proceed(); len(item.Items) > 0 && !(isCut && calls == 3); calls++ {
			trial.last = outcome{true, "no"}
			item = trial.proceed()
		}
		if seen := trial.Close(); len(seen.works) > 0 || !isCut && (calls < 20 || calls > mostOfTool+5) {
			t.Errorf("%d calls, and %s works", calls, seen.works)
		}
	}
}

// TestThings: what a text names is found in it, and what an error offers.
func TestThings(t *testing.T) {
	for text, want := range map[string]string{
		"2K14 at Port Road\n6M02 at Stone Pit":        `["2K14","Port Road","6M02","Stone Pit"]`,
		"1. Chika Mori 1910\n2. Dov Lerner 1590":      `["Chika Mori","1910","Dov Lerner","1590"]`,
		"kale-nero: Kale 'Nero', 4 left":              `["Nero","kale-nero","Kale","4","4 left"]`,
		"- blue\n- dark green":                        `["blue","dark green"]`,
		"what is quite a long line of words in a row": `null`,
	} {
		things := thingsIn(text)
		isOther := func(thing any) bool { return !strings.Contains(want, fmt.Sprintf("%q", thing)) }
		if got, _ := json.Marshal(slices.DeleteFunc(things, isOther)); string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for says, want := range map[string]string{
		`Unknown line "a". Known: red, green or blue.`: `["a","red","green","blue"]`,
		`no such place: "a"`:                           `["a"]`,
		`Not there`:                                    `null`,
	} {
		if got, _ := json.Marshal(offeredIn(says)); string(got) != want {
			t.Errorf("%s: %s, want %s", says, got, want)
		}
	}
}
