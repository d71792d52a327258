package foreign

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// The format strace: what strace(1) writes of a server on stdio, with any of its options for the process (-f), the
// time (-t, -tt, -ttt, -r) and the files (-y). The calls that move bytes of descriptor 0, 1 and 2 count; all others are
// passed over. strace must have been given a length (-s) that holds every message.
//
//	read, readv, recvfrom, recvmsg of 0      the client has said it
//	write, writev, sendto, sendmsg of 1      the server says it
//	the same of 2                            a part of standard error
//	a read of 0 that returns 0               the client has closed its end
//	a write of 1 that fails with EPIPE       the client reads no more
//	+++ exited with 1 +++, +++ killed by …   the end of the server
//
// With -y the files of the descriptors tell the server from what it has started, whose input is another.
var straceCall = lazily(`^(read|readv|recvfrom|recvmsg|write|writev|sendto|sendmsg)\((\d+)(?:<([^>]*)>)?, `)

var (
	stracePID    = lazily(`^(?:\[pid +(\d+)\] |(\d+) +)`)
	straceTime   = lazily(`^(?:(\d+\.\d+)|(\d\d):(\d\d):(\d\d)(\.\d+)?) +`)
	straceResume = lazily(`^<\.\.\. \w+ resumed>`)
	straceEnd    = lazily(`^\+\+\+ (?:exited with (\d+)|killed by (SIG\w+)).* \+\+\+$`)
	straceAny    = lazily(`^(?:[a-z_0-9]+\(|<\.\.\. \w+ resumed>|\+\+\+ |--- SIG)`)
)

// Traced is something that a line of strace says of a server's standard streams.
type Traced struct {
	Kind    store.Kind          // Frame for bytes of a direction, Stderr, EOF, Exited
	Dir     transport.Direction // of Frame and EOF
	At      time.Duration       // since the first line that has a time
	Data    []byte
	Missing int            // bytes behind Data that strace has left out
	By      string         // of EOF: "sender" or "receiver"
	Exit    store.ExitInfo // of Exited
	PID     int            // that did it; 0: not told
}

// StraceReader reads the lines of strace, one after the other.
type StraceReader struct {
	// Files are those of the descriptors 0, 1 and 2 that count, as -y names them. An empty one is set by the first
	// line that names it.
	Files [3]string

	unfinished map[string]string // the begin of a call, by process
	first      time.Duration     // the time of the first line, in its own terms
	isTimed    bool
	last       time.Duration
	relative   time.Duration
}

// Line reads a line. ok is false for one that says nothing of the streams.
func (r *StraceReader) Line(line string) (t Traced, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	pid := ""
	if m := stracePID().FindStringSubmatch(line); m != nil {
		pid = m[1] + m[2]
		line = line[len(m[0]):]
	}
	line = r.time(line)
	t.At = r.last
	t.PID, _ = strconv.Atoi(pid)
	if m := straceEnd().FindStringSubmatch(line); m != nil {
		t.Kind = store.Exited
		t.Exit.Code, _ = strconv.Atoi(m[1])
		if m[2] != "" {
			t.Exit.Code = -1
			t.Exit.Signal = signalName(m[2])
		}
		return t, true
	}
	if begun, isCut := strings.CutSuffix(line, "<unfinished ...>"); isCut {
		if r.unfinished == nil {
			r.unfinished = map[string]string{}
		}
		r.unfinished[pid] = begun
		return t, false
	}
	if m := straceResume().FindString(line); m != "" {
		line = r.unfinished[pid] + line[len(m):]
		delete(r.unfinished, pid)
	}
	return r.call(t, line)
}

// time takes the time from the beginning of a line.
func (r *StraceReader) time(line string) string {
	m := straceTime().FindStringSubmatch(line)
	if m == nil {
		return line
	}
	at := time.Duration(0)
	if m[1] != "" {
		seconds, _ := strconv.ParseFloat(m[1], 64)
		whole, part, _ := strings.Cut(m[1], ".")
		n, _ := strconv.ParseInt(whole, 10, 64)
		fraction, _ := strconv.ParseFloat("0."+part, 64)
		at = time.Duration(n)*time.Second + time.Duration(fraction*float64(time.Second))
		const years = 3e8 // a smaller number of seconds is that since the line before (-r)
		if seconds < years {
			r.relative += at
			at = r.relative
		}
	} else {
		number := func(i int) time.Duration { n, _ := strconv.Atoi(m[i]); return time.Duration(n) }
		fraction, _ := strconv.ParseFloat("0"+m[5], 64)
		at = number(2)*time.Hour + number(3)*time.Minute + number(4)*time.Second + time.Duration(fraction*float64(time.Second))
		for r.isTimed && at < r.first { // behind midnight
			at += 24 * time.Hour
		}
	}
	if !r.isTimed {
		r.isTimed = true
		r.first = at
	}
	r.last = max(r.last, at-r.first)
	return line[len(m[0]):]
}

// call reads a call that moves bytes.
func (r *StraceReader) call(t Traced, line string) (Traced, bool) {
	m := straceCall().FindStringSubmatch(line)
	if m == nil {
		return t, false
	}
	fd, err := strconv.Atoi(m[2])
	reads := m[1] == "read" || m[1] == "readv" || strings.HasPrefix(m[1], "recv")
	if err != nil || fd > 2 || reads != (fd == 0) {
		return t, false
	}
	if file := m[3]; file != "" {
		if r.Files[fd] == "" {
			r.Files[fd] = file
		}
		if file != r.Files[fd] {
			return t, false // of something that the server has started
		}
	}
	at := strings.LastIndex(line, ") ")
	if at < 0 {
		return t, false
	}
	result := strings.Fields(strings.TrimLeft(line[at+1:], " ="))
	if len(result) == 0 {
		return t, false
	}
	t.Kind = store.Frame
	t.Dir = transport.ServerToClient
	switch fd {
	case 0:
		t.Dir = transport.ClientToServer
	case 2:
		t.Kind = store.Stderr
		t.Dir = transport.NoDirection
	}
	count, err := strconv.Atoi(result[0])
	switch {
	case err != nil:
		return t, false
	case count < 0 && fd == 1 && len(result) > 1 && result[1] == "EPIPE":
		t.Kind, t.By = store.EOF, "receiver"
		return t, true
	case count < 0:
		return t, false
	case count == 0 && fd == 0:
		t.Kind, t.By = store.EOF, "sender"
		return t, true
	}
	t.Data = straceText(line[len(m[0]):at], count)
	t.Missing = count - len(t.Data)
	return t, count > 0
}

// straceText returns the bytes of the texts in the arguments of a call, at most so many: what a call was given may be
// longer than what it moved.
func straceText(arguments string, count int) (data []byte) {
	data = make([]byte, 0, min(count, len(arguments)))
	isStruct := strings.Contains(arguments, "iov_base=")
	for len(data) < count {
		mark := `"`
		if isStruct {
			mark = `iov_base="`
		}
		begin := strings.Index(arguments, mark)
		if begin < 0 {
			break
		}
		arguments = arguments[begin+len(mark):]
		var end int
		data, end = unescape(data, arguments)
		arguments = arguments[end:]
		if strings.HasPrefix(arguments, "...") || !isStruct { // it is cut, or the only one
			break
		}
	}
	return data[:min(len(data), count)]
}

// unescape appends a text of C up to its closing quote, and returns where that ends.
func unescape(data []byte, text string) ([]byte, int) {
	escapes := map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'v': '\v', 'f': '\f', 'a': 7, 'b': 8, 'e': 27}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			return data, i + 1
		}
		if c != '\\' || i+1 == len(text) {
			data = append(data, c)
			continue
		}
		i++
		switch c := text[i]; {
		case c == 'x' && i+2 < len(text):
			n, _ := strconv.ParseUint(text[i+1:i+3], 16, 8)
			data = append(data, byte(n))
			i += 2
		case '0' <= c && c <= '7':
			n := 0
			end := min(i+3, len(text))
			for ; i < end && '0' <= text[i] && text[i] <= '7'; i++ {
				n = n*8 + int(text[i]-'0')
			}
			i--
			data = append(data, byte(n))
		case escapes[c] != 0:
			data = append(data, escapes[c])
		default:
			data = append(data, c)
		}
	}
	return data, len(text)
}

// signalName returns a signal as an event names it.
func signalName(name string) string {
	switch name {
	case "SIGKILL":
		return "killed"
	case "SIGTERM":
		return "terminated"
	case "SIGINT":
		return "interrupt"
	case "SIGHUP":
		return "hangup"
	}
	return strings.ToLower(strings.TrimPrefix(name, "SIG"))
}

// isStrace reports whether a file begins as strace writes, and one of its first lines moves bytes.
func isStrace(head []byte) bool {
	moves, other := 0, 0
	for line := range bytes.Lines(head) {
		text := strings.TrimSpace(string(line))
		if m := stracePID().FindString(text); m != "" {
			text = text[len(m):]
		}
		if m := straceTime().FindString(text); m != "" {
			text = text[len(m):]
		}
		switch {
		case text == "", strings.HasPrefix(text, "strace: "):
		case straceCall().MatchString(text):
			moves++
		case straceAny().MatchString(text):
		default:
			other++
		}
		if other > moves+1 {
			return false
		}
	}
	return moves > 0
}

// straceDecoder turns the bytes of strace into messages.
type straceDecoder struct {
	log
	lines   [3][]byte // what has come of the line so far, by direction; [0] is standard error
	begun   [3]bool   // the first line has passed
	closed  [3]bool
	isWhole bool // the trace has the start of the program
	cut     int
	exited  bool
	main    int // the process of the first call
}

func decodeStrace(data []byte) ([]store.Event, error) {
	d := straceDecoder{isWhole: bytes.Contains(data[:min(len(data), 1<<16)], []byte("execve("))}
	d.open(store.Header{Transport: "stdio", Recorder: "strace"}, data)
	if d.isWhole {
		d.remark("made of what strace wrote")
	} else {
		d.remark("made of what strace wrote; the session was under way when it began, and what had been said before is not here")
	}
	var reader StraceReader
	for line := range bytes.Lines(data) {
		if t, ok := reader.Line(string(line)); ok {
			d.take(t)
		}
	}
	for dir := range d.lines {
		if len(d.lines[dir]) > 0 {
			d.emit(dir, d.at(), true)
		}
	}
	if d.frames == 0 && d.cut > 0 {
		return nil, unreadable("strace has cut the messages: run it again with -s 16777216, and nothing was read")
	}
	if d.frames == 0 && len(d.events) <= 2 {
		return nil, unreadable("no read of descriptor 0 and no write of 1 in it: was another process traced? strace -f follows what a launcher starts")
	}
	return d.close(), nil
}

// take adds what a line of strace says.
func (d *straceDecoder) take(t Traced) {
	at := max(t.At, d.at())
	if d.main == 0 && t.Kind != store.Exited {
		d.main = t.PID
	}
	dir := int(t.Dir)
	switch t.Kind {
	case store.Exited:
		if (t.PID == d.main || t.PID == 0) && !d.exited { // the last process has no number
			d.exited = true
			d.add(store.Event{At: at, Kind: store.Exited, Payload: store.EncodePayload(t.Exit)})
		}
		return
	case store.EOF:
		if !d.closed[dir] {
			d.closed[dir] = true
			d.add(store.Event{At: at, Kind: store.EOF, Dir: t.Dir, Payload: store.EncodePayload(store.EOFInfo{By: t.By})})
		}
		return
	}
	data := t.Data
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		d.lines[dir] = append(d.lines[dir], line...)
		if ended {
			d.emit(dir, at, false)
		}
		data = rest
	}
	if t.Missing > 0 { // the line goes on in what is missing, which may have its end
		d.cut++
		streams := []string{"stderr"}
		if t.Kind == store.Frame {
			streams = []string{t.Dir.String()}
		}
		d.lose(at, store.LostInfo{Frames: 1, Bytes: uint64(len(d.lines[dir]) + t.Missing), Streams: streams, Reason: "strace has left out the end of a text (-s)"})
		d.lines[dir] = nil
	}
}

// emit adds a line of a direction. The first one may be the rest of a message that began before the trace.
func (d *straceDecoder) emit(dir int, at time.Duration, unterminated bool) {
	line := d.lines[dir]
	d.lines[dir] = nil
	isFirst := !d.begun[dir]
	d.begun[dir] = true
	if dir == 0 {
		d.add(store.Event{At: at, Kind: store.Stderr, Payload: line, Unterminated: unterminated})
		return
	}
	text := transport.TrimBlanks(line)
	if isFirst && !d.isWhole && len(text) > 0 && text[0] != '{' && text[0] != '[' {
		d.add(store.Event{At: at, Kind: store.Note, Dir: transport.Direction(dir),
			Payload: store.EncodePayload(store.NoteInfo{Text: fmt.Sprintf("the rest of a message that began before the trace: %d bytes", len(line))})})
		return
	}
	d.add(store.Event{At: at, Kind: store.Frame, Dir: transport.Direction(dir), Payload: line, Unterminated: unterminated})
}
