//go:build amd64 || arm64

package external

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/transport"
)

// probed is a server whose way to read and write its fault names: free, inline, serial, beside (serial but for
// tools/call), inbox (a queue of 2 while it waits for roots), stops (after 3 notifications), reversed (the
// answers to a chunk).
type probed struct {
	fault    string
	out      sync.Mutex
	roots    chan transport.Message // answers to roots/list
	sampling chan transport.Message // and to sampling/createMessage
	queue    chan transport.Message
	isOpen   bool // roots/list has no answer; of the loop
	told     int
}

// runProbed is the process of a probed server.
func runProbed(fault string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1) // else the runtime ends a program whose goroutines all wait
	s := &probed{fault: fault, roots: make(chan transport.Message), sampling: make(chan transport.Message), queue: make(chan transport.Message, 2)}
	reader := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		if _, err := reader.Peek(1); err != nil {
			return 0
		}
		chunk, _ := reader.Peek(reader.Buffered())
		end := bytes.LastIndexByte(chunk, '\n') + 1
		if end == 0 { // half a line
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return 0
			}
			s.takeAll(line)
			continue
		}
		lines := bytes.Clone(chunk[:end])
		_, _ = reader.Discard(end)
		s.takeAll(lines)
	}
}

func (s *probed) takeAll(lines []byte) {
	messages := messagesIn(lines)
	if s.fault == "reversed" {
		slices.Reverse(messages)
	}
	for _, m := range messages {
		s.take(m)
	}
}

func (s *probed) write(format string, args ...any) {
	s.out.Lock()
	defer s.out.Unlock()
	fmt.Printf(format+"\n", args...)
}

func (s *probed) take(m transport.Message) {
	switch m.Kind() {
	case transport.Response:
		waiting := s.sampling
		if string(m.ID) == "1" {
			s.isOpen = false
			waiting = s.roots
		}
		go func() { waiting <- m }()
	case transport.Request:
		isLoops := s.fault == "answers-inline" || s.fault == "blocking-handlers" || s.fault == "reversed" || s.fault == "beside" && m.Method != "tools/call"
		if isLoops {
			s.answer(m)
		} else {
			go s.answer(m)
		}
	case transport.Notification:
		s.notification(m)
	}
}

func (s *probed) answer(m transport.Message) {
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"probed","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.write(`{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}`)
		<-s.sampling
		result = `{"content":[]}`
	}
	s.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *probed) notification(m transport.Message) {
	if s.told++; s.fault == "stops" && s.told > 4 { // initialized is the first
		<-make(chan bool)
	}
	if s.fault == "inbox" && s.isOpen {
		s.queue <- m
	}
	if m.Method != "notifications/roots/list_changed" || s.fault == "answers-inline" || s.fault == "stops" {
		return
	}
	s.isOpen = true
	ask := func() {
		s.write(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		<-s.roots
	}
	if s.fault == "blocking-handlers" || s.fault == "beside" {
		ask()
		return
	}
	go ask()
}

// A server process that is known is measured as what it is.
func TestProbe(t *testing.T) {
	for _, tt := range []struct{ fault, call, model, says string }{
		{"independent", "", "independent", "went on"},
		{"answers-inline", "", "answers-inline", "no handler asked the client for anything"},
		{"blocking-handlers", "", "blocking-handlers", "name a slow call; if the answer is yes, the model is blocking-handlers-except-tools"},
		{"beside", "ask", "blocking-handlers-except-tools", "while sampling/createMessage had no answer"},
		{"inbox", "", "notification-queue=2", "with 3 notifications before the answer to its request it answers nothing any more"},
		{"stops", "", "", "with 4 notifications before a request it answers nothing any more"},
		{"reversed", "", "answers-inline", "reversed: 8 requests in one go"},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			server := Server{Command: []string{os.Args[0]}, Env: []string{probedEnv + "=" + tt.fault}}
			report, err := Probe(server, probe.Options{Call: tt.call, Notifications: 16}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.Word() != tt.model || !strings.Contains(report.Text(), tt.says) {
				t.Errorf("model %q, want %s, and %q in\n%s", report.Word(), tt.model, tt.says, report.Text())
			}
		})
	}
}

// A probe that is ended early says so, and starts no process more.
func TestProbeStopped(t *testing.T) {
	stop := make(chan struct{})
	played := 0
	_, err := Probe(Server{Command: []string{os.Args[0]}, Env: []string{probedEnv + "=free"}}, probe.Options{Notifications: 16}, stop, func(experiments int) {
		if played = experiments; experiments == 2 {
			close(stop)
		}
	})
	if err != child.ErrStopped || played != 2 {
		t.Errorf("%v after %d experiments", err, played)
	}
}

// probedEnv makes the test binary a server that is probed.
const probedEnv = "MCPREC_EXTERNAL_PROBED"
