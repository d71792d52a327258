package transport

import (
	"bytes"
	"math"
	"reflect"
	"testing"
)

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
	if small, big := reflect.TypeFor[Packed]().Size(), reflect.TypeFor[Message]().Size(); small*2 > big+8 || maxMessage > math.MaxUint32 {
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
