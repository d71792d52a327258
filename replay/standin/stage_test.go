package standin

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// dying is a server that takes every frame at once, and is gone when it has the first.
type dying struct{ gone chan struct{} }

func (d *dying) Read(ctx context.Context) (transport.Frame, error) {
	select {
	case <-d.gone:
		return transport.Frame{}, io.EOF
	case <-ctx.Done():
		return transport.Frame{}, ctx.Err()
	}
}

func (d *dying) Write(context.Context, transport.Frame) error {
	select {
	case <-d.gone:
	default:
		close(d.gone)
	}
	return nil
}

func (d *dying) Close() error { return nil }

// TestDriveOfDying: a server that dies between two frames of the client ends the
// drive, whichever of what happened then is noticed first. Which is up to the
// runtime, so it is done many times; a drive that does not end is a deadlock to
// the bubble.
func TestDriveOfDying(t *testing.T) {
	events := recordPlaybook(`
		> {"method":"notifications/a"}
		> {"method":"notifications/b"}
		> {"method":"notifications/c"}
		> {"id":1,"method":"ping"}
		< {"id":1,"result":{}}`)
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			end, err := Drive(t.Context(), &dying{make(chan struct{})}, NewDriver(events, match.Rules{}), DriveOptions{})
			if end != Gone || err != nil {
				t.Errorf("the drive ended %q, %v", end, err)
			}
		})
	}
}
