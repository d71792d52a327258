package zoo

import (
	"context"
	"errors"
	"sync"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// Awaited is the server's end of a run whose recorded client asks for something, which
// the recorded server did not answer: nobody in the session waits for it, so an operation
// of the run does. Only Setup may call it; the live server gets the Conn.
func Awaited(r *explore.Run, id string) transport.Conn {
	a := &awaited{Conn: r.Server(), id: id, answered: make(chan error, 1)}
	r.Op("the answer to request "+id, func(ctx context.Context) error {
		select {
		case err := <-a.answered:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return a
}

// awaited is a Conn that tells when a request is answered.
type awaited struct {
	transport.Conn
	id       string
	once     sync.Once
	answered chan error
}

func (a *awaited) Write(ctx context.Context, f transport.Frame) error {
	err := a.Conn.Write(ctx, f)
	messages, bad := f.Messages()
	if err == nil && bad == nil && messages[0].Kind() == transport.Response && string(messages[0].ID) == a.id {
		a.end(nil)
	}
	return err
}

func (a *awaited) Close() error {
	a.end(errors.New("the call was not answered: the server has closed"))
	return a.Conn.Close()
}

func (a *awaited) end(err error) {
	a.once.Do(func() { a.answered <- err })
}
