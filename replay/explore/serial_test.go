package explore

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
)

// A serial half works at a request in any order, and what is behind it is not read.
func TestSerial(t *testing.T) {
	for _, tt := range []struct {
		name, lines    string
		client, server closed.Model
		level          Level
		want, says     string
	}{
		{"one call after the other", "> 1:a\n> 2:b\n< 1=\n< 2=", closed.BlockingHandlers, closed.BlockingHandlers, SendingOrder, "pass", ""},
		{"a handler asks", "> 1:a\n< 1:roots/list\n> 1=", closed.Independent, closed.BlockingHandlers, SendingOrder, "hang blocked behind a request", "works at it, and reads on when it was answered"},
		{"a handler asks, in recorded order", "> 1:a\n< 1:roots/list\n> 1=\n< 1=", closed.Independent, closed.BlockingHandlers, DeliveryOrder, "hang blocked behind a request", "what it waits for is behind it"},
		{"a tool asks beside the reader", "> 1:tools/call\n< 1:roots/list\n> 1=", closed.Independent, closed.BlockingHandlersExceptTools, SendingOrder, "pass", ""},
		{"another handler asks", "> 1:resources/read\n< 1:roots/list\n> 1=", closed.Independent, closed.BlockingHandlersExceptTools, SendingOrder, "hang blocked behind a request", ""},
		{"nobody reads", "> 1:a\n< 1:roots/list\n> 1=\n< 1=", closed.BlockingHandlers, closed.BlockingHandlers, SendingOrder, "hang both sides write and neither reads", "both sides are at a write"},
		{"each asks the other", "< ~tools/list_changed\n> 1:tools/list\n< 1:ping", closed.BlockingHandlers, closed.BlockingHandlers, DeliveryOrder, "hang each waits for the other's answer", "each has asked the other since"},
		{"nothing ends it", "> 1:a\n> 2:b", closed.Independent, closed.BlockingHandlers, DeliveryOrder, "hang never sent", "nothing that ends that"},
		{"notifications behind it", "> 1:a\n> ~message", closed.Independent, closed.BlockingHandlers, DeliveryOrder, "hang never sent", "passes at 1 (20 orders) and unbounded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Modeled(recording(tt.lines), tt.client, tt.server)
			if err != nil {
				t.Fatal(err)
			}
			p.Level, p.Shrink = tt.level, -1
			r := Search(t, p)
			if got := strings.TrimSpace(r.Verdict + " " + r.Category); got != tt.want || !strings.Contains(r.Text(), tt.says) {
				t.Errorf("want %s, %q\n%s", tt.want, tt.says, r.Text())
			}
		})
	}
}
