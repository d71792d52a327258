package framing

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

const (
	answer  = `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`
	request = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	pretty  = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"tools\": [\n      {},\n      \"x\",\n\n      7\n    ]\n  }\n}"
)

// units encodes a text in UTF-16.
func units(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		pair := []byte{byte(u), byte(u >> 8)}
		if big {
			pair[0], pair[1] = pair[1], pair[0]
		}
		b.Write(pair)
	}
	return b.String()
}

// TestReader: what lines hold, by the forms in which programs write messages.
func TestReader(t *testing.T) {
	long := strings.Replace(answer, "[]", `["`+strings.Repeat("x", 200)+`"]`, 1)
	for name, tt := range map[string]struct {
		bytes string
		want  string // the forms of the messages, with how many lines; "-" for a line that is alone, "." for a part
	}{
		"lines":                      {answer + "\n" + request, "--"},
		"stray lines":                {"starting\n\n" + answer + "\nlistening on 3000", "----"},
		"pretty-printed":             {pretty, "..........." + string(SeveralLines) + " 12"},
		"pretty-printed, twice":      {pretty + "\n" + pretty, "..........." + string(SeveralLines) + " 12..........." + string(SeveralLines) + " 12"},
		"pretty-printed, CR LF":      {strings.ReplaceAll(pretty, "\n", "\r\n"), "..........." + string(SeveralLines) + " 12"},
		"pretty-printed with tabs":   {"{\n\t\"jsonrpc\": \"2.0\",\n\t\"method\": \"a\"\n}", "..." + string(SeveralLines) + " 4"},
		"pretty-printed batch":       {"[\n  " + answer + ",\n" + pretty + "\n]", ".............." + string(SeveralLines) + " 15"},
		"begun, then a message":      {"{\n" + answer, ".-"},
		"begun, then another text":   {"{ \nfoo\n}", "..-"},
		"an object of a log":         {"{\n  \"level\": 3\n}", "..-"},
		"a newline in a text":        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\ny\"}}", ".-"},
		"Content-Length":             {fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(answer), answer), ".." + string(ContentLength) + " 3"},
		"Content-Length, two":        {fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(answer), answer, len(request), request), ".." + string(ContentLength) + " 3." + string(ContentLength) + " 3"},
		"Content-Length, and a type": {fmt.Sprintf("content-length:%d\nContent-Type: application/vscode-jsonrpc\n\n%s", len(answer), answer), "..." + string(ContentLength) + " 4"},
		"Content-Length, and lines":  {fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(pretty), pretty), "............." + string(ContentLength) + " 14"},
		"Content-Length too short":   {fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(answer)-3, answer, len(request), request), ".." + string(ContentLength) + " 3." + string(ContentLength) + " 3"},
		"Content-Length too long":    {fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(answer)+1, answer, len(request), request), ".." + string(ContentLength) + " 3." + string(ContentLength) + " 3"},
		"Content-Length that is off": {fmt.Sprintf("Content-Length: %d\r\n\r\n%s\n%s", len(answer)+40, answer, answer), ".." + string(ContentLength) + " 3-"},
		"a header alone":             {"Content-Length: 7\nno\n" + answer, ".--"},
		"an event stream":            {"event: message\nid: 7\ndata: " + answer + "\n\ndata: " + request + "\n\n" + answer, ".." + string(EventStream) + " 3." + string(EventStream) + " 1.-"},
		"UTF-16, little-endian":      {units(answer+"\n"+request+"\n", false), string(UTF16) + " 1" + string(UTF16) + " 1."},
		"UTF-16, big-endian":         {units(answer+"\r\n"+request+"\r\n", true), string(UTF16) + " 1" + string(UTF16) + " 1."},
		"UTF-16 with a mark":         {"\xff\xfe" + units(strings.Replace(answer, "tools", "größe", 1), false), string(UTF16) + " 1"},
		"UTF-16 of PowerShell":       {"\xfe\xff" + units(long, true), string(UTF16) + " 1"},
		"a byte order mark":          {"\ufeff" + answer + "\n" + request, string(ByteOrderMark) + " 1-"},
		"colours":                    {"\x1b[32m" + answer + "\x1b[0m", string(Colours) + " 1"},
		"colours between":            {strings.Replace(answer, ":", "\x1b[0m:\x1b[1;33m", 2), string(Colours) + " 1"},
		"coloured text":              {"\x1b[32mready\x1b[0m", "-"},
		"two in a line":              {answer + request, string(SeveralInLine) + " 1"},
		"three in a line":            {answer + " " + request + "\t" + answer + "\r", string(SeveralInLine) + " 1"},
		"one and a half":             {answer + `{"jsonrpc"`, string(NotJSON) + " 1"},
		"form feed":                  {"\f" + answer, string(OddBlank) + " 1"},
		"vertical tab":               {"\v" + answer, string(OddBlank) + " 1"},
		"no-break space":             {"\u00a0" + answer, string(OddBlank) + " 1"},
		"next line":                  {answer + "\u0085", string(OddBlank) + " 1"},
		"line separator":             {"\u2028" + answer, string(OddBlank) + " 1"},
		"ideographic space":          {"\u3000" + answer, string(OddBlank) + " 1"},
		"zero-width space":           {"\u200b" + answer, string(OddBlank) + " 1"},
		"record separator":           {"\x1e" + answer, string(OddBlank) + " 1"},
		"zero byte":                  {answer + "\x00", string(OddBlank) + " 1"},
		"blank lines":                {"\n \r\n\f", "---"},
	} {
		t.Run(name, func(t *testing.T) {
			var r Reader
			var got strings.Builder
			for line := range strings.SplitSeq(tt.bytes, "\n") {
				state, found := r.Take([]byte(line), messagesOf([]byte(line)) != nil)
				switch state {
				case Alone:
					got.WriteByte('-')
				case Part:
					got.WriteByte('.')
				case Whole:
					fmt.Fprintf(&got, "%s %d", found.Form, found.Lines)
					if found.Form != NotJSON && len(messagesOf(found.JSON)) != len(found.Messages) {
						t.Errorf("%d messages, in JSON %s", len(found.Messages), found.JSON)
					}
				}
			}
			if got.String() != tt.want {
				t.Errorf("got  %s\nwant %s", got.String(), tt.want)
			}
		})
	}
}

// TestInLineSays: where JSON breaks, and what stands there.
func TestInLineSays(t *testing.T) {
	const head = `{"jsonrpc":"2.0","id":1,"result":{"a":`
	for line, want := range map[string]string{
		head + `NaN}}`:              "that is not JSON from byte 39 on, where NaN stands",
		head + `-Infinity}}`:        "that is not JSON from byte 39 on, where -Infinity stands",
		head + `None}}`:             "that is not JSON from byte 39 on, where None stands",
		head + `undefined}}`:        "that is not JSON from byte 39 on, where undefined stands",
		head + `1,}}`:               "that is not JSON from byte 41 on, where a comma stands before }",
		head + `01}}`:               "that is not JSON from byte 39 on, where 01 stands",
		`{'jsonrpc': '2.0'}`:        "that is not JSON from byte 2 on, where ' stands",
		head + "\"a\x01\"}}":        "that is not JSON from byte 41 on, where U+0001 stands in a text",
		head + `"\x41"}}`:           "that is not JSON from byte 41 on, where x41 stands",
		head + `1}}done`:            "that is not JSON from byte 42 on, where done stands",
		"\f" + head + `1}}`:         "with a form feed (U+000C) before it, which is no white space to JSON",
		"\x1b[31m" + head + `1}}`:   "with terminal colours around it",
		head + `1}}` + head + `1}}`: "in one line with another, 2 in all",
		head:                        "",
		`{ metadata: undefined }`:   "",
		"ready":                     "",
	} {
		if got := InLine([]byte(line)).Says(); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// FuzzReader: any lines are taken, and a message that is found is JSON.
func FuzzReader(f *testing.F) {
	for _, text := range []string{answer, pretty, "Content-Length: 5\n\n" + answer, "data: " + answer, units(answer+"\n"+request, false), "\f" + answer} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Reader
		for line := range strings.SplitSeq(string(data), "\n") {
			_, found := r.Take([]byte(line), messagesOf([]byte(line)) != nil)
			if found.Messages != nil && len(messagesOf(found.JSON)) != len(found.Messages) {
				t.Fatalf("%d messages in %q", len(found.Messages), found.JSON)
			}
		}
	})
}
