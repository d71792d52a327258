package explore

import (
	"context"
	"testing"
)

// BenchmarkRecorded is the cost of a schedule in which a live pair, a live client
// against the recorded server, and both recorded halves say the same.
func BenchmarkRecorded(b *testing.B) {
	session := recording("> 1:one\n> 2:two\n< %1\n< %2\n< 2=b\n< 1=a")
	calls := func(r *Run) {
		client := newPeer(r.Client())
		r.Go(client.read)
		for _, name := range []string{"one", "two"} {
			r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
		}
	}
	for _, form := range []struct {
		name  string
		level Level
		setup func(*Run)
	}{
		{"live", DeliveryOrder, func(r *Run) { serveTools(r); calls(r) }},
		{"server", DeliveryOrder, func(r *Run) { r.RecordedServer(); calls(r) }},
		{"pair", DeliveryOrder, func(r *Run) { r.RecordedServer(); r.RecordedClient() }},
		{"pairL1", SendingOrder, func(r *Run) { r.RecordedServer(); r.RecordedClient() }},
	} {
		b.Run(form.name, func(b *testing.B) {
			b.ReportAllocs()
			p := Plan{Session: session, Level: form.level, Setup: form.setup, Schedules: b.N, Capacities: fixed(1, 1)}
			r, err := Judge(p)
			if err != nil || r.Verdict != Pass {
				b.Fatal(r.Text())
			}
		})
	}
}
