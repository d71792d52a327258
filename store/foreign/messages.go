package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Three formats have little more than the messages.
//
// messages: JSON-RPC messages, one after the other or in an array, as a tee of both pipes or a debugger
// leaves them. Nothing says which end wrote a message, so it is told from the messages: see sides. An object
// around a message may name its direction and its time.
//
//	{"jsonrpc":"2.0","id":1,"method":"tools/list"}
//	{"timestamp":"2026-07-24T02:03:14Z","direction":"client_to_server","message":{…}}
//
// transcript: a line for each message, with an arrow before it.
//
//	> {"jsonrpc":"2.0",…}        --> {"jsonrpc":"2.0",…}
//	< {"jsonrpc":"2.0",…}        <-- {"jsonrpc":"2.0",…}
//
// go-sdk-log: the writer of LoggingTransport of the official Go SDK, which wraps the transport of either end.
//
//	write: {"jsonrpc":"2.0",…}
//	read: {"jsonrpc":"2.0",…}
//	read error: EOF
//
// The messages are frames; the other lines of a transcript or a log, and the members around a message, are
// notes. Where there are no times, every event is at 0. A client that says initialize again begins another
// session.

const (
	bareRemark = "the file has messages alone: which side wrote each is read from its method and its id; " +
		"the messages have the bytes of the file, which need not be those that passed"
	arrowRemark = "the messages have the bytes of the file, which need not be those that passed; which arrow is the client's is read from the messages"
	goSDKRemark = "the messages have the bytes of LoggingTransport of the Go SDK, which are those of its own encoding; it logs a message when it has " +
		"been written or read by the end that it stands in"
	timeless = "the file has no times: every event is at 0"
)

// marked is a message of a file with what the file says of it.
type marked struct {
	mark  string // what stands before it, or its direction in words
	text  []byte
	at    time.Time // zero: not told
	rest  object    // other members around it
	note  string    // a line that is no message
	eof   bool      // the end of what the logging end reads
	isCut bool      // a message without its end
	line  int
}

// arrows are the marks of transcripts, of one end and of the other.
var arrows = []string{"-->", "<--", "->", "<-", "=>", "<=", ">>>", "<<<", ">>", "<<", ">", "<", "→", "←"}

// arrowOf returns the arrow at the beginning of a line, and what follows it.
func arrowOf(line []byte) (arrow string, rest []byte, ok bool) {
	line = transport.TrimBlanks(line)
	for _, arrow := range arrows {
		if after, found := bytes.CutPrefix(line, []byte(arrow)); found {
			after = transport.TrimBlanks(bytes.TrimPrefix(transport.TrimBlanks(after), []byte(":")))
			return arrow, after, isMessageText(after)
		}
	}
	return "", nil, false
}

// isMessageText reports whether a text begins as a message does.
func isMessageText(text []byte) bool {
	return (bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[{"))) && bytes.Contains(text[:min(len(text), 1<<20)], []byte(`"jsonrpc"`))
}

func isTranscript(head []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(head, byteOrderMark)) {
		if len(transport.TrimBlanks(line)) == 0 {
			continue
		}
		_, _, ok := arrowOf(line)
		return ok
	}
	return false
}

// goSDKMark splits a line of LoggingTransport.
func goSDKMark(line []byte) (mark string, rest []byte, ok bool) {
	for _, mark := range []string{"read", "write"} {
		if rest, found := bytes.CutPrefix(line, []byte(mark+": ")); found {
			return mark, rest, isMessageText(rest)
		}
	}
	return "", nil, false
}

func isGoSDKLog(head []byte) bool {
	if claudeDesktop.detects(head) || vsCode.detects(head) {
		return false // the log is a server's standard error there
	}
	for line := range bytes.Lines(bytes.TrimPrefix(head, byteOrderMark)) {
		if _, _, ok := goSDKMark(line); ok {
			return true
		}
	}
	return false
}

func isMessages(head []byte) bool {
	head = transport.TrimBlanks(bytes.TrimPrefix(head, byteOrderMark))
	if rest, isArray := bytes.CutPrefix(head, []byte("[")); isArray {
		head = transport.TrimBlanks(rest)
	}
	members := opening(head)
	if members.has("mcprec") || members.has("t_ns") || members.has("log") {
		return false
	}
	if members.has("jsonrpc") {
		return members.has("method") || members.has("id") || members.has("error")
	}
	_, _, ok := unwrap(members)
	return ok
}

// envelopes are the names of the member around a message, and directions those of its direction.
var (
	envelopes  = []string{"message", "payload", "data", "msg", "rpc"}
	directions = []string{"direction", "dir", "from", "sender", "source"}
	stamps     = []string{"timestamp", "time", "ts", "at"}
)

// unwrap finds the direction and the message in the members of an object.
func unwrap(members object) (direction string, message []byte, ok bool) {
	for _, name := range directions {
		if direction = members.text(name); directionOf(direction) != transport.NoDirection {
			break
		}
	}
	if directionOf(direction) == transport.NoDirection {
		return "", nil, false
	}
	for _, name := range envelopes {
		i := members.index(name)
		if i < 0 {
			continue
		}
		message = members[i].raw
		if text, isText := transport.Text(message); isText {
			message = []byte(text)
		}
		if isMessageText(message) {
			return direction, message, true
		}
	}
	return "", nil, false
}

// directionOf reads a direction in words.
func directionOf(words string) transport.Direction {
	word := strings.NewReplacer("_", "", "-", "", " ", "", ">", "").Replace(strings.ToLower(words))
	switch word {
	case "clienttoserver", "c2s", "clientserver", "client", "fromclient", "request":
		return transport.ClientToServer
	case "servertoclient", "s2c", "serverclient", "server", "fromserver", "response":
		return transport.ServerToClient
	}
	return transport.NoDirection
}

func decodeTranscripts(data []byte) ([][]store.Event, error) {
	return decodeLines(data, "transcript", arrowRemark, arrowOf)
}

func decodeGoSDKLogs(data []byte) ([][]store.Event, error) {
	return decodeLines(data, "LoggingTransport of go-sdk", goSDKRemark, goSDKMark)
}

// decodeLines reads a file with a mark before each message.
func decodeLines(data []byte, recorder, remark string, split func([]byte) (string, []byte, bool)) ([][]store.Event, error) {
	var list []marked
	number := 0
	for whole := range bytes.Lines(bytes.TrimPrefix(data, byteOrderMark)) {
		number++
		line := trimLineEnd(whole)
		if len(transport.TrimBlanks(line)) == 0 {
			continue
		}
		mark, text, ok := split(line)
		switch {
		case ok && !bytes.HasSuffix(whole, []byte("\n")) && !json.Valid(text):
			list = append(list, marked{isCut: true, line: number})
		case ok:
			list = append(list, marked{mark: mark, text: text, line: number})
		case bytes.Equal(line, []byte("read error: EOF")):
			list = append(list, marked{mark: "read", eof: true, line: number})
		default:
			list = append(list, marked{note: strings.ToValidUTF8(string(line), "\uFFFD"), line: number})
		}
	}
	return build(data, list, recorder, remark)
}

// decodeBares reads a file of messages.
func decodeBares(data []byte) ([][]store.Event, error) {
	rest := bytes.TrimPrefix(data, byteOrderMark)
	var list []marked
	take := func(one json.RawMessage, line int) { list = append(list, bare(one, line)) }
	if parts, isWhole := values(rest); isWhole {
		for _, p := range parts {
			take(p.raw, p.line)
		}
		return build(data, list, "messages", bareRemark)
	}
	number := 0
	for whole := range bytes.Lines(rest) { // other text stands between
		number++
		line := transport.TrimBlanks(whole)
		switch {
		case len(line) == 0:
		case json.Valid(line):
			take(line, number)
		case isMessageText(line) && !bytes.HasSuffix(whole, []byte("\n")):
			list = append(list, marked{isCut: true, line: number})
		default:
			list = append(list, marked{note: strings.ToValidUTF8(string(line), "\uFFFD"), line: number})
		}
	}
	return build(data, list, "messages", bareRemark)
}

// values returns the JSON values of a text, or the elements of one array of objects. It reports false for a
// text with anything else in it.
func values(text []byte) (list []part, isWhole bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false
		}
		list = append(list, part{member{raw: raw}, 1 + bytes.Count(text[:dec.InputOffset()-int64(len(raw))], []byte("\n"))})
	}
	if len(list) == 1 && list[0].raw[0] == '[' {
		elements, err := partsOf(list[0], '[')
		return elements, err == nil
	}
	return list, true
}

// bare reads a value of a file of messages.
func bare(one json.RawMessage, line int) marked {
	members, err := parseObject(one)
	if err != nil || members.has("jsonrpc") { // or a batch
		return marked{text: oneLine(one), line: line}
	}
	direction, message, ok := unwrap(members)
	if !ok {
		return marked{note: string(oneLine(one)), line: line}
	}
	m := marked{mark: direction, text: oneLine(message), line: line}
	for _, name := range stamps {
		if stamp, err := members.wall(name); err == nil {
			m.at = stamp
			break
		}
	}
	for _, member := range members {
		if !slices.Contains(slices.Concat(envelopes, directions, stamps), member.key) {
			m.rest = append(m.rest, member)
		}
	}
	return m
}

// build makes sessions of the messages of a file.
func build(data []byte, list []marked, recorder, remark string) ([][]store.Event, error) {
	sides := newSides(list)
	var all []*log
	var start time.Time
	var l *log
	initialized := false
	begin := func() {
		file := data
		if len(all) > 0 { // each session needs an id of its own
			file = fmt.Appendf(nil, "%d %s", len(all), data)
		}
		l = &log{}
		l.open(store.Header{Start: start, Transport: "stdio", Recorder: recorder}, file)
		l.remark(remark)
		if start.IsZero() {
			l.remark(timeless)
		}
		all = append(all, l)
		initialized = false
	}
	frames := uint64(0)
	for i, m := range list {
		dir := sides.of(i)
		begins := dir == transport.ClientToServer && isInitialize(m.text)
		if l == nil || begins && initialized {
			start = m.at
			begin()
			sides.forget()
			dir = sides.of(i)
		}
		initialized = initialized || begins
		at := l.at()
		if !m.at.IsZero() && !start.IsZero() {
			at = max(at, m.at.Sub(start))
		}
		switch {
		case m.eof:
			l.add(store.Event{At: at, Kind: store.EOF, Dir: sides.ofMark(m.mark), Payload: store.EncodePayload(store.EOFInfo{By: "sender"})})
		case m.isCut:
			l.lose(at, store.LostInfo{Frames: 1, Reason: "the file ends in the middle of a message"})
		case m.text == nil:
			l.noteRest(at, transport.NoDirection, object{{"text", store.EncodePayload(m.note)}})
		default:
			sides.saw(i, dir)
			l.add(store.Event{At: at, Kind: store.Frame, Dir: dir, Payload: bytes.Clone(m.text)})
			l.noteRest(at, dir, m.rest)
			frames++
		}
	}
	if frames == 0 {
		return nil, unreadable("no message between a client and a server is in it")
	}
	var events [][]store.Event
	for _, l := range all {
		events = append(events, l.close())
	}
	return events, nil
}

func isInitialize(text []byte) bool {
	if !bytes.Contains(text, []byte(mcp.MethodInitialize)) {
		return false
	}
	messages := messagesOf(text)
	return len(messages) == 1 && messages[0].Kind() == transport.Request && messages[0].Method == mcp.MethodInitialize
}

// one returns the session of a file with one.
func one(decodeAll func([]byte) ([][]store.Event, error)) func([]byte) ([]store.Event, error) {
	return func(data []byte) ([]store.Event, error) {
		all, err := decodeAll(data)
		if err == nil && len(all) > 1 {
			err = fmt.Errorf("%d sessions: want one session in a file; mcprec import makes a session of each", len(all))
		}
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
}

// sides tells which end wrote the messages of a file.
//
// A mark that only messages of one end have is that end's, and the other mark is the other's. Without marks, the
// end whose method it is has sent a request or a notification. A response goes the other way than the latest
// open request with its id, progress the other way than the request with its token, and a cancellation the same
// way as its request. Any other request is the client's, and any other notification the server's.
type sides struct {
	list   []marked
	marks  map[string]transport.Direction
	opened map[mcp.Key][]transport.Direction // by id: the directions of the open requests
	tokens map[mcp.Key]transport.Direction
}

func newSides(list []marked) *sides {
	s := &sides{list: list, marks: map[string]transport.Direction{}}
	s.forget()
	score := map[string]int{} // above 0: the client's
	var order []string
	for _, m := range list {
		if m.mark == "" || m.text == nil {
			continue
		}
		if !slices.Contains(order, m.mark) {
			order = append(order, m.mark)
		}
		if dir := directionOf(m.mark); dir != transport.NoDirection {
			s.marks[m.mark] = dir
			continue
		}
		for _, message := range messagesOf(m.text) {
			switch sideOf(message) {
			case transport.ClientToServer:
				score[m.mark]++
			case transport.ServerToClient:
				score[m.mark]--
			}
		}
	}
	if len(order) != 2 || len(s.marks) > 0 { // one mark is a quotation's, and says nothing
		return s
	}
	first, second := order[0], order[1]
	client := first
	if score[second] > score[first] {
		client = second
	}
	for _, mark := range order {
		s.marks[mark] = transport.ServerToClient
		if mark == client {
			s.marks[mark] = transport.ClientToServer
		}
	}
	return s
}

// forget begins another session.
func (s *sides) forget() {
	s.opened = map[mcp.Key][]transport.Direction{}
	s.tokens = map[mcp.Key]transport.Direction{}
}

func (s *sides) ofMark(mark string) transport.Direction {
	if dir := s.marks[mark]; dir != transport.NoDirection {
		return dir
	}
	return transport.ServerToClient
}

// of returns the direction of entry i.
func (s *sides) of(i int) transport.Direction {
	m := s.list[i]
	if dir := s.marks[m.mark]; dir != transport.NoDirection || m.text == nil {
		return dir
	}
	for _, message := range messagesOf(m.text) {
		if dir := s.guess(message); dir != transport.NoDirection {
			return dir
		}
	}
	return transport.ServerToClient
}

func (s *sides) guess(m transport.Message) transport.Direction {
	if dir := sideOf(m); dir != transport.NoDirection {
		return dir
	}
	switch {
	case m.Kind() == transport.Response:
		if open := s.opened[mcp.KeyOf(m.ID)]; len(open) > 0 {
			return open[len(open)-1].Reverse()
		}
		return transport.ServerToClient
	case m.Method == mcp.NotificationProgress:
		if dir := s.tokens[mcp.KeyOf(m.ProgressToken())]; dir != transport.NoDirection {
			return dir.Reverse()
		}
		return transport.ServerToClient
	case m.Method == mcp.NotificationCancelled:
		if open := s.opened[mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID))]; len(open) > 0 {
			return open[len(open)-1]
		}
		return transport.ClientToServer
	case m.Kind() == transport.Request:
		return transport.ClientToServer
	}
	return transport.ServerToClient
}

// saw notes the requests and the answers of entry i, which goes in a direction.
func (s *sides) saw(i int, dir transport.Direction) {
	for _, m := range messagesOf(s.list[i].text) {
		switch id := mcp.KeyOf(m.ID); m.Kind() {
		case transport.Request:
			s.opened[id] = append(s.opened[id], dir)
			if token := m.ProgressToken(); token != nil {
				s.tokens[mcp.KeyOf(token)] = dir
			}
		case transport.Response:
			open := s.opened[id]
			if at := slices.Index(open, dir.Reverse()); at >= 0 {
				s.opened[id] = slices.Delete(open, at, at+1)
			}
		}
	}
}

// sideOf returns the direction of a message whose method only one end sends; none of the others.
func sideOf(m transport.Message) transport.Direction {
	switch m.Method {
	case "", mcp.MethodPing, mcp.NotificationProgress, mcp.NotificationCancelled, mcp.MethodListTasks, mcp.MethodGetTask, mcp.MethodTaskResult, mcp.MethodCancelTask, mcp.NotificationTaskStatus:
		return transport.NoDirection
	case mcp.MethodCreateMessage, mcp.MethodElicit, mcp.MethodListRoots, mcp.NotificationMessage,
		mcp.NotificationToolListChanged, mcp.NotificationPromptListChanged, mcp.NotificationResourceListChanged, mcp.NotificationResourceUpdated,
		mcp.NotificationElicitationComplete, mcp.NotificationAcknowledged, mcp.NotificationTasks,
		"session/update", "session/request_permission", "textDocument/publishDiagnostics", "workspace/configuration", "client/registerCapability":
		return transport.ServerToClient
	}
	switch prefix, _, _ := strings.Cut(m.Method, "/"); prefix {
	case "fs", "terminal", "window":
		return transport.ServerToClient
	case "session", "textDocument":
		return transport.ClientToServer
	}
	if slices.Contains(mcp.Methods(), m.Method) || m.Method == "initialized" {
		return transport.ClientToServer
	}
	return transport.NoDirection
}
