package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPatience holds that an answer comes in time, also if what makes it never looks at its context, if it waits
// for its turn behind such ones, and if it is ready only then.
func TestPatience(t *testing.T) {
	library := newLibrary(t)
	library.addFixture(t, "../../../../fixtures/seed.jsonl")
	db, err := session.OpenReadOnly(t.Context(), session.Home{Place: library.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	synctest.Test(t, func(t *testing.T) {
		x := New(db, "test")
		release := make(chan struct{})
		deaf := tool{name: "deaf", bound: shortAnswer, answer: func(context.Context, *recordings, arguments) (answer, error) {
			<-release
			return answer{text: "late"}, nil
		}}
		late := tool{name: "late", bound: shortAnswer, answer: func(ctx context.Context, _ *recordings, _ arguments) (answer, error) {
			<-ctx.Done()
			return answer{text: "incomplete"}, nil
		}}
		call := func(tool tool) {
			t.Helper()
			began := time.Now()
			result, err := x.handler(tool)(t.Context(), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: tool.name}})
			if err != nil {
				t.Fatal(err)
			}
			text := result.Content[0].(*sdk.TextContent).Text
			if took := time.Since(began); took != usual.answer || !result.IsError || !strings.Contains(text, "took longer than 20s") {
				t.Errorf("%s says %q after %v", tool.name, text, took)
			}
		}
		call(late)
		for range mostBusy {
			call(deaf)
		}
		call(late) // waits for its turn
		for what, read := range map[string]func() error{
			"a resource": func() error {
				_, err := x.readResource(t.Context(), &sdk.ReadResourceRequest{Params: &sdk.ReadResourceParams{URI: resourceURI("01a20619-851b-7200-9f92-7e575c076e29")}})
				return err
			},
			"the list of them": func() error { _, err := x.listResources(t.Context()); return err },
		} {
			began := time.Now()
			if err := read(); err == nil || time.Since(began) != usual.answer {
				t.Errorf("%s: %v after %v", what, err, time.Since(began))
			}
		}
		close(release)
		synctest.Wait()
		if len(x.busy) > 0 {
			t.Errorf("%d keep their turn", len(x.busy))
		}
	})
}

// TestPromptAnswers holds that an answer that is there at once is given, and not the error of a context that has
// done its work.
func TestPromptAnswers(t *testing.T) {
	x := New(nil, "test")
	var callers sync.WaitGroup
	for range 8 { // more than there are processors, so that a caller is late for what is there already
		callers.Go(func() {
			for range 10_000 {
				said, err := within(t.Context(), x, func(context.Context) (string, error) { return "here", nil })
				if said != "here" || err != nil {
					t.Errorf("it says %q, %v", said, err)
					return
				}
			}
		})
	}
	callers.Wait()
}
