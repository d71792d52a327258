package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// recordTwoCalls returns one run of two calls as a recording: a failing run is one.
func recordTwoCalls(t *testing.T, revision string) []store.Event {
	r := explore.Search(t, explore.Plan{Setup: twoCalls(revision), Schedules: 1, Shrink: -1,
		Check: func(*explore.Run) error { return errors.New("to have it recorded") }})
	if len(r.Events) == 0 {
		t.Fatal(r.Text())
	}
	return r.Events
}

// liveClient plays twoCalls' client against the recorded server.
func liveClient(revision string) func(*explore.Run) {
	return func(r *explore.Run) {
		r.RecordedServer()
		client := newClient(&mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
		})
		p := &peers{}
		r.Op("connect", func(context.Context) (err error) {
			p.client, err = client.Connect(r.Context(), gosdk.Transport(r.Client()),
				speaking(revision))
			return err
		})
		p.op(r, "call", func(ctx context.Context) error { return callCount(ctx, p.client) })
		p.op(r, "list", func(ctx context.Context) error { return listTools(ctx, p.client) })
	}
}

// liveServer plays twoCalls' server against the recorded client.
func liveServer(r *explore.Run) {
	if _, err := newServer().Connect(r.Context(), gosdk.Transport(r.Server()), nil); err != nil {
		panic(err)
	}
	r.RecordedClient()
}

// TestExploreRecorded: the SDK's client passes against its recorded server and its
// server against its recorded client, in recorded order and in any legal one, and
// neither says anything that the recorded one did not.
func TestExploreRecorded(t *testing.T) {
	for _, revision := range revisions {
		session := recordTwoCalls(t, revision)
		for name, setup := range map[string]func(*explore.Run){"client": liveClient(revision), "server": liveServer} {
			for _, level := range []explore.Level{explore.DeliveryOrder, explore.SendingOrder} {
				t.Run(fmt.Sprintf("%s %v live %s", revision, level, name), func(t *testing.T) {
					explore.Explore(t, explore.Plan{Session: session, Level: level, Setup: setup, Schedules: 60,
						Check: func(r *explore.Run) error {
							if f := r.Findings(); len(f) > 0 {
								return fmt.Errorf("findings: %v", f)
							}
							return r.Failures()
						}})
				})
			}
		}
	}
}
