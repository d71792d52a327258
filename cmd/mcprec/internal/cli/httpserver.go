package cli

import (
	"io"
	"net/http"
	"time"
)

// RequestTimeout is how long a server waits for the head of a request, and for more of its body: a request
// that is half sent holds a connection, of which a process has few.
const RequestTimeout = 10 * time.Second

// NewHTTPServer returns a server that gives up requests which do not come to their end. Its answers may
// take as long as they like.
func NewHTTPServer(handler http.Handler) *http.Server { return newHTTPServer(handler, RequestTimeout) }

func newHTTPServer(handler http.Handler, timeout time.Duration) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 {
				body := &timedBody{r.Body, http.NewResponseController(w), timeout}
				body.extend() // also for a handler that does not read it, behind which the server does
				r.Body = body
			}
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: timeout,
		IdleTimeout:       2 * time.Minute,
	}
}

// timedBody is the body of a request that fails where no more of it comes. A timeout of the whole request
// would also end the answer: see http.Server.ReadTimeout.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	timeout time.Duration
}

func (b *timedBody) extend() { _ = b.control.SetReadDeadline(time.Now().Add(b.timeout)) }

func (b *timedBody) Read(data []byte) (int, error) {
	b.extend()
	n, err := b.ReadCloser.Read(data)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
