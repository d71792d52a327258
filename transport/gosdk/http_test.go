package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// httpTap returns a tap, and what gives its frames after its end: each with its
// direction, in an order of their own, for exchanges have none among them.
func httpTap(t *testing.T) (*httptap.Tap, func() []string) {
	sessions := memstore.New()
	tap := httptap.New(httptap.Options{Open: func(h store.Header) *recorder.Recorder {
		rec, err := recorder.New(t.Context(), sessions, h)
		if err != nil {
			t.Error(err)
			return recorder.Unrecorded(err)
		}
		return rec
	}})
	return tap, func() (frames []string) {
		tap.Close()
		for s, err := range sessions.Sessions(context.Background(), store.Query{}) {
			if err != nil {
				t.Error(err)
			}
			for e := range sessions.Read(context.Background(), s.ID, 1, store.ReadOptions{}) {
				if e.Kind == store.Frame {
					frames = append(frames, fmt.Sprint(e.Dir, " ", strings.TrimSuffix(string(e.Payload), "\n")))
				}
			}
		}
		slices.Sort(frames)
		return frames
	}
}

// The SDK's client and server over HTTP, each with a tap of its own in its process:
// both saw the same.
func TestHTTPFaces(t *testing.T) {
	clientTap, clientSaw := httpTap(t)
	serverTap, serverSaw := httpTap(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for i := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{}, nil, nil
	})
	front := httptest.NewServer(serverTap.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)))
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: front.URL,
		HTTPClient: &http.Client{Transport: clientTap.RoundTripper(http.DefaultTransport)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: "count"}
	params.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	front.CloseClientConnections()
	front.Close()
	c, s := clientSaw(), serverSaw()
	if !slices.Equal(c, s) || len(c) < 8 {
		t.Errorf("the client's tap saw\n%s\n\nthe server's\n%s", strings.Join(c, "\n"), strings.Join(s, "\n"))
	}
}

// overHTTP is a conforming pair over Streamable HTTP, in which each call has a deadline. No two of
// them can pass at the same moment.
func overHTTP(revision string) func(*explore.Run) {
	return func(r *explore.Run) {
		server := newServer()
		// The end of a session is a request with a deadline of the SDK's own: it may not arrive.
		options := &mcp.StreamableHTTPOptions{SessionTimeout: time.Hour}
		r.Handle(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
		client := newClient(&mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
		})
		p := &peers{}
		r.Op("connect", func(context.Context) (err error) {
			p.client, err = client.Connect(r.Context(), &mcp.StreamableClientTransport{Endpoint: "http://server/mcp", HTTPClient: r.HTTPClient()},
				speaking(revision))
			return err
		})
		within := func(deadline time.Duration, do func(context.Context, *mcp.ClientSession) error) func(context.Context) error {
			return func(ctx context.Context) error {
				ctx, stop := context.WithTimeout(ctx, deadline)
				defer stop()
				return do(ctx, p.client)
			}
		}
		p.op(r, "call", within(60*time.Second, callCount))
		p.op(r, "list", within(70*time.Second, listTools))
		p.op(r, "list again", within(85*time.Second, listTools)).After("call")
		p.op(r, "close", func(context.Context) error { return p.client.Close() }).AfterAll()
	}
}

// TestExploreHTTP: a pair of the SDK over Streamable HTTP is right in any order of its exchanges,
// also where deadlines pass while they are on their way.
func TestExploreHTTP(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			plan := explore.Plan{HTTP: &explore.HTTP{}, Setup: overHTTP(revision), Schedules: scale(100, 50_000) / slowed}
			passes(t, plan)
			plan.Timers, plan.Check = 3, endsWell
			plan.Schedules = scale(100, 10_000) / slowed // some freeze at a mutex, and then each takes ten times as long
			if fired := passes(t, plan); fired == 0 {
				t.Error("no timer fired while exchanges were on their way")
			}
		})
	}
}

// TestExploreHTTPTokens: a schedule of HTTP is the same again by its token, but for the time until the
// SDK's client opens a stream again, which has a random part.
func TestExploreHTTPTokens(t *testing.T) {
	stop, span := errors.New("stop"), regexp.MustCompile(`time passes: .*`)
	same := func(one, other string) bool {
		return span.ReplaceAllString(one, "") == span.ReplaceAllString(other, "")
	}
	for _, revision := range revisions {
		runs := scale(10, 1000)
		for i := range runs {
			plan := explore.Plan{HTTP: &explore.HTTP{}, Setup: overHTTP(revision), Strategy: explore.POS, Timers: 3, Seed: uint64(i), Schedules: 1, Shrink: -1,
				Check: func(*explore.Run) error { return stop }}
			first := explore.Search(t, plan)
			plan.Token = first.Token
			again := explore.Search(t, plan)
			if again.Token != first.Token || again.Verdict != first.Verdict || !slices.EqualFunc(again.Sequence, first.Sequence, same) {
				t.Fatalf("%s, seed %d:\n%s\n%s", revision, i, first.Text(), again.Text())
			}
		}
		t.Logf("%d tokens without a divergence", runs)
	}
}
