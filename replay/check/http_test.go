package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/transport"
)

// post is the lines of a POST of a session; "" is one without.
func post(exchange int, session, frame string) []string {
	header := ""
	if session != "" {
		header = fmt.Sprintf(`,"header":{"Mcp-Session-Id":[%q]}`, session)
	}
	return []string{fmt.Sprintf(`http/c2s/%d {"what":"request","method":"POST","path":"/mcp"%s}`, exchange, header), fmt.Sprintf(">%d %s", exchange, frame)}
}

// reply is the lines of a whole answer to a POST.
func reply(exchange, status int, frame string) []string {
	head := []string{fmt.Sprintf(`http/s2c/%d {"what":"response","status":%d,"header":{"Content-Type":["application/json"]}}`, exchange, status)}
	if frame != "" {
		head = append(head, fmt.Sprintf("<%d %s", exchange, frame))
	}
	return append(head, fmt.Sprintf(`http/s2c/%d {"what":"end"}`, exchange))
}

// opening is the handshake of a session, on three exchanges from one on.
func opening(exchange int, session string) []string {
	head := `http/s2c/%d {"what":"response","status":200,"header":{"Content-Type":["application/json"],"Mcp-Session-Id":[%q]}}`
	begin := append(post(exchange, "", `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), fmt.Sprintf(head, exchange, session),
		fmt.Sprintf(`<%d {"id":0,"result":{"protocolVersion":"2025-11-25"}}`, exchange), fmt.Sprintf(`http/s2c/%d {"what":"end"}`, exchange))
	return join(begin, post(exchange+1, session, `{"method":"notifications/initialized"}`), reply(exchange+1, 202, ""))
}

func join(parts ...[]string) (all []string) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// rulesOf lists what was found, without the texts.
func rulesOf(found []check.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, " %s %v", f.Rule, f.Severity)
	}
	return strings.TrimSpace(b.String())
}

// TestExchanges holds that over HTTP a response belongs to the request of its exchange,
// and that a POST without an answer is found.
func TestExchanges(t *testing.T) {
	ask := func(exchange int) []string {
		return post(exchange, "s", `{"id":5,"method":"tools/call","params":{"name":"count"}}`)
	}
	const twice = "P2 error" // two open requests with one id are the client's doing, each time
	note := `{"method":"notifications/roots/list_changed"}`
	for name, test := range map[string]struct {
		lines  []string
		want   string
		text   string
		waited time.Duration // the longest call of count; each line is a second
	}{
		"one":                                     {join(ask(3), reply(3, 200, `{"id":5,"result":{}}`)), "", "", 2 * time.Second},
		"two, both answered":                      {join(ask(3), ask(4), reply(3, 200, `{"id":5,"result":{}}`), reply(4, 200, `{"id":5,"result":{}}`)), twice, "", 5 * time.Second},
		"two, one answered, one cut":              {join(ask(3), ask(4), reply(4, 200, `{"id":5,"result":{}}`), []string{`http/s2c/3 {"what":"broken","error":"reset"}`}), twice + " E1 error", "(id 5, #12)", 6 * time.Second},
		"the first answered, the second cut":      {join(ask(3), ask(4), reply(3, 200, `{"id":5,"result":{}}`), []string{`http/s2c/4 {"what":"end"}`}), twice + " E1 error", "(id 5, #14)", 4 * time.Second},
		"one refused in words, one answered":      {join(ask(3), ask(4), reply(4, 400, `{"id":5,"error":{"code":-32600,"message":"x"}}`), reply(3, 200, `{"id":5,"result":{}}`)), twice, "", 7 * time.Second},
		"one refused in words first":              {join(ask(3), reply(3, 400, `{"id":5,"error":{"code":-32600,"message":"x"}}`), ask(4), reply(4, 200, `{"id":5,"result":{}}`)), twice, "", 2 * time.Second},
		"refused, and sent again":                 {join(ask(3), reply(3, 401, ` {"error":"invalid_token"}`), ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "", "", 2 * time.Second},
		"refused, with the id for something else": {join(ask(3), reply(3, 401, ""), post(4, "s", `{"id":5,"method":"tools/list"}`), reply(4, 200, `{"id":5,"result":{"tools":[]}}`)), twice + " E20 warning", "which tools/call had before", time.Second},
		"refused by a login in words, and again":  {join(ask(3), reply(3, 401, `{"id":5,"error":{"code":-32001,"message":"x"}}`), ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "", "", 2 * time.Second},
		"refused before its body, and again":      {join(ask(3)[:1], reply(3, 401, "")[:1], ask(3)[1:], reply(3, 401, "")[1:], ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "", "", 2 * time.Second},
		"redirected":                              {join(ask(3), reply(3, 307, ""), ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "", "", 2 * time.Second},
		"no response, and sent again":             {join(ask(3), []string{`http/s2c/3 {"what":"none","error":"reset"}`}, ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "E1 error", "The connection to the server was closed without a response", 2 * time.Second},
		"broken before a response, and again":     {join(ask(3), []string{`http/s2c/3 {"what":"broken","error":"reset"}`}, ask(4), reply(4, 200, `{"id":5,"result":{}}`)), "E1 error", "broke", 2 * time.Second},
		"broken within a response, and again": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`, `http/s2c/3 {"what":"broken","error":"reset"}`},
			ask(4), reply(4, 200, `{"id":5,"result":{}}`)), twice + " E1 error", "which is open", 2 * time.Second},
		"a second answer on one exchange": {join(ask(3), ask(4), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`<3 {"id":5,"result":{}}`, `<3 {"id":5,"result":{}}`}, reply(4, 200, `{"id":5,"result":{}}`)), twice + " P1 error", "", 5 * time.Second},
		"a stream to be taken up again, and a client that ends its session": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/s2c/3 {"what":"event","sse":{"retry":"10"}}`, `http/s2c/3 {"what":"end"}`, `http/c2s/4 {"what":"request","method":"DELETE","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`}, reply(4, 204, "")),
			"E2 note", "was open for 4s when the client ended its session with DELETE (#16)", 4 * time.Second},
		"an answer behind the client's end of its exchange": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/c2s/3 {"what":"abort"}`, `<3 {"id":5,"result":{}}`}), "E2 note", "was open for 2s when the client hung up", 2 * time.Second},
		"an answer behind the recorder's end of its exchange": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http//3 {"what":"left"}`, `<3 {"id":5,"result":{}}`}), "", "", 4 * time.Second},
		"an answer behind the end of its exchange": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/s2c/3 {"what":"end"}`, `<3 {"id":5,"result":{}}`}), "U3 error", "after its end (#14)", 4 * time.Second},
		"a stream to be taken up behind an event": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/s2c/3 {"what":"event","sse":{"id":"e1"}}`, `http/s2c/3 {"what":"end"}`}), "E2 note", "was open for 4s when the recording ended", 4 * time.Second},
		"a stream to be taken up, and an event without an id behind it": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/s2c/3 {"what":"event","sse":{"id":"e1"}}`, `http/s2c/3 {"what":"event","sse":{}}`, `http/s2c/3 {"what":"end"}`}), "E2 note", "and the client may resume the stream", 5 * time.Second},
		"a stream not to be taken up": {join(ask(3), []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`,
			`http/s2c/3 {"what":"event","sse":{}}`, `http/s2c/3 {"what":"end"}`}), "E1 error", "The server ended the HTTP response 3s after the request", 3 * time.Second},
		"one without a session":              {post(3, "", `{"id":5,"method":"tools/call","params":{"name":"count"}}`), "E2 note", "was open for 1s when the recording ended", time.Second},
		"a session that its client ends":     {join(ask(3), []string{`http/c2s/4 {"what":"request","method":"DELETE","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`}, reply(4, 204, "")), "E2 note", "when the client ended its session with DELETE (#13)", time.Second},
		"a notification":                     {join(post(3, "s", note), reply(3, 202, "")), "", "", 0},
		"a notification that got no answer":  {join(post(3, "s", note), []string{`http/s2c/3 {"what":"none","error":"reset"}`}), "E14 error", "notifications/roots/list_changed", 0},
		"a notification, cut":                {join(post(3, "s", note), []string{`http/s2c/3 {"what":"broken","error":"reset"}`}), "E14 error", "", 0},
		"a notification, to the end":         {post(3, "s", note), "E14 error", "to the end of the recording", 0},
		"a notification that was left":       {join(post(3, "s", note), []string{`http//3 {"what":"left"}`}), "", "", 0},
		"a notification, hung up in the end": {join(post(3, "s", note), []string{`http/c2s/3 {"what":"abort"}`}), "E14 error", "the client hung up", 0},
		"a response that got no answer":      {join([]string{`http/c2s/9 {"what":"request","method":"GET","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`, `http/s2c/9 {"what":"response","status":200}`, `<9 {"id":7,"method":"ping"}`}, post(3, "s", `{"id":7,"result":{}}`), []string{`http/s2c/3 {"what":"none","error":"reset"}`}), "E14 error", "the response to id 7", 0},
	} {
		found, s := findings(t, check.Gate{}, lines(join(opening(1, "s"), test.lines, []string{closed})...))
		said := ""
		for _, f := range found {
			said += f.Text + "\n"
		}
		if got := rulesOf(found); got != test.want || !strings.Contains(said, test.text) {
			t.Errorf("%s: found %v, want %s %q", name, found, test.want, test.text)
		}
		waited := time.Duration(0)
		for _, c := range s.Tallies {
			if c.Name == "count" {
				waited = c.Max
			}
		}
		if waited != test.waited {
			t.Errorf("%s: the longest call took %v, want %v", name, waited, test.waited)
		}
	}
}

// TestRefusedAndRepeated: what HTTP refused was never taken. Its client may send it again,
// be it a response or a notification, and what the server had asked is still open.
func TestRefusedAndRepeated(t *testing.T) {
	const (
		call   = `{"id":5,"method":"tools/call","params":{"name":"count"}}`
		roots  = `{"id":7,"result":{"roots":[]}}`
		ready  = `{"method":"notifications/initialized"}`
		cancel = `{"method":"notifications/cancelled","params":{"requestId":5,"reason":"Request timed out"}}`
		half   = `{"method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
	)
	question := join([]string{`http/c2s/9 {"what":"request","method":"GET","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`, `http/s2c/9 {"what":"response","status":200}`,
		`<9 {"id":7,"method":"roots/list","params":{"_meta":{"progressToken":"t"}}}`})
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"a response":                    {join(question, post(3, "s", roots), reply(3, 401, ""), post(4, "s", roots), reply(4, 202, "")), "", ""},
		"a response, to an error":       {join(question, post(3, "s", roots), reply(3, 503, `{"id":null,"error":{"code":-32000,"message":"x"}}`), post(4, "s", roots), reply(4, 202, "")), "", ""},
		"a response, cut":               {join(question, post(3, "s", roots), []string{`http/s2c/3 {"what":"none","error":"reset"}`}, post(4, "s", roots), reply(4, 202, "")), "E14 error", "no HTTP response came"},
		"a response, taken twice":       {join(question, post(3, "s", roots), reply(3, 202, ""), post(4, "s", roots), reply(4, 202, "")), "P1 error", "second response"},
		"a response, again refused":     {join(question, post(3, "s", roots), reply(3, 202, ""), post(4, "s", roots), reply(4, 401, ""), post(6, "s", roots), reply(6, 202, "")), "P1 error P1 error", "second response"},
		"a response, never taken":       {join(question, post(4, "s", call), post(3, "s", roots), reply(3, 401, "")), "E1 error", "The client answered, and HTTP refused the answer with the status 401, 2s before (#18)"},
		"initialized":                   {join(post(3, "s", ready), reply(3, 202, "")), "P4 warning", "again"},
		"progress":                      {join(question, post(3, "s", half), reply(3, 401, ""), post(4, "s", half), reply(4, 202, ""), post(6, "s", roots), reply(6, 202, "")), "", ""},
		"a cancellation":                {join(post(6, "s", call), post(3, "s", cancel), reply(3, 401, ""), post(4, "s", cancel), reply(4, 202, "")), "E1 error", "gave it up"},
		"a cancellation, and an answer": {join(post(6, "s", call), post(3, "s", cancel), reply(3, 401, ""), reply(6, 200, `{"id":5,"result":{}}`)), "E11 warning", "given up after 2s"},
	} {
		found, s := findings(t, check.Gate{}, lines(join(opening(1, "s"), test.lines, []string{closed})...))
		said := ""
		for _, f := range found {
			said += f.Text + "\n"
		}
		if got := rulesOf(found); got != test.want || !strings.Contains(said, test.text) {
			t.Errorf("%s: found %v, want %s %q", name, found, test.want, test.text)
		}
		for _, c := range s.Tallies {
			if c.Calls != 1 {
				t.Errorf("%s: %s was called %d times, want 1", name, c.Name, c.Calls)
			}
		}
	}
	shake := opening(1, "s")
	found, _ := findings(t, check.Gate{}, lines(join(shake[:7], reply(2, 401, ""), post(3, "s", ready), reply(3, 202, ""), post(4, "s", call), reply(4, 200, `{"id":5,"result":{}}`), []string{closed})...))
	if len(found) > 0 {
		t.Errorf("found %v where initialized was refused, and sent again", found)
	}
}

// TestTimedOutWithoutSession: a client of a server without sessions cancels on another
// exchange than it asked on.
func TestTimedOutWithoutSession(t *testing.T) {
	ask := func(exchange, id int) []string {
		return post(exchange, "", fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":"count"}}`, id))
	}
	cancel := join(post(9, "", `{"method":"notifications/cancelled","params":{"requestId":5,"reason":"Request timed out"}}`), reply(9, 202, ""))
	found, s := findings(t, check.Gate{}, lines(join(ask(1, 4), ask(2, 5), cancel, reply(1, 200, `{"id":4,"result":{}}`), []string{`http/c2s/2 {"what":"abort"}`, closed})...))
	if got := rulesOf(found); got != "E11 warning" || s.Tallies[0].Cancelled != 1 {
		t.Errorf("found %v, want the call that timed out; %+v", found, s.Tallies)
	}
	found, _ = findings(t, check.Gate{}, lines(join(ask(1, 5), ask(2, 5), cancel, reply(1, 200, `{"id":5,"result":{}}`), reply(2, 200, `{"id":5,"result":{}}`), []string{closed})...))
	if len(found) > 0 {
		t.Errorf("found %v, and which call was cancelled is not said", found)
	}
}

// TestSessionsAtOnce: several sessions in one recording have ids and handshakes of their
// own, and what is open in one is found as such.
func TestSessionsAtOnce(t *testing.T) {
	ask := `{"id":1,"method":"tools/call","params":{"name":"count"}}`
	three := join(opening(1, "a"), opening(3, "b"), opening(5, "c"))
	calls := join(post(7, "a", ask), post(8, "b", ask), post(9, "c", ask))
	answers := join(reply(8, 200, `{"id":1,"result":{}}`), reply(7, 200, `{"id":1,"result":{}}`))
	found, s := findings(t, check.Gate{}, lines(join(three, calls, answers, reply(9, 200, `{"id":1,"result":{}}`), []string{closed})...))
	if len(found) > 0 || s.Asked != 6 || s.Answered != 6 || s.Revision != "2025-11-25" {
		t.Errorf("found %v in three sessions of which each is well; %+v", found, s)
	}
	stream := []string{`http/c2s/9 {"what":"request","method":"GET","path":"/mcp","header":{"Mcp-Session-Id":["b"]}}`, `http/s2c/9 {"what":"response","status":200}`}
	question := `<9 {"id":1,"method":"roots/list"}`
	found, _ = findings(t, check.Gate{}, lines(join(three, stream, []string{question}, post(10, "a", `{"id":1,"result":{"roots":[]}}`), reply(10, 202, ""))...))
	if got := rulesOf(found); !strings.HasPrefix(got, "P1 error") || found[0].Dir != transport.ClientToServer {
		t.Errorf("found %v: another session answered what was asked in b", found)
	}
	found, _ = findings(t, check.Gate{}, lines(join(three, calls, answers, []string{`http/s2c/9 {"what":"end"}`, closed})...))
	if got := rulesOf(found); got != "E1 error" {
		t.Errorf("found %v: one session has a call without an answer", found)
	}
	// The sessions of one client, one after the other, under one id that was not recorded.
	found, _ = findings(t, check.Gate{}, lines(join(opening(1, "x"), post(3, "x", ask), []string{`http/s2c/3 {"what":"left"}`}, opening(4, "x"), post(6, "x", ask), reply(6, 200, `{"id":1,"result":{}}`), []string{closed})...))
	if got := rulesOf(found); got != "E2 note" {
		t.Errorf("found %v: what the first session left is told", found)
	}
}

// TestMiddle: a recording that begins in the middle says so once, and what may stand
// before it is nobody's fault.
func TestMiddle(t *testing.T) {
	const (
		late   = `< {"id":7,"result":{}}`
		token  = `< {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
		cancel = `> {"method":"notifications/cancelled","params":{"requestId":7}}`
		update = `< {"method":"notifications/resources/updated","params":{"uri":"a:b"}}`
		task   = `> {"id":8,"method":"tools/list"}`
		listed = `< {"id":8,"result":{"tools":[]}}`
		stream = `http/c2s/3 {"what":"request","method":"GET","path":"/","header":{"Mcp-Session-Id":["s"],"Last-Event-Id":["e9"],"Mcp-Protocol-Version":["2025-11-25"]}}`
	)
	whole := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"an answer":                    {[]string{late, task, listed}, "E16 note"},
		"progress":                     {[]string{token, task, listed, token}, "E16 note"},
		"a cancellation":               {[]string{cancel, late, task, listed}, "E16 note"},
		"an answer of the client":      {[]string{`> {"id":3,"result":{}}`, task, listed}, "E16 note"},
		"a request without handshake":  {[]string{task, listed, update, late, token}, "E16 note"},
		"initialized":                  {[]string{`> {"method":"notifications/initialized"}`, task, listed, late}, "E16 note"},
		"nothing before but logs":      {[]string{`< {"method":"notifications/message","params":{"level":"info","data":"x"}}`, late}, "E16 note"},
		"a retry":                      {[]string{`> {"id":8,"method":"tools/call","params":{"name":"x","requestState":"s",` + whole + `}}`, `< {"id":8,"result":{}}`, late}, "P12 warning P1 error"},
		"the middle of 2026-07-28":     {[]string{late, `> {"id":8,"method":"tools/list","params":{` + whole + `}}`, listed, late}, "E16 note"},
		"a session of HTTP":            {join(post(1, "s", task[2:]), reply(1, 200, listed[2:]), post(2, "s", cancel[2:]), reply(2, 202, "")), "E16 note"},
		"two sessions of HTTP":         {join(post(1, "s", task[2:]), reply(1, 200, listed[2:]), post(2, "t", task[2:]), reply(2, 200, listed[2:])), "E16 note"},
		"a stream that is taken up":    {join(post(1, "s", task[2:]), reply(1, 200, listed[2:]), []string{stream}), "E16 note"},
		"one that begins":              {append(append([]string{}, shaken...), late), "P1 error"},
		"one that begins late":         {append([]string{task, listed}, shaken...), "P4 error"},
		"a ping first":                 {join([]string{`> {"id":9,"method":"ping"}`, `< {"id":9,"result":{}}`}, shaken, []string{late}), "P1 error"},
		"a stateless client":           {[]string{`> {"id":8,"method":"tools/list","params":{` + whole + `}}`, listed, late}, "P1 error"},
		"HTTP without sessions":        {join(post(1, "", task[2:]), reply(1, 200, listed[2:])), ""},
		"a session that nobody knows":  {join(opening(1, "a"), post(3, "no", task[2:]), reply(3, 404, `{"id":8,"error":{"code":-32001,"message":"x"}}`)), ""},
		"a session among those before": {join(opening(1, "a"), post(3, "s", task[2:]), reply(3, 200, listed[2:]), post(4, "a", cancel[2:]), reply(4, 202, "")), "P6 note E16 note"},
	} {
		found, _ := findings(t, check.Gate{}, lines(test.lines...))
		if got := rulesOf(found); got != test.want {
			t.Errorf("%s: found %v, want %s", name, found, test.want)
		}
	}
}

// TestRefusedBodies: what an HTTP refusal says in its body is of HTTP, and no message of the
// session: a login that is asked for first is nobody's fault. A blank before the brace keeps
// "jsonrpc" out of a body.
func TestRefusedBodies(t *testing.T) {
	init := `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	for name, refusal := range map[string][]string{
		"a login is asked for":             reply(1, 401, ` {"error":"invalid_token","error_description":"Missing Authorization header"}`),
		"an error without jsonrpc":         reply(1, 400, ` {"error":{"code":-32600,"message":"x"},"id":null}`),
		"an error of JSON-RPC without id":  reply(1, 400, `{"error":{"code":-32600,"message":"x"}}`),
		"an error with the id null":        reply(1, 400, `{"error":{"code":-32600,"message":"x"},"id":null}`),
		"an error with its id":             reply(1, 400, `{"error":{"code":-32600,"message":"x"},"id":0}`),
		"JSON of a web framework":          reply(1, 404, ` {"detail":"Not Found"}`),
		"a list":                           reply(1, 500, ` [{"detail":"x"},1]`),
		"text":                             reply(1, 500, `Internal Server Error`),
		"a redirection":                    reply(1, 307, ` {"location":"/elsewhere"}`),
		"bytes that are not UTF-8 in JSON": reply(1, 403, " {\"error\":\"\xff\"}"),
	} {
		gate := check.Gate{Schema: &schema.Validator{}}
		list := opening(2, "s")
		call := join(post(4, "s", `{"id":5,"method":"tools/call","params":{"name":"count"}}`), reply(4, 200, `{"id":5,"result":{"content":[]}}`))
		found, _ := findings(t, gate, lines(join(post(1, "", init), refusal, list, call, []string{closed})...))
		found = slices.DeleteFunc(found, func(f check.Finding) bool {
			return f.Rule == "S1" && f.Dir == transport.ClientToServer || strings.Contains(f.Text, "serverInfo")
		})
		if got := rulesOf(found); got != "" {
			t.Errorf("%s: found %v", name, found)
		}
	}
	found, _ := findings(t, check.Gate{}, lines(join(opening(2, "s"), post(4, "s", `{"id":5,"method":"ping"}`), reply(4, 200, ` {"detail":"Not Found"}`), []string{closed})...))
	if got := rulesOf(found); !strings.Contains(got, "E4 error") {
		t.Errorf("found %v in a 200 that is no message", found)
	}
}

// TestLatePost: a call that a client of HTTP+SSE makes when it has closed the stream that
// answers come on is its own doing, unless it has another one.
func TestLatePost(t *testing.T) {
	stream := func(exchange int) []string {
		return []string{fmt.Sprintf(`http/c2s/%d {"what":"request","method":"GET","path":"/sse"}`, exchange),
			fmt.Sprintf(`http/s2c/%d {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`, exchange),
			fmt.Sprintf(`http/s2c/%d {"what":"event","sse":{"event":"endpoint"},"body":"/mcp"}`, exchange)}
	}
	shake := join(stream(1), post(2, "", `{"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`), reply(2, 202, ""), []string{`<1 {"id":0,"result":{"protocolVersion":"2024-11-05"}}`})
	initialized := join(post(3, "", `{"method":"notifications/initialized"}`), reply(3, 202, ""))
	late := join(post(4, "", `{"id":5,"method":"tools/call","params":{"name":"count"}}`), reply(4, 202, ""))
	gone := []string{`http/c2s/1 {"what":"abort"}`}
	wait := []string{`http/c2s/9 {"what":"request","method":"GET","path":"/"}`, `http/s2c/9 {"what":"response","status":404}`}
	for name, test := range map[string]struct {
		lines  []string
		want   string
		client bool
	}{
		"the client had hung up":      {join(shake, initialized, gone, late, wait), "E1 error", true},
		"it has another stream":       {join(shake, initialized, gone, stream(6), late, wait), "E1 error", false},
		"its latest stream is closed": {join(shake, initialized, stream(6), []string{`http/c2s/6 {"what":"abort"}`}, late, wait), "E1 error", true},
		"the server had ended it":     {join(shake, initialized, []string{`http/s2c/1 {"what":"end"}`}, late, wait), "E1 error", false},
	} {
		found, _ := findings(t, check.Gate{}, lines(join(test.lines, []string{closed})...))
		if got := rulesOf(found); got != test.want || (found[0].Dir == transport.ClientToServer) != test.client {
			t.Errorf("%s: found %v, want %s", name, found, test.want)
		}
		if test.client && !strings.Contains(found[0].Text, "and the client closed it") {
			t.Errorf("%s: %v does not say why", name, found)
		}
	}
}
