package jetstream

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

const testID = store.SessionID("01a17814-ee00-7000-8000-000000000001")

func testSession() store.Session {
	return store.Session{
		Header: store.Header{ID: testID},
		Head:   store.Head{Seq: 128, At: 3 * time.Second, Chain: [32]byte{1, 31: 0xff}, Sealed: true},
		Frames: 100, Bytes: 1 << 40, Lost: 3, Doubtful: 7, Exit: "killed by\r\nsignal = 9 50%",
	}
}

func TestHeaderOfMessage(t *testing.T) {
	for _, want := range []place{
		{first: 65, part: 2, parts: 3, writer: "TOKEN", session: testSession()},
		{first: 1, part: 1, parts: 1, session: store.Session{Header: store.Header{ID: testID}}}, // a fence before the log
	} {
		text := want.header(testID)
		if strings.ContainsAny(text, "\r\n") {
			t.Errorf("a line end in a header: %q", text)
		}
		got, err := parseHeader(testID, text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n got %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

func TestDamagedHeader(t *testing.T) {
	whole := place{first: 65, part: 1, parts: 1, writer: "TOKEN", session: testSession()}
	text := whole.header(testID)
	for i := range text {
		bad := text[:i] + string(text[i]^1) + text[i+1:]
		if _, err := parseHeader(testID, bad); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if _, err := parseHeader("01a17814-ee00-7000-8000-000000000002", text); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("of another session: %v", err)
	}
	if _, err := parseHeader(testID, ""); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("no header: %v", err)
	}
	for _, c := range []struct {
		old, new string
		want     error
	}{
		{"v=1", "v=2", store.ErrNewer},
		{"first=65", "first=130", store.ErrCorrupt},
		{"part=1/1", "part=2/1", store.ErrCorrupt},
		{"part=1/1", "part=0/0", store.ErrCorrupt},
		{"frames=100", "frames=-1", store.ErrCorrupt},
		{"at=3000000000", "at=9223372036854775808", store.ErrCorrupt},
	} {
		if _, err := parseHeader(testID, believed(strings.Replace(text, c.old, c.new, 1))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

// believed makes the checksum of a header right.
func believed(text string) string {
	body, _, _ := strings.Cut(text, sumField)
	return body + sumField + headerSum(testID, body)
}

func FuzzHeader(f *testing.F) {
	whole := place{first: 65, part: 1, parts: 1, writer: "TOKEN", session: testSession()}
	f.Add(whole.header(testID))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseHeader(testID, believed(text))
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
				t.Errorf("neither damaged nor newer: %v", err)
			}
			return
		}
		if again, err := parseHeader(testID, p.header(testID)); err != nil || again.session.Head != p.session.Head || again.first != p.first {
			t.Errorf("what was read and written is not read: %v", err)
		}
	})
}
