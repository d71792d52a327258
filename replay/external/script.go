package external

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// scriptWords are the functions of a script.
//
//go:embed script.sh
var scriptWords string

// Script returns a shell script that shows the finding of a play to a server on its standard input and output,
// without mcprec: it sends the same bytes in the same order, and waits for what the server said in between.
// Only how long the server is left alone is a guess there.
func (s *Shown) Script(server Server) ([]byte, error) {
	switch {
	case s.Finding == nil:
		return nil, errors.New("this order shows nothing: there is no script of it")
	case s.Finding.Peer != "server" || server.URL != "":
		return nil, errors.New("a script plays to a server on its standard input and output; of this one write a session")
	}
	if schedule, err := ParseToken(s.Token); err == nil && slices.ContainsFunc(schedule, func(c Choice) bool { return c.Kind == Sip }) {
		return nil, errors.New("a script cannot make the pipe of the server's output smaller: of this order write a session")
	}
	w := &scriptWriter{files: server.Folder}
	w.line("#!/bin/sh")
	for line := range strings.Lines(strings.TrimSpace(s.Finding.Text())) {
		w.line("# %s", strings.TrimRight(line, "\n"))
	}
	w.line(`#
# mcprec explore found this. The script needs no mcprec: it starts the server, sends it the same bytes in the
# same order, and says what comes of it. The numbers, such as #5, are those of the recording.
#
#   sh FILE              starts the server named below
#   sh FILE COMMAND...   starts another one
#
# PATIENCE=30 in the environment waits longer for an answer, REST=2 leaves a slow server more time between two
# messages.`)
	if s.Finding.Kind == Illegal || s.Finding.Kind == NotSerial || s.Finding.Kind == Unequal {
		w.line("# It shows what the server said, for you to judge. The exit status is 0.")
	} else {
		w.line("# The exit status is 1 if it shows, 0 if not, 3 if the server cannot be started.")
	}
	w.text.WriteString(scriptWords)
	w.line("")
	if server.Folder != "" {
		w.line(`cp -R %s/. "$files" || exit 3`, w.quoteAll([]byte(server.Folder)))
	}
	for _, env := range server.Env {
		name, value, _ := strings.Cut(env, "=")
		w.line("export %s=%s", name, w.quote([]byte(value)))
	}
	var command []string
	for _, word := range server.Command {
		command = append(command, w.quote([]byte(word)))
	}
	w.line("[ $# -gt 0 ] || set -- %s", strings.Join(command, " "))
	w.line(`start "$@"`)
	w.line("")
	w.moves(s)
	w.verdict(s)
	return w.text.Bytes(), w.err
}

// scriptWriter writes a script.
type scriptWriter struct {
	text  bytes.Buffer
	files string            // the folder in whose place each process has a copy; "": none
	names map[string]string // of the client's requests, by id
	err   error
}

func (w *scriptWriter) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

// quote returns a text as one word, with the variable files in the place of the folder.
func (w *scriptWriter) quote(text []byte) string {
	parts := []string{string(text)}
	for _, mark := range []string{child.FolderMark, w.files} {
		var next []string
		for _, part := range parts {
			if mark == "" {
				next = append(next, part)
			} else {
				next = append(next, strings.Split(part, mark)...)
			}
		}
		parts = next
	}
	for i, part := range parts {
		parts[i] = w.quoteAll([]byte(part))
	}
	return strings.Join(parts, `"$files"`)
}

// quoteAll returns a text as one word.
func (w *scriptWriter) quoteAll(text []byte) string {
	if bytes.IndexByte(text, 0) >= 0 {
		w.err = errors.New("a message has a zero byte, which no shell can hold: there is no script of it")
	}
	return "'" + strings.ReplaceAll(string(text), "'", `'\''`) + "'"
}

// moves writes what the client does, and what it waits for.
func (w *scriptWriter) moves(s *Shown) {
	w.names = map[string]string{}
	sent := time.Duration(0)
	var late [][]byte // what is waited for behind the end of the input
	for i, m := range s.Moves {
		switch m.Kind {
		case Wrote:
			w.wrote(m)
			sent = m.At
		case Heard:
			if s.endsBusy(i) {
				late = append(late, m.Frames...)
				continue
			}
			for _, frame := range m.Frames {
				w.heard(frame)
			}
			if i+1 < len(s.Moves) && s.Moves[i+1].Kind == Wrote {
				w.told(s.Moves[:i+1])
			}
		case Rested:
			isLast := i+1 == len(s.Moves)
			switch {
			case isLast || s.Moves[i+1].Kind == Heard: // which is waited for
			case m.Busy: // no longer than it took: a timer may bring the answer
				w.line("sleep %.2f", max(shortestPause, 2*(m.At-sent)).Seconds())
			default:
				w.line("rest")
			}
		case Muted:
			w.line("deaf")
		case Unmuted:
			w.line("listen")
		case Ended:
			w.line("finish")
			for _, frame := range late {
				w.heard(frame)
			}
			late = nil
		case Shut:
			w.line("shut")
		case Signaled:
			if hasEnded := slices.ContainsFunc(s.Moves[:i], func(m Move) bool { return m.Kind == Ended }); !hasEnded { // else it goes on already
				w.line("terminate")
			}
		}
	}
}

// endsBusy reports whether behind a move nothing is sent any more, and the input ends while a call runs: to wait for an answer
// before that would give the call the time to end.
func (s *Shown) endsBusy(at int) bool {
	isBusy := false
	for _, m := range s.Moves[at+1:] {
		switch m.Kind {
		case Heard:
		case Rested:
			isBusy = isBusy || m.Busy
		default:
			return m.Kind == Ended && isBusy
		}
	}
	return false
}

// shortestPause is how long a process gets at least to read a message.
const shortestPause = 20 * time.Millisecond

func (w *scriptWriter) wrote(m Move) {
	var words []string
	for i, frame := range m.Frames {
		for _, message := range timeline.MessagesOf(transport.Frame{Bytes: frame}) {
			switch {
			case message.Kind() == transport.Request:
				w.names[string(message.ID)] = strings.TrimSpace(message.Method + " " + timeline.TargetOf(message))
			case message.Method == mcp.NotificationCancelled: // an answer may come, and need not
				delete(w.names, string(timeline.CancelledID(message)))
			}
		}
		if i == 0 && m.Split > 0 && m.Split < len(frame) {
			w.line("part %s", w.quote(frame[:m.Split]))
			w.line("rest")
			frame = frame[m.Split:]
		}
		words = append(words, w.quote(frame))
	}
	w.line("say %s", strings.Join(words, " \\\n\t"))
}

// told waits for the notification that the last of some moves has heard, if it is one: the client goes on as soon as it comes.
func (w *scriptWriter) told(moves []Move) {
	methods := map[string]int{}
	last := ""
	for _, m := range moves {
		for _, frame := range m.Frames {
			for _, message := range timeline.MessagesOf(transport.Frame{Bytes: frame}) {
				last = ""
				if m.Kind == Heard && message.Kind() == transport.Notification {
					last = message.Method
					methods[last]++
				}
			}
		}
	}
	if last != "" {
		w.line("told %s %d", w.quoteAll([]byte(last)), methods[last])
	}
}

// heard waits for an answer or a question of the server.
func (w *scriptWriter) heard(frame []byte) {
	for _, m := range timeline.MessagesOf(transport.Frame{Bytes: frame}) {
		switch m.Kind() {
		case transport.Response:
			w.answer(m.ID)
		case transport.Request:
			w.line("question %s", w.quoteAll([]byte(m.Method)))
		}
	}
}

func (w *scriptWriter) answer(id json.RawMessage) {
	if name, isAsked := w.names[string(id)]; isAsked {
		special := strings.NewReplacer(`\`, `\\`, `.`, `\.`, `[`, `\[`, `*`, `\*`, `^`, `\^`, `$`, `\$`)
		w.line("answer %s %s", w.quoteAll([]byte(special.Replace(string(id)))), w.quoteAll([]byte(name)))
	}
}

// verdict writes what shows the finding.
func (w *scriptWriter) verdict(s *Shown) {
	f := s.Finding
	ended := slices.IndexFunc(s.Moves, func(m Move) bool { return m.Kind == Ended })
	isRough := slices.ContainsFunc(s.Moves[:max(ended, 0)], func(m Move) bool { return m.Kind == Shut || m.Kind == Signaled })
	w.line("")
	if f.Kind == Illegal {
		w.printSaid("what the server said; it breaks the rule that is told above:")
		return
	}
	if f.Kind == Lingers || f.Kind == Died || len(f.Requests) == 0 {
		switch {
		case f.Kind == Died && ended < 0:
			w.line(`await ended; ran; ended && shows "the server ended by itself, with status $(cat "$dir/status")"`)
			w.line(`hidden "the server goes on"`)
		case isRough:
			w.line("leaves")
		case ended < 0:
			w.line("finish")
			fallthrough
		default:
			w.line("ends")
		}
		return
	}
	for _, r := range f.Requests {
		w.answer(s.ids[r.Event])
	}
	if f.Kind == NotSerial || f.Kind == Unequal {
		w.printSaid("what the server said; the recorded order and this one differ as told above:")
		return
	}
	w.line(`hidden "every call was answered"`)
}

// printSaid prints what the server said, for the reader to judge, behind a heading.
func (w *scriptWriter) printSaid(heading string) {
	w.line("rest")
	w.line("echo %s", w.quoteAll([]byte(heading)))
	w.line(`cat "$dir/out"`)
}
