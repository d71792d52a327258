package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name, frame string
		kinds       []MessageKind
		id, method  string
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []MessageKind{Request}, "1", "ping"},
		{"big id", `{"id":9007199254740993,"method":"x"}`, []MessageKind{Request}, "9007199254740993", "x"},
		{"id spelled 1e2", ` {"id": 1e2 ,"method":"x"} `, []MessageKind{Request}, "1e2", "x"},
		{"string id", `{"id":"a\u00e9","result":{}}`, []MessageKind{Response}, `"a\u00e9"`, ""},
		{"null id error", `{"id":null,"error":{"code":-32700}}`, []MessageKind{Response}, "null", ""},
		{"error without id", `{"error":{"code":-32700}}`, []MessageKind{Response}, "", ""},
		{"the error of a login", `{"error":"invalid_token","error_description":"expired"}`, []MessageKind{Invalid}, "", ""},
		{"an error of null", `{"id":1,"error":null}`, []MessageKind{Invalid}, "1", ""},
		{"a result beside an error of null", `{"id":1,"result":{},"error":null}`, []MessageKind{Response}, "1", ""},
		{"a result without id", `{"result":{}}`, []MessageKind{Invalid}, "", ""},
		{"an id alone", `{"id":1}`, []MessageKind{Invalid}, "1", ""},
		{"an error with an id", `{"id":1,"error":{}}`, []MessageKind{Response}, "1", ""},
		{"notification", `{"method":"notifications/initialized"}`, []MessageKind{Notification}, "", "notifications/initialized"},
		{"duplicate key: the last", `{"id":1,"id":2,"method":"a","method":"b"}`, []MessageKind{Request}, "2", "b"},
		{"duplicate key, escaped", `{"id":1,"\u0069d":2,"m\u0065thod":"a","\u006dethod":"b"}`, []MessageKind{Request}, "2", "b"},
		{"duplicate key behind an escaped one", `{"\u0069d":1,"id":[2,{"id":3}],"m\u0065thod":"a","method":"\u0062"}`, []MessageKind{Request}, `[2,{"id":3}]`, "b"},
		{"the last method is no text", `{"id":1,"method":"a","method":3,"result":{}}`, []MessageKind{Response}, "1", ""},
		{"keys are case-sensitive", `{"ID":1,"Method":"x"}`, []MessageKind{Invalid}, "", ""},
		{"batch", `[{"id":1,"method":"a"},{"method":"b"},3]`, []MessageKind{Request, Notification, Invalid}, "1", "a"},
		{"CR kept outside", "{\"id\":1,\"method\":\"x\"}\r", []MessageKind{Request}, "1", "x"},
		{"bare value", `42`, []MessageKind{Invalid}, "", ""},
		{"invalid UTF-8", "{\"id\":1,\"method\":\"x\",\"params\":\"\xff\"}", []MessageKind{Request}, "1", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Frame{Bytes: []byte(tt.frame)}.Messages()
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(tt.kinds) {
				t.Fatalf("%d messages, want %d", len(got), len(tt.kinds))
			}
			for i, k := range tt.kinds {
				if got[i].Kind() != k {
					t.Errorf("message %d is a %v, want %v", i, got[i].Kind(), k)
				}
			}
			if string(got[0].ID) != tt.id || got[0].Method != tt.method {
				t.Errorf("id %s method %q, want %s %q", got[0].ID, got[0].Method, tt.id, tt.method)
			}
		})
	}
}

func TestMessagesNotJSON(t *testing.T) {
	for _, s := range []string{"", "   ", "Server starting...", "{broken", "[1,2", `{"a":1} x`} {
		if m, err := (Frame{Bytes: []byte(s)}).Messages(); err == nil {
			t.Errorf("%q parsed as %v", s, m)
		}
	}
}

func TestProgressToken(t *testing.T) {
	for frame, want := range map[string]string{
		`{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":12345678901234567890}}}`: "12345678901234567890",
		`{"method":"notifications/progress","params":{"progressToken":"t"}}`:                       `"t"`,
		`{"id":1,"method":"tools/call","params":{"name":"x"}}`:                                     "",
		`{"id":1,"method":"tools/call","params":[1]}`:                                              "",
		`{"method":"notifications/progress","params":{"progressT\u006fken":7}}`:                    "7",
		`{"params":{"_meta":{"progressToken":8}},"method":"x","id":1}`:                             "8",
		`{"id":1,"method":"x","params":{"arguments":{"progressToken":1}}}`:                         "",
	} {
		m, err := Frame{Bytes: []byte(frame)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m[0].ProgressToken()); got != want {
			t.Errorf("%s: token %q, want %q", frame, got, want)
		}
	}
}

// FuzzMessages: no frame makes the view panic, and it sees what encoding/json
// sees.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"x"}`, `[{"id":1}, 2 ,[]]`, `{"id":1,"id":2}`, "\xff", `{"params":{"_meta":{"progressToken":1}}}`, `[]`, `null`,
		` { "\u0069d" : "a\"}" , "method":"\u00e9" , "result" : [ {} , "]" ] } `, `{"method":3,"error":{"code":-1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		messages, err := Frame{Bytes: b}.Messages()
		if (err == nil) != json.Valid(b) {
			t.Fatalf("%q: %v", b, err)
		}
		for _, m := range messages {
			_ = m.ProgressToken()
			checkMembers(t, m)
		}
	})
}

func checkMembers(t *testing.T, m Message) {
	t.Helper()
	var want map[string]json.RawMessage
	if json.Unmarshal(m.Raw, &want) != nil {
		want = nil // not an object
	}
	for key, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
		if !bytes.Equal(got, want[key]) || (got == nil) != (want[key] == nil) {
			t.Fatalf("%s of %q: %q, want %q", key, m.Raw, got, want[key])
		}
	}
	var method string
	if raw := want["method"]; raw != nil && json.Unmarshal(raw, &method) != nil {
		method = ""
	}
	if m.Method != method {
		t.Fatalf("method of %q: %q, want %q", m.Raw, m.Method, method)
	}
}

func BenchmarkMessages(b *testing.B) {
	f := Frame{Bytes: []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"count","arguments":{"text":"hello, world"},"_meta":{"progressToken":"t"}}}`)}
	for b.Loop() {
		if _, err := f.Messages(); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzLocate: where a member is found, there encoding/json has it.
func FuzzLocate(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":"}"}]}}`), "a", "b")
	f.Add([]byte(`{"a":1,"a":[2],"b":3}`), "a", "0")
	f.Add([]byte(` [ [1] , {"\u0061":null} ] `), "1", "a")
	f.Fuzz(func(t *testing.T, raw []byte, one, two string) {
		if !json.Valid(raw) {
			return
		}
		start, end, ok := Locate(raw, one, two)
		if !ok {
			return
		}
		var outer map[string]json.RawMessage
		var list []json.RawMessage
		got := raw[start:end]
		if !json.Valid(got) {
			t.Fatalf("%q at %q %q of %q", got, one, two, raw)
		}
		if json.Unmarshal(raw, &outer) != nil || json.Unmarshal(outer[one], &list) == nil {
			return // an array: its indices are numbers
		}
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(outer[one], &inner); err != nil || !bytes.Equal(inner[two], got) {
			t.Errorf("%q at %q %q of %q: encoding/json has %q, %v", got, one, two, raw, inner[two], err)
		}
	})
}

// TestPacked: a packed message is the message, in less room.
func TestPacked(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"_meta":{"progressToken":7}}}`,
		`{"method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`{"method":"notifications/progr\u0065ss","params":{"progressTok\u0065n":"p"}}`,
		` {"id":null,"error":{"code":1}} `, `{"id":1,"id":"2","result":{},"result":[]}`,
		`{"method":7,"params":[]}`, `{"method":"a","params":{"_meta":[]}}`, `{"params":"progressToken"}`, `[]`, `7`, `{}`,
	} {
		want := parsed(t, text)
		got := Pack(want.Raw).Message()
		for _, pair := range [][2][]byte{
			{got.Raw, want.Raw}, {got.ID, want.ID}, {got.Params, want.Params}, {got.Result, want.Result},
			{got.Error, want.Error}, {got.ProgressToken(), want.ProgressToken()},
			{got.ProgressToken(), (&Message{Method: want.Method, Params: want.Params}).ProgressToken()},
		} {
			if !bytes.Equal(pair[0], pair[1]) || (pair[0] == nil) != (pair[1] == nil) {
				t.Errorf("%s: got %s, want %s", text, pair[0], pair[1])
			}
		}
		if got.Method != want.Method {
			t.Errorf("%s: method %s, want %s", text, got.Method, want.Method)
		}
	}
	if m := (Packed{}).Message(); m.Kind() != Invalid || m.ProgressToken() != nil {
		t.Errorf("the zero message is %+v", m)
	}
	if small, big := reflect.TypeFor[Packed]().Size(), reflect.TypeFor[Message]().Size(); small*2 > big+8 || maxSpan > math.MaxUint32 {
		t.Errorf("%d bytes, a Message has %d", small, big)
	}
}

func parsed(t *testing.T, text string) Message {
	t.Helper()
	if text == "[]" {
		return Message{Raw: []byte(text)}
	}
	messages, err := Frame{Bytes: []byte(text)}.Messages()
	if err != nil || len(messages) != 1 {
		t.Fatal(text, err)
	}
	return messages[0]
}

// texts are JSON and what is not quite.
var texts = []string{
	``, ` `, `{}`, ` { } `, `[]`, `[ 1 , 2 ]`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `{,}`, `[`, `{`, `{"a":1`, `{"a"`, `[1`,
	`{"a":1,,"b":2}`, `{,"a":1}`, `{"a":1,`, `{"a":1,"`, `{"a":`, `{"a`, `{"a"::1}`, `{"a":1:2}`, `{"a":1}}`, `{"a":1]`, `{"a" 1}`, `{"a":1}` + "\x00", `{1:1}`, `{null:1}`,
	`{"id":1,"id":2}`, `{"\u0069d":1,"id":2}`, `{"\u12":1}`, `{"i\x":1}`, "{\"i\x01d\":1}", `{"id\":1}`, `{"\"":1}`, "{\"\xff\":1}", `{"":1}`,
	`0`, `-0`, `00`, `01`, `-`, `-1`, `1.`, `1.0`, `.5`, `1e5`, `1E+5`, `1e-`, `1e`, `1.5e3`, `1e-5`, `1e+`, `+1`, `0x1`, `1-`, `0e0`, `-.5`,
	`true`, `tru`, `trues`, `false`, `null`, `nul`, `nulll`, `True`,
	`"`, `""`, `"a`, `"\"`, `"\\"`, `"\n"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\u00GG"`, `"\u`, `"\`, "\"\t\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", "\"\u2028\"",
	`"12345678"`, `"1234567\"`, `"12345678\""`, "\"1234567\x00\"", "\"\xa2\xdc\x80\x9f12345678\"", `{"a":[{"b":[[]]},null]}`, `{} {}`, `{}x`, "\ufeff{}", "\v{}",
	"\f{}", "{}\f", "\u0085{}", "\u00a0{}", "{}\u00a0", "\u2028{}", "\u3000{}", "\u200b{}", "\x1e{}", "\x85{}", "\xa0{}", "\f", "\u00a0",
}

// TestValid: what is JSON to encoding/json is to us, however deep.
func TestValid(t *testing.T) {
	all := append([]string{}, texts...)
	for _, depth := range []int{mostNested - 1, mostNested, mostNested + 1} {
		all = append(all, strings.Repeat("[", depth)+strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth))
	}
	for c := range 256 { // each byte, in each place of a word and behind it
		for at := range 11 {
			text := []byte(`"abcdefghijkl"`)
			text[at+1] = byte(c)
			all = append(all, string(text), string(text[at+1:]), fmt.Sprintf("%c", c))
		}
	}
	for _, text := range all {
		if got, want := Valid([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.80q: got %t, want %t", text, got, want)
		}
	}
	for _, text := range all { // Messages checks an object while it reads it
		for _, frame := range []string{text, `{"params":` + text + `}`, `{"id":1,` + text + `:2}`, text + `{"id":1}`, `{"id":1}` + text} {
			want := json.Valid([]byte(frame))
			if _, err := (Frame{Bytes: []byte(frame)}).Messages(); (err == nil) != want {
				t.Errorf("Messages of %.80q: %v, want JSON: %t", frame, err, want)
			}
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := Valid(text), json.Valid(text); got != want {
			t.Errorf("got %t, want %t", got, want)
		}
	})
}

// TestLocate: object keys and indices lead to a value; a path that leads nowhere is said to.
func TestLocate(t *testing.T) {
	const raw = `{"a":[10,{"b":"x"},[]],"a2":{},"c":1,"c":2}`
	for path, want := range map[string]string{"": raw, "a.0": "10", "a.1.b": `"x"`, "a.2": "[]", "a2": "{}", "c": "2"} {
		steps := strings.FieldsFunc(path, func(c rune) bool { return c == '.' })
		start, end, ok := Locate([]byte(raw), steps...)
		if !ok || raw[start:end] != want {
			t.Errorf("%s: %q, %t, want %s", path, raw[start:end], ok, want)
		}
		if got := Member([]byte(raw), steps...); !strings.Contains(path, ".") && string(got) != want {
			t.Errorf("member %s: %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"b", "a.3", "a.b", "a.0.b", "a2.0", "c.0"} {
		if start, end, ok := Locate([]byte(raw), strings.Split(path, ".")...); ok {
			t.Errorf("%s: %q", path, raw[start:end])
		}
	}
	for raw, want := range map[string]string{`"a"`: "a", `"\n"`: "\n", `"é"`: "é", "\"\xff\"": "\ufffd", `""`: ""} {
		if got, ok := Text([]byte(raw)); got != want || !ok {
			t.Errorf("text of %s: %q, %t", raw, got, ok)
		}
	}
	for _, raw := range []string{"", `"`, "7", "12", "null", `{"a":"b"}`} {
		if got, ok := Text([]byte(raw)); got != "" || ok {
			t.Errorf("text of %s: %q", raw, got)
		}
	}
}
