package external

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// withoutEndsOfHangs returns the events of a session without the cancellations of calls that hung: a client with a
// time limit cancels what hangs, and a call that is cancelled is owed no answer. Played as recorded, the hang
// would not be judged. A cancellation over HTTP goes with its exchange.
func withoutEndsOfHangs(events []store.Event) []store.Event {
	hung := hungCalls(events)
	if len(hung) == 0 {
		return events
	}
	frames, exchanges := map[uint64]bool{}, map[uint64]bool{}
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		isKept := func(m timeline.Message) bool {
			return m.Method != mcp.NotificationCancelled || m.Call == nil || !hung[m.Call.Request]
		}
		if step.Dir == transport.ClientToServer && len(step.Messages) > 0 && !slices.ContainsFunc(step.Messages, isKept) {
			frames[e.Seq] = true
			exchanges[e.Stream] = e.Stream != 0
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return frames[e.Seq] || exchanges[e.Stream] })
}

// hungCalls returns the calls of the client that hung until it cancelled them, by their events: those that the
// server kept waiting, without progress, for as long as package why waits.
func hungCalls(events []store.Event) map[uint64]bool {
	var fold why.Fold
	_ = timeline.Project(timeline.Steps(jsonl.Each(events)), &fold) // what cannot be read shows no hang
	report := fold.Report(why.Live{}, 0)
	suspected := map[uint64]bool{}
	for _, f := range report.Findings {
		for _, seq := range f.Calls {
			suspected[seq] = suspected[seq] || f.Culprit != "client"
		}
	}
	for _, open := range report.Open { // the client went on
		suspected[open.Call] = suspected[open.Call] || open.Why == why.GivenUp && open.Culprit == "server"
	}
	at := map[uint64]time.Duration{}
	for _, e := range events {
		at[e.Seq] = e.At
	}
	hung := map[uint64]bool{}
	for _, c := range timeline.CallsOf(events).All() {
		last := c.Request
		for _, seq := range c.Progress {
			if seq < c.Cancelled {
				last = max(last, seq)
			}
		}
		isCancelled := c.Dir == transport.ClientToServer && c.Cancelled != 0 && !c.Answered()
		if isCancelled && suspected[c.Request] && at[c.Cancelled]-at[last] >= cmp.Or(report.After, why.Patience) {
			hung[c.Request] = true
		}
	}
	return hung
}
