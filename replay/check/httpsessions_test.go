package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/check"
)

// stated is post with the headers that every client sends; version "" is none.
func stated(exchange int, session, version, frame string) []string {
	header := `"Accept":["application/json, text/event-stream"]`
	for name, value := range map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": version} {
		if value != "" {
			header += fmt.Sprintf(`,%q:[%q]`, name, value)
		}
	}
	return []string{fmt.Sprintf(`http/c2s/%d {"what":"request","method":"POST","path":"/mcp","header":{%s}}`, exchange, header), fmt.Sprintf(">%d %s", exchange, frame)}
}

// text is the lines of a whole answer that is no message.
func text(exchange, status int, body string) []string {
	lines := []string{fmt.Sprintf(`http/s2c/%d {"what":"response","status":%d,"header":{"Content-Type":["text/plain"]}}`, exchange, status)}
	if body != "" {
		lines = append(lines, fmt.Sprintf(`http/s2c/%d {"what":"body","body":%q}`, exchange, body))
	}
	return append(lines, fmt.Sprintf(`http/s2c/%d {"what":"end"}`, exchange))
}

func remove(exchange, status int) []string {
	return join([]string{fmt.Sprintf(`http/c2s/%d {"what":"request","method":"DELETE","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`, exchange)}, text(exchange, status, ""))
}

// TestHTTPSessions: what a client does with a session that is gone, and a server with one that it has ended.
func TestHTTPSessions(t *testing.T) {
	const ping = `{"id":%d,"method":"ping"}`
	ask := func(exchange int) []string { return post(exchange, "s", fmt.Sprintf(ping, exchange)) }
	taken := func(exchange int) []string {
		return join(ask(exchange), reply(exchange, 200, fmt.Sprintf(`{"id":%d,"result":{}}`, exchange)))
	}
	gone := func(exchange int) []string { return join(ask(exchange), text(exchange, 404, "session not found\n")) }
	said := func(exchange, status int, body string) []string {
		return join(ask(exchange), reply(exchange, status, body))
	}
	notFound := `{"id":null,"error":{"code":-32001,"message":"Session not found"}}`
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"four calls behind a 404":              {join(taken(3), gone(4), gone(5), gone(6), gone(7)), "P15 error", "the client went on with a session that the server had answered with 404 (#18): 3 requests since, the last in #32"},
		"the same, said in JSON":               {join(taken(3), said(4, 404, notFound), said(5, 404, notFound), said(6, 404, notFound), said(7, 404, notFound)), "P15 error", "3 requests since"},
		"two calls at once, and no more":       {join(taken(3), ask(4), ask(5), text(4, 404, "session not found"), text(5, 404, "session not found")), "E20 note", "the session was gone"},
		"one 404, and a new session":           {join(taken(3), gone(4), opening(5, "t"), post(7, "t", `{"id":7,"method":"ping"}`), reply(7, 200, `{"id":7,"result":{}}`)), "", ""},
		"one 404, and the client deletes":      {join(taken(3), gone(4), remove(5, 404)), "E20 note", "ping (#17)"},
		"a 404 that answers the call":          {join(taken(3), said(4, 404, `{"id":4,"error":{"code":-32601,"message":"x"}}`), taken(5), said(6, 404, `{"id":6,"error":{"code":-32601,"message":"x"}}`), taken(7)), "", ""},
		"a 404 for the stream of GET":          {join(taken(3), []string{`http/c2s/4 {"what":"request","method":"GET","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`}, text(4, 404, ""), taken(5), taken(6)), "", ""},
		"a 404 of another path":                {join(taken(3), []string{`http/c2s/4 {"what":"request","method":"POST","path":"/mcpx","header":{"Mcp-Session-Id":["s"]}}`, `>4 {"id":4,"method":"ping"}`}, text(4, 404, "<html>"), taken(5)), "", ""},
		"by turns":                             {join(taken(3), gone(4), taken(5), gone(6), taken(7)), "P15 error", "the server did not know the session 2 times (first at #18), and took it again behind that (last at #33)"},
		"by turns, refused with 400 in words":  {join(taken(3), said(4, 400, `{"id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`), taken(5)), "P15 error", "did not know the session once (first at #18)"},
		"by turns, refused with 400 as text":   {join(taken(3), ask(4), text(4, 400, "Invalid session ID"), taken(5)), "P15 error", "several servers"},
		"a 400 about something else":           {join(taken(3), said(4, 400, `{"id":null,"error":{"code":-32600,"message":"Invalid Request"}}`), post(5, "s", `{"id":5,"method":"tools/list"}`), reply(5, 200, `{"id":5,"result":{"tools":[]}}`)), "E20 warning", "status 400"},
		"two at once, one refused":             {join(ask(4), ask(5), text(4, 404, "x"), reply(5, 200, `{"id":5,"result":{}}`)), "", ""},
		"a call behind DELETE":                 {join(taken(3), remove(4, 200), taken(5)), "P15 error", "the server took 1 message in a session that the client had ended with DELETE (#17)"},
		"a notification behind DELETE":         {join(taken(3), remove(4, 204), post(5, "s", `{"method":"notifications/roots/list_changed"}`), reply(5, 202, "")), "P15 error", "1 message"},
		"a call behind a DELETE that is no":    {join(taken(3), remove(4, 405), taken(5)), "", ""},
		"a call that was there before DELETE":  {join(ask(3), remove(4, 200), reply(3, 200, `{"id":3,"result":{}}`)), "", ""},
		"a call behind DELETE that is refused": {join(taken(3), remove(4, 200), gone(5)), "E20 note", "the session was gone"},
	} {
		checkHTTP(t, name, join(opening(1, "s"), test.lines, []string{closed}), test.want, test.text)
	}
}

func checkHTTP(t *testing.T, name string, list []string, want, text string) {
	t.Helper()
	found, _ := findings(t, check.Gate{}, lines(list...))
	said := ""
	for _, f := range found {
		said += f.Text + "\n"
	}
	if got := rulesOf(found); got != want || !strings.Contains(said, text) {
		t.Errorf("%s: found %v, want %s %q", name, found, want, text)
	}
}

// TestVersionHeader: behind the handshake each request names its revision, and an unknown one is refused.
func TestVersionHeader(t *testing.T) {
	const ping, pong = `{"id":9,"method":"ping"}`, `{"id":9,"result":{}}`
	old := func(lines []string) (list []string) {
		for _, line := range lines {
			list = append(list, strings.ReplaceAll(line, "2025-11-25", "2025-03-26"))
		}
		return list
	}
	one := func(version, session string) []string {
		return join(stated(3, session, version, ping), reply(3, 200, pong))
	}
	bare := join(stated(1, "", "", `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), reply(1, 200, `{"id":0,"result":{"protocolVersion":"2025-11-25"}}`))
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"none":                                    {join(opening(1, "s"), one("", "s")), "P16 error", "the client sent 1 message without the header MCP-Protocol-Version, the first in #12"},
		"none on three":                           {join(opening(1, "s"), one("", "s"), join(stated(4, "s", "", `{"id":4,"method":"ping"}`), reply(4, 200, `{"id":4,"result":{}}`)), stated(5, "s", "", `{"method":"notifications/roots/list_changed"}`), reply(5, 202, "")), "P16 error", "3 messages"},
		"none in 2025-03-26":                      {old(join(opening(1, "s"), one("", "s"))), "", ""},
		"none, and the recording has no headers":  {join(opening(1, "s"), post(3, "s", ping), reply(3, 200, pong)), "", ""},
		"none without a session":                  {join(bare, one("", "")), "P16 error", "the client sent 1 message without the header"},
		"none, and two clients without a session": {join(bare, old(join(stated(2, "", "", `{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), reply(2, 200, `{"id":0,"result":{"protocolVersion":"2025-11-25"}}`))), one("", "")), "", ""},
		"the agreed one":                          {join(opening(1, "s"), one("2025-11-25", "s")), "", ""},
		"an unknown one":                          {join(opening(1, "s"), one("1999-01-01", "s")), "P16 error", "the header MCP-Protocol-Version: 1999-01-01 (#11) with the status 200, not with 400"},
		"one that is no date":                     {join(opening(1, "s"), one("latest", "s")), "P16 error", "latest"},
		"an unknown one, refused":                 {join(opening(1, "s"), stated(3, "s", "1999-01-01", ping), text(3, 400, "x"), stated(4, "s", "2025-11-25", ping), reply(4, 200, pong)), "", ""},
		"one that may come":                       {join(opening(1, "s"), one("2031-01-01", "s")), "E9 error E9 error", "Mcp-Method"},
		"an unknown one, twice":                   {join(opening(1, "s"), one("1999-01-01", "s"), stated(4, "s", "1999-01-01", `{"id":4,"method":"ping"}`), reply(4, 200, `{"id":4,"result":{}}`)), "P16 error", ""},
	} {
		checkHTTP(t, name, join(test.lines, []string{closed}), test.want, test.text)
	}
}

// TestAcceptedNotifications: a POST that asks for nothing is answered with 202 and nothing.
func TestAcceptedNotifications(t *testing.T) {
	note := post(3, "s", `{"method":"notifications/roots/list_changed"}`)
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"a body":                  {join(note, []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["application/json"]}}`, `<3 {"id":null,"result":{}}`, `http/s2c/3 {"what":"end"}`}), "P17 error", "the server answered notifications/roots/list_changed (#11) with the status 200 and a body"},
		"a body with 202":         {join(note, reply(3, 202, `{"id":null,"result":{}}`)), "P17 error", "with the status 202 and a body"},
		"200 and no body":         {join(note, reply(3, 200, "")), "P17 warning", "not with 202"},
		"204":                     {join(note, reply(3, 204, "")), "P17 warning", "with the status 204"},
		"202":                     {join(note, reply(3, 202, "")), "", ""},
		"202, and a word":         {join(note, text(3, 202, "Accepted")), "", ""},
		"refused, with an error":  {join(note, reply(3, 400, `{"error":{"code":-32600,"message":"x"}}`)), "", ""},
		"the answer to a request": {join(post(3, "s", `{"id":3,"method":"ping"}`), reply(3, 200, `{"id":3,"result":{}}`)), "", ""},
	} {
		found, _ := findings(t, check.Gate{}, lines(join(opening(1, "s"), test.lines, []string{closed})...))
		for i := 0; i < len(found); i++ {
			if found[i].Rule == "P1" { // which speaks of the same body
				found = append(found[:i], found[i+1:]...)
				i--
			}
		}
		said := ""
		for _, f := range found {
			said += f.Text + "\n"
		}
		if got := rulesOf(found); got != test.want || !strings.Contains(said, test.text) {
			t.Errorf("%s: found %v, want %s %q", name, found, test.want, test.text)
		}
	}
}

// TestRefusedCalls: a status that is no answer is told once for each status, unless the call was sent again
// with success.
func TestRefusedCalls(t *testing.T) {
	ask := func(exchange int, tool string) []string {
		return post(exchange, "s", fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":%q}}`, exchange, tool))
	}
	fine := join(ask(8, "other"), reply(8, 200, `{"id":8,"result":{}}`))
	redirect := func(exchange int) []string {
		return []string{fmt.Sprintf(`http/s2c/%d {"what":"response","status":307,"header":{"Location":["/mcp/"]}}`, exchange), fmt.Sprintf(`http/s2c/%d {"what":"end"}`, exchange)}
	}
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"503":                         {join(ask(3, "a"), text(3, 503, "busy"), fine), "E20 warning", `HTTP refused 1 call of the client with the status 503: tools/call "a" (#12)`},
		"406 and 500":                 {join(ask(3, "a"), text(3, 406, ""), ask(4, "b"), text(4, 500, "<html>"), fine), "E20 warning E20 warning", "status 500"},
		"429, four times":             {join(ask(3, "a"), text(3, 429, ""), ask(4, "a"), text(4, 429, ""), ask(5, "a"), text(5, 429, ""), ask(6, "a"), text(6, 429, ""), fine), "E20 warning", "refused 4 calls of the client with the status 429"},
		"429, and later let through":  {join(ask(3, "a"), text(3, 429, ""), ask(4, "a"), reply(4, 200, `{"id":4,"result":{}}`)), "", ""},
		"401, and a login":            {join(ask(3, "a"), text(3, 401, ""), ask(4, "a"), reply(4, 200, `{"id":4,"result":{}}`)), "", ""},
		"an error of JSON-RPC":        {join(ask(3, "a"), reply(3, 400, `{"id":3,"error":{"code":-32602,"message":"x"}}`), fine), "", ""},
		"redirected":                  {join(ask(3, "a"), redirect(3), fine), "E20 warning", `with the status 307; it points to "/mcp/"`},
		"redirected, and let through": {join(ask(3, "a"), redirect(3), ask(4, "a"), reply(4, 200, `{"id":4,"result":{}}`)), "E20 warning", "it points to"},
		"nothing got through":         {join(ask(3, "a"), text(3, 503, "busy")), "E20 warning", "503"},
	} {
		checkHTTP(t, name, join(opening(1, "s"), test.lines, []string{closed}), test.want, test.text)
	}
}

// TestRevisionWithoutSession: a server without sessions is judged by the revision of its handshake, or of the
// header.
func TestRevisionWithoutSession(t *testing.T) {
	greet := func(exchange int, revision string) []string {
		return join(post(exchange, "", fmt.Sprintf(`{"id":0,"method":"initialize","params":{"protocolVersion":%q}}`, revision)), reply(exchange, 200, fmt.Sprintf(`{"id":0,"result":{"protocolVersion":%q}}`, revision)))
	}
	ask := `{"id":5,"method":"tools/call","params":{"name":"count"}}`
	batch := []string{`http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["application/json"]}}`, `<3 [{"jsonrpc":"2.0","id":5,"result":{}}]`, `http/s2c/3 {"what":"end"}`}
	for name, test := range map[string]struct {
		lines    []string
		want     string
		revision string
	}{
		"by the handshake":            {join(greet(1, "2025-06-18"), post(3, "", ask), batch), "P9 error", "2025-06-18"},
		"by the header":               {join(stated(3, "", "2025-06-18", ask), batch), "P9 error", "2025-06-18"},
		"by the header, before that":  {join(greet(1, "2025-03-26"), stated(3, "", "2025-06-18", ask), batch), "P9 error", "2025-03-26"},
		"an old one, which has them":  {join(greet(1, "2025-03-26"), post(3, "", ask), batch), "", "2025-03-26"},
		"two clients, which differ":   {join(greet(1, "2025-03-26"), greet(2, "2025-06-18"), post(3, "", ask), batch), "", "2025-06-18"},
		"no word of it":               {join(post(3, "", ask), batch), "", ""},
		"a call, a handshake, a call": {join(greet(1, "2025-06-18"), post(3, "", ask), reply(3, 200, `{"id":5,"result":{}}`), greet(4, "2025-06-18"), post(5, "", ask), reply(5, 200, `{"id":5,"result":{}}`)), "", "2025-06-18"},
	} {
		found, s := findings(t, check.Gate{}, lines(join(test.lines, []string{closed})...))
		if got := rulesOf(found); got != test.want || s.Revision != test.revision {
			t.Errorf("%s: found %v at %q, want %s at %s", name, found, s.Revision, test.want, test.revision)
		}
	}
}
