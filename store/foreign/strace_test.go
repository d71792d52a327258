package foreign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/transport"
)

// The lines of strace, with each of its options for processes, times and files.
func TestStraceLines(t *testing.T) {
	const c2s, s2c = transport.ClientToServer, transport.ServerToClient
	for _, test := range []struct {
		lines string // the last one counts
		want  string // its bytes
		kind  store.Kind
		dir   transport.Direction
		lacks int
	}{
		{`read(0, "a\n", 1024) = 2`, "a\n", store.Frame, c2s, 0},
		{`12 read(0, "a", 1)       = 1`, "a", store.Frame, c2s, 0},
		{`[pid    12] read(0<pipe:[8]>, "\1\12\x7f\"\\\t\303\244", 9) = 8`, "\x01\n\x7f\"\\\tä", store.Frame, c2s, 0},
		{`write(1, "{\"a\":\") = 3\"}\n", 14) = 14`, "{\"a\":\") = 3\"}\n", store.Frame, s2c, 0},
		{`write(1, "abcdef", 6) = 2`, "ab", store.Frame, s2c, 0},
		{`write(1, "abc"..., 60) = 60`, "abc", store.Frame, s2c, 57},
		{`writev(1, [{iov_base="ab", iov_len=2}, {iov_base="cd\n", iov_len=3}], 2) = 5`, "abcd\n", store.Frame, s2c, 0},
		{`recvfrom(0, "ab", 65536, 0, NULL, NULL) = 2`, "ab", store.Frame, c2s, 0},
		{`sendmsg(1, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 2`, "ab", store.Frame, s2c, 0},
		{`write(2, "oops\n", 5) = 5`, "oops\n", store.Stderr, 0, 0},
		{`read(0, "", 1024) = 0`, "", store.EOF, c2s, 0},
		{`write(1, "abc", 3) = -1 EPIPE (Broken pipe)`, "", store.EOF, s2c, 0},
		{"5 read(0,  <unfinished ...>\n6 write(1, \"x\", 1) = 1\n5 <... read resumed>\"late\\n\", 9) = 5", "late\n", store.Frame, c2s, 0},
		{`+++ exited with 3 +++`, "", store.Exited, 0, 0},
		{`read(0, 0x5, 9) = -1 EAGAIN (Resource temporarily unavailable)`, "", "", 0, 0},
		{`read(7, "a", 1) = 1`, "", "", 0, 0},
		{`write(0, "a", 1) = 1`, "", "", 0, 0},
		{`read(0, "a", 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)`, "", "", 0, 0},
		{"read(0<pipe:[1]>, \"a\", 1) = 1\nread(0<pipe:[2]>, \"b\", 1) = 1", "", "", 0, 0},
	} {
		var r foreign.StraceReader
		var got foreign.Traced
		ok := false
		for line := range strings.Lines(test.lines) {
			got, ok = r.Line(line)
		}
		if test.kind == "" {
			if ok {
				t.Errorf("%s: %+v", test.lines, got)
			}
			continue
		}
		if !ok || got.Kind != test.kind || got.Dir != test.dir || string(got.Data) != test.want || got.Missing != test.lacks {
			t.Errorf("%s: %v, %+v, data %q", test.lines, ok, got, got.Data)
		}
	}
}

func TestStraceTimes(t *testing.T) {
	for name, lines := range map[string][]string{
		"-t":   {"23:59:59", "00:00:01"},
		"-tt":  {"23:59:59.500000", "00:00:01.500000"},
		"-ttt": {"1795957813.500000", "1795957815.500000"},
		"-r":   {"     0.000000", "     2.000000"},
	} {
		var r foreign.StraceReader
		_, _ = r.Line(strings.TrimLeft(lines[0], " ") + ` read(0, "a", 1) = 1`)
		got, ok := r.Line("12 " + strings.TrimLeft(lines[1], " ") + ` read(0, "b", 1) = 1`)
		if want := 2 * time.Second; !ok || (got.At-want).Abs() > time.Millisecond {
			t.Errorf("%s: %v, %v", name, got.At, ok)
		}
	}
}

// A trace whose texts are all cut is refused with the option that it lacks.
func TestStraceCut(t *testing.T) {
	text := `read(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"..., 65536) = 159` + "\n"
	format, ok := foreign.Detect([]byte(text))
	if !ok || format.Name != "strace" {
		t.Fatalf("it is taken for %q", format.Name)
	}
	if _, err := format.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "-s 16777216") {
		t.Errorf("%v", err)
	}
}
