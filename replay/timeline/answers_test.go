package timeline

import (
	"fmt"
	"strings"
	"testing"
)

// TestAnswers: which request each answer belongs to, where the id alone does not say so. The words are those
// of the answers, in order.
func TestAnswers(t *testing.T) {
	const (
		list, read = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":3,"method":"resources/read"}`
		work, ping = `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`
		next       = `{"jsonrpc":"2.0","id":4,"method":"resources/read"}`
		note       = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		tools      = `{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`
		contents   = `{"jsonrpc":"2.0","id":3,"result":{"contents":[]}}`
		empty      = `{"jsonrpc":"2.0","id":3,"result":{}}`
		failed     = `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"x"}}`
		null       = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`
		unread     = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`
		nullResult = `{"jsonrpc":"2.0","id":null,"result":{}}`
	)
	asText := func(frame string) string {
		return strings.NewReplacer(`"id":3`, `"id":"3"`, `"id":4`, `"id":"4"`).Replace(frame)
	}
	as4 := func(frame string) string { return strings.Replace(frame, `"id":3`, `"id":4`, 1) }
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"the result tells which of two":             {[]string{"c2s 0 " + list, "c2s 0 " + read, "s2c 0 " + contents, "s2c 0 " + tools}, "#2, #1"},
		"and which of two in an exchange":           {[]string{"c2s 1 [" + list + "," + read + "]", "c2s 1 " + work, "s2c 1 " + tools}, "#1"},
		"an empty result is of the one without any": {[]string{"c2s 0 " + list, "c2s 0 " + ping, "s2c 0 " + empty}, "#2"},
		"an error may be of either":                 {[]string{"c2s 0 " + list, "c2s 0 " + read, "s2c 0 " + failed, "s2c 0 " + contents}, "#1 of 2, #2"},
		"two calls of one tool":                     {[]string{"c2s 0 " + work, "c2s 0 " + work, "s2c 0 " + failed}, "#1 of 2"},
		"a task may be of any":                      {[]string{"c2s 0 " + list, "c2s 0 " + work, `s2c 0 {"jsonrpc":"2.0","id":3,"result":{"task":{"taskId":"a"}}}`}, "#1 of 2"},
		"results are exchanged":                     {[]string{"c2s 0 " + list, "c2s 0 " + next, "s2c 0 " + contents, "s2c 0 " + as4(tools)}, "#1, #2 exchanged with #1"},
		"one wrong result is not exchanged":         {[]string{"c2s 0 " + list, "c2s 0 " + next, "s2c 0 " + contents, "s2c 0 " + as4(contents)}, "#1, #2"},
		"streams are exchanged": {[]string{"http 1 " + asksAs("A"), "c2s 1 " + list, "http 2 " + asksAs("A"), "c2s 2 " + next,
			"s2c 1 " + as4(contents), "s2c 2 " + tools}, "#4 strays, #2 strays exchanged with #4"},
		"one strays":                                 {[]string{"http 1 " + asksAs("A"), "c2s 1 " + list, "http 2 " + asksAs("A"), "c2s 2 " + next, "s2c 1 " + as4(contents)}, "#4 strays"},
		"a resumed stream is no other's":             {[]string{"http 1 " + asksAs("A"), "c2s 1 " + list, `http 1 {"what":"end"}`, "http 2 " + asksAs("A"), "s2c 2 " + tools}, "#2"},
		"a text for a number":                        {[]string{"c2s 0 " + list, "s2c 0 " + asText(tools)}, "#1 retyped"},
		"a number for a text":                        {[]string{"c2s 0 " + asText(list), "s2c 0 " + tools}, "#1 retyped"},
		"a text for zero":                            {[]string{`c2s 0 {"jsonrpc":"2.0","id":0,"method":"ping"}`, `s2c 0 {"jsonrpc":"2.0","id":"0","result":{}}`}, "#1 retyped"},
		"both are open":                              {[]string{"c2s 0 " + list, "c2s 0 " + asText(list), "s2c 0 " + asText(tools), "s2c 0 " + tools}, "#2, #1"},
		"progress under a text":                      {[]string{"c2s 0 " + call5, `s2c 0 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"5","progress":1}}`}, "#1 retyped"},
		"a cancellation of a text":                   {[]string{"c2s 0 " + call5, `c2s 0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"5"}}`}, "#1 retyped"},
		"a notification is answered":                 {[]string{"c2s 0 " + note, "s2c 0 " + null}, "notice #1"},
		"with a result":                              {[]string{"c2s 0 " + note, "s2c 0 " + nullResult}, "notice #1"},
		"without an id":                              {[]string{"c2s 0 " + note, `s2c 0 {"jsonrpc":"2.0","error":{"code":-32601,"message":"x"}}`}, "notice #1"},
		"once":                                       {[]string{"c2s 0 " + note, "s2c 0 " + null, "s2c 0 " + null}, "notice #1, none"},
		"by the client":                              {[]string{"s2c 0 " + note, "c2s 0 " + null}, "notice #1"},
		"over HTTP":                                  {[]string{"http 1 " + asksAs("A"), "c2s 1 " + note, "s2c 1 " + nullResult}, "notice #2"},
		"in the exchange of another request":         {[]string{"http 1 " + asksAs("A"), "c2s 1 " + note, "http 2 " + asksAs("A"), "c2s 2 " + list, "s2c 2 " + null}, "none"},
		"the server has come past it":                {[]string{"c2s 0 " + note, "c2s 0 " + list, "s2c 0 " + tools, "s2c 0 " + null}, "#2, none"},
		"what cannot be read":                        {[]string{"c2s 0 " + note, "c2s 0 {broken", "s2c 0 " + unread, "s2c 0 " + null}, "unreadable, notice #1"},
		"what is no message":                         {[]string{"c2s 0 " + note, "c2s 0 17", "s2c 0 " + null}, "unreadable"},
		"a notification that the server cannot read": {[]string{"c2s 0 " + note, "s2c 0 " + unread}, "unreadable"},
		"an invalid request, and none is open":       {[]string{"c2s 0 " + note, `s2c 0 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`}, "notice #1"},
		"the result of a request under null":         {[]string{"c2s 0 " + note, "c2s 0 " + list, `s2c 0 {"jsonrpc":"2.0","id":null,"result":{"tools":[]}}`}, "none"},
		"a request that the server cannot read":      {[]string{"c2s 0 " + note, "c2s 0 " + list, "s2c 0 " + unread}, "unreadable"},
		"a request with the id null":                 {[]string{"c2s 0 " + note, `c2s 0 {"jsonrpc":"2.0","id":null,"method":"ping"}`, "s2c 0 " + nullResult}, "#2"},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewModel(Remembered)
			var got []string
			var step Step
			for _, line := range test.lines {
				step = playOn(t, m, step, line)
				for i := range step.Messages {
					if said := step.Messages[i].said(); said != "" {
						got = append(got, said)
					}
				}
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// said says what a message belongs to; "" for a request, and for a notification of none.
func (m *Message) said() (s string) {
	switch m.Role {
	case Unlinked:
		if m.Method == "" && m.Kind != 0 {
			return "none"
		}
		return ""
	case Asks:
		return ""
	case AnswersNotice:
		return fmt.Sprintf("notice #%d", m.Notice.Seq)
	case AnswersUnreadable:
		return "unreadable"
	}
	s = fmt.Sprintf("#%d", m.Call.Request)
	if m.Equals > 0 {
		s += fmt.Sprintf(" of %d", m.Equals+1)
	}
	if m.Retyped {
		s += " retyped"
	}
	if m.Strays {
		s += " strays"
	}
	if m.Exchanged != nil {
		s += fmt.Sprintf(" exchanged with #%d", m.Exchanged.Request)
	}
	return s
}
