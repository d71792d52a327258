package foreign

import (
	"crypto/sha256"
	"regexp"
	"strconv"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// processes are two runs of a server that write into one log at the same time. No line says which run wrote it,
// so each message goes to the run that it fits: an answer to the run whose request is open, a request to the run
// that has not used its id. If it fits both, it goes to the run that has had the same line less often, because
// both often say the same things.
type processes struct {
	runs [2]*hostSession
	said [2]map[string]int // of each run: how often it has had a line, by direction and text
	open [2]map[local]bool // by direction and id: an open request
	used [2]map[local]bool
}

// local is an id of the requests of one direction.
type local struct {
	dir transport.Direction
	id  mcp.Key
}

const parallelRemark = "two processes of this server write into the log at once: which line is of which is read from ids and from the order, " +
	"so that a line may be the other's"

// isSecondProcess reports whether a line begins the handshake of a second process: the host has started the
// server twice before any message, and the client says initialize again.
func (s *hostSession) isSecondProcess(line hostLine) bool {
	return s.starts == 2 && s.initialized && !s.hasEnded && line.isInitialize()
}

// second takes a second process apart, whose start stands among the lines of s, and whose first message is line.
func (s *hostSession) second(d hostDialect, line hostLine, number int) *processes {
	second := &hostSession{label: s.label, line: number, start: line.stamp, hash: sha256.New(), closed: map[transport.Direction]bool{}, starts: 1}
	second.hash.Write([]byte("the second process"))
	second.add(store.Event{Kind: store.Opened}) // close has the header
	second.remark(d.remark)
	second.remark(parallelRemark)
	s.starts = 1
	s.flush()
	s.remark(parallelRemark)
	p := &processes{runs: [2]*hostSession{s, second}}
	for i := range p.runs {
		p.said[i] = map[string]int{}
		p.open[i] = map[local]bool{}
		p.used[i] = map[local]bool{}
	}
	for _, e := range s.events {
		if e.Kind == store.Frame {
			p.saw(0, hostLine{what: hostMessage, dir: e.Dir, text: e.Payload})
		}
	}
	return p
}

// haveEnded reports whether both runs have ended.
func (p *processes) haveEnded() bool { return p.runs[0].hasEnded && p.runs[1].hasEnded }

// of returns the run that wrote a line, and notes the line. last is the session of the line before.
func (p *processes) of(line hostLine, last *hostSession) *hostSession {
	var fits []int
	for i := range p.runs {
		if p.fits(i, line) {
			fits = append(fits, i)
		}
	}
	name := line.dir.String() + string(line.text)
	switch {
	case len(fits) == 0 && last == p.runs[1]:
		return last
	case len(fits) == 0:
		fits = []int{0}
	case len(fits) == 2 && p.said[1][name] < p.said[0][name]:
		fits = fits[1:]
	}
	p.saw(fits[0], line)
	return p.runs[fits[0]]
}

// saw notes a message of run i.
func (p *processes) saw(i int, line hostLine) {
	if line.what != hostMessage {
		return
	}
	p.said[i][line.dir.String()+string(line.text)]++
	for _, m := range messagesOf(line.text) {
		switch id := mcp.KeyOf(m.ID); m.Kind() {
		case transport.Request:
			p.open[i][local{line.dir, id}] = true
			p.used[i][local{line.dir, id}] = true
		case transport.Response:
			delete(p.open[i], local{line.dir.Reverse(), id})
		}
	}
}

// fits reports whether run i may have written a line. What is neither a message nor an end belongs to the line
// before it.
func (p *processes) fits(i int, line hostLine) bool {
	s := p.runs[i]
	switch {
	case line.what == hostEOF:
		return !s.closed[line.dir]
	case line.what != hostMessage || s.closed[transport.ClientToServer] && s.closed[transport.ServerToClient]:
		return false
	}
	for _, m := range messagesOf(line.text) {
		switch id := mcp.KeyOf(m.ID); {
		case m.Kind() == transport.Response:
			return p.open[i][local{line.dir.Reverse(), id}]
		case m.Kind() == transport.Request:
			return !p.used[i][local{line.dir, id}]
		case m.Method == mcp.NotificationInitialized:
			return p.said[i][line.dir.String()+string(line.text)] == 0
		}
	}
	return true
}

// Words of a host about a line of the server that it could not read. V8 quotes the beginning of the text, and
// older versions a character.
var (
	v8Quotes    = lazily(`^(?:SyntaxError: )?Unexpected token .{1,6}, "(.*)"(?:\.\.\. | )is not valid JSON`)
	v8Token     = lazily(`^(?:SyntaxError: )?Unexpected token (\S) in JSON at position 0$`)
	vsCodeParse = lazily(`^Failed to parse message: (".*")$`)
)

// notJSON returns the text of the server that the host's words quote. It reports false for other words.
func notJSON(words []byte) (quoted []byte, ok bool) {
	for _, pattern := range []*regexp.Regexp{v8Quotes(), v8Token()} {
		if m := pattern.FindSubmatch(words); m != nil {
			return m[1], true
		}
	}
	if m := vsCodeParse().FindSubmatch(words); m != nil {
		text, err := strconv.Unquote(string(m[1]))
		return []byte(text), err == nil
	}
	return nil, false
}
