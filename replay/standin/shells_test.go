package standin_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// tapped is the client's end of a connection, with a tap that sees the frames of
// both directions, and the ends' other names.
type tapped struct {
	transport.Conn
	through translator
	mu      sync.Mutex
	trace   []spoken
}

func (c *tapped) note(dir transport.Direction, f transport.Frame) transport.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	recorded, delivered := c.through(dir, f.Bytes)
	c.trace = append(c.trace, spoken{dir, recorded})
	f.Bytes = delivered
	return f
}

func (c *tapped) Read(ctx context.Context) (transport.Frame, error) {
	f, err := c.Conn.Read(ctx)
	if err == nil {
		f = c.note(transport.ServerToClient, f)
	}
	return f, err
}

func (c *tapped) Write(ctx context.Context, f transport.Frame) error {
	return c.Conn.Write(ctx, c.note(transport.ClientToServer, f))
}

// CloseWrite ends the client's side: Drive does that.
func (c *tapped) CloseWrite() error { return c.Conn.(transport.HalfCloser).CloseWrite() }

// TestShells has Serve and Drive play each session to each other in memory: what
// stands between them sees the recorded frames in the recorded order.
func TestShells(t *testing.T) {
	eachSession(t, func(t *testing.T, events []store.Event) {
		for _, through := range []translator{untouched, newRenamed().translate} {
			synctest.Test(t, func(t *testing.T) {
				for _, f := range playShells(t, events, through).faults(events) {
					t.Error(f)
				}
			})
		}
	})
}

func playShells(t *testing.T, events []store.Event, through translator) selfPlay {
	s := selfPlay{player: standin.NewPlayer(events, match.Rules{}), driver: standin.NewDriver(events, match.Rules{})}
	pipe := transport.NewPipe(0, 0, nil)
	served := make(chan error, 1)
	go func() { served <- standin.Serve(t.Context(), pipe.Server(), s.player, standin.ServeOptions{}) }()
	client := &tapped{Conn: pipe.Client(), through: through}
	end, err := standin.Drive(t.Context(), client, s.driver, standin.DriveOptions{Timeout: time.Minute})
	if err != nil || end != standin.Complete {
		t.Errorf("drive: %s, %v", end, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	s.trace = client.trace
	s.relents = append(s.player.Without(), s.driver.Without()...)
	return s
}
