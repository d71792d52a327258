// Package acpgo063 has bugs of the Go SDK of the Agent Client Protocol, explored in a real process: this test's own
// binary is the client.
package acpgo063

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/store"
)

// The test binary is what plays the agent's part, and the client under test.
const (
	passOn = "pass-on"
	edit   = "edit"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == passOn:
		fmt.Fprintln(os.Stderr, child.PassOn(os.Args[2]))
		os.Exit(1)
	case len(os.Args) > 2 && os.Args[1] == edit:
		if err := ask(exec.Command(os.Args[2], os.Args[3:]...)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestUpdatesOutOfOrder is https://github.com/coder/acp-go-sdk/issues/27: each update is handled on a goroutine of its
// own, so that the answer may come before them, and they in any order.
func TestUpdatesOutOfOrder(t *testing.T) {
	client := external.Client{Command: []string{os.Args[0], edit, "%SERVER"}, PassOn: []string{os.Args[0], passOn}}
	zoo.Process{
		Name: "acp go-sdk 27 goroutine a message", SDK: acp.NewClientSideConnection,
		Explore: func(events []store.Event, options external.Options) (external.Report, error) {
			return external.ExploreClient(client, events, options)
		},
		Session: "../node/testdata/agent.jsonl",
		Want:    want,
	}.Run(t)
}

// ask starts an agent, asks it one thing, and prints what it told.
func ask(agent *exec.Cmd) error {
	in, err := agent.StdinPipe()
	if err != nil {
		return err
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		return err
	}
	agent.Stderr = os.Stderr
	if err := agent.Start(); err != nil {
		return err
	}
	told := &editor{}
	conn, ctx := acp.NewClientSideConnection(told, in, out), context.Background()
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber}); err != nil {
		return err
	}
	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: "/", McpServers: []acp.McpServer{}})
	if err != nil {
		return err
	}
	time.Sleep(150 * time.Millisecond) // a person types
	end, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("hi")}})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %q\n", end.StopReason, told.text)
	in.Close()
	return agent.Wait()
}

// editor keeps the text of the updates. It offers nothing.
type editor struct {
	acp.Client // nil: nothing else is asked of it
	text       string
}

func (e *editor) SessionUpdate(_ context.Context, told acp.SessionNotification) error {
	if chunk := told.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		e.text += chunk.Content.Text.Text
	}
	return nil
}
