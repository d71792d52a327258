package zoo

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Golden loads a session of package fixtures by its name without the extension. A
// test need not use all of it: the frames of a run that failed end where it did.
func Golden(t *testing.T, session string) *fixtures.Fixture {
	t.Helper()
	return fixtures.Load(t, GoldenPath(session)).AllowUnused()
}

// Played is the plan of a case in which one half of a golden session plays to the live
// SDK: nobody but the session says what the far end says. By custom such a case has
// "session" in its name.
func Played(t *testing.T, session string, as fixtures.Role, live func(testing.TB, transport.Conn)) explore.Plan {
	t.Helper()
	return Golden(t, session).Plan(t, as, live)
}

// GoldenPath is where a session of package fixtures is, from the folder of a case's module.
func GoldenPath(session string) string {
	return filepath.Join("..", "..", "..", "fixtures", session+".jsonl")
}

// LimitedServer plays the recorded server of a session to its end and no further: it
// reads the frames that it took in the recording. Then it closes, if the recorded one
// did, or is busy and reads no more. (The half that replay/explore plays reads for ever.)
func LimitedServer(ctx context.Context, fx *fixtures.Fixture, conn transport.Conn) error {
	ended := slices.ContainsFunc(fx.Events(), func(e store.Event) bool {
		return e.Kind == store.EOF && e.Dir == transport.ServerToClient
	})
	return Serve(ctx, fx.Events(), &limited{Conn: conn, left: taken(fx.Events()), ended: ended})
}

// Serve plays the recorded server of a session until the client has closed.
func Serve(ctx context.Context, events []store.Event, conn transport.Conn) error {
	return standin.Serve(ctx, conn, standin.NewPlayer(events, match.Rules{}), standin.ServeOptions{})
}

// Drive plays the recorded client of a session as a shell's pipe does: when all is said
// and what was recorded has come, it closes its writing side and reads to the end.
func Drive(ctx context.Context, fx *fixtures.Fixture, conn transport.Conn) error {
	_, err := standin.Drive(ctx, conn, standin.NewDriver(fx.Events(), match.Rules{}), standin.DriveOptions{Timeout: time.Minute})
	return err
}

// taken counts the client's frames of which the recording says that they were delivered.
func taken(events []store.Event) (n int) {
	var upto uint64
	for _, e := range events {
		var info store.DeliveredInfo
		if e.Kind == store.Delivered && e.Dir == transport.ClientToServer && json.Unmarshal(e.Payload, &info) == nil {
			upto = max(upto, info.Upto)
		}
	}
	for _, e := range events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer && e.Seq <= upto {
			n++
		}
	}
	return n
}

// limited is a Conn from which so many frames are read.
type limited struct {
	transport.Conn
	left  int
	ended bool // at the last of them
}

func (l *limited) Read(ctx context.Context) (transport.Frame, error) {
	switch {
	case l.left == 0 && l.ended:
		return transport.Frame{}, io.EOF
	case l.left == 0:
		<-ctx.Done()
		return transport.Frame{}, ctx.Err()
	}
	l.left--
	return l.Conn.Read(ctx)
}
