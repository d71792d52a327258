package mcpgo121

import (
	"context"
	"fmt"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// Both ends of these cases are the SDK's, and the server is served in process, with a
// session of its own, so that all of it is in a bubble and a verdict is a proof.

// TestInProcessProgress is TestLateProgress without the stdio code: the same queue of
// notifications, the same second writer.
func TestInProcessProgress(t *testing.T) {
	inProcess(t, "mcp-go late progress, in process", reporting, zoo.Want{
		Verdict: explore.Illegal, Category: "P3", Says: []string{`notifications/progress (tools/call "work"`}})
}

// TestInProcessAsks is no bug: the tool asks the client's model, its user and its roots.
func TestInProcessAsks(t *testing.T) {
	inProcess(t, "mcp-go conforming, in process", func(ctx context.Context, s *server.MCPServer, _ mcp.ProgressToken) error {
		said, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 1}})
		if err != nil {
			return err
		}
		question := mcp.ElicitationRequest{}
		question.Params.Message = said.Content.(mcp.TextContent).Text
		question.Params.RequestedSchema = map[string]any{"type": "object"}
		answer, err := s.RequestElicitation(ctx, question)
		if err != nil {
			return err
		}
		listed, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return err
		}
		if answer.Action != mcp.ElicitationResponseActionAccept || len(listed.Roots) != 1 {
			return fmt.Errorf("the user said %s and has %d roots", answer.Action, len(listed.Roots))
		}
		return nil
	}, zoo.Want{})
}

func inProcess(t *testing.T, name string, report func(context.Context, *server.MCPServer, mcp.ProgressToken) error, want zoo.Want) {
	zoo.Case{
		Name: name,
		SDK:  client.NewClient,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			s := working(report)
			r.Go(func(ctx context.Context) {
				mcpgo.ServeInProcess(ctx, s, r.Server(), mcpgo.WithElicitation(s.RequestElicitation))
			})
			r.Op("call", func(ctx context.Context) error {
				c := client.NewClient(mcpgo.Client(r.Client()), client.WithSamplingHandler(human{}),
					client.WithElicitationHandler(human{}), client.WithRootsHandler(human{}))
				if err := c.Start(ctx); err != nil {
					return err
				}
				defer c.Close()
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = "2025-06-18"
				if _, err := c.Initialize(ctx, hello); err != nil {
					return err
				}
				return callTool(ctx, c)
			})
		}},
		Want: map[string]zoo.Want{"v1.2.1": want},
	}.Run(t)
}

// human answers all that a server asks.
type human struct{}

func (human) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "human", SamplingMessage: mcp.SamplingMessage{
		Role: mcp.RoleAssistant, Content: mcp.TextContent{Type: "text", Text: "sure?"},
	}}, nil
}

func (human) Elicit(_ context.Context, question mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if question.Params.Message != "sure?" {
		return nil, fmt.Errorf("the user was asked %q", question.Params.Message)
	}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}}, nil
}

func (human) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///home"}}}, nil
}
