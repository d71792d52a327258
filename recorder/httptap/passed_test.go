package httptap

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprec/mcprec/store/storetest"
)

var errPlanted = errors.New("planted")

// failing fails in all that it is asked for, as whatever is wrapped here.
type failing struct{ net.Conn }

func (failing) Write([]byte) (int, error) { return 0, errPlanted }
func (failing) Close() error              { return errPlanted }
func (failing) CloseWrite() error         { return errPlanted }
func (failing) Header() http.Header       { return http.Header{} }
func (failing) WriteHeader(int)           {}
func (failing) FlushError() error         { return errPlanted }
func (failing) Read([]byte) (int, error)  { return 0, errPlanted }

// What is wrapped in order to record it fails as it does without that: each error comes
// through, and none is blocked behind a notification.
func TestErrorsPass(t *testing.T) {
	tap := New(Options{Open: opening(t, &storetest.Log{})})
	defer tap.Close()
	target := httptest.NewRequest("GET", "http://host/sse", nil).URL
	post := func(body io.ReadCloser) *http.Request {
		r := httptest.NewRequest("POST", "http://host/mcp", nil)
		r.Body, r.ContentLength = body, -1
		return r
	}
	answered := func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: failing{}, ContentLength: -1}, nil
	}
	response := func() io.ReadCloser {
		resp, err := tap.RoundTripper(answerer(answered)).RoundTrip(post(http.NoBody))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Body
	}
	request := func(use func(io.ReadCloser) error) (err error) {
		_, _ = tap.RoundTripper(answerer(func(r *http.Request) (*http.Response, error) {
			err = use(r.Body)
			return answered(r)
		})).RoundTrip(post(failing{}))
		return err
	}
	handled := func(use func(http.ResponseWriter) error) (err error) {
		tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = use(w) })).ServeHTTP(failing{}, post(http.NoBody))
		return err
	}
	read := func(r io.Reader) error {
		_, err := r.Read(make([]byte, 1))
		return err
	}
	for name, fails := range map[string]func() error{
		"RoundTripper":         func() error { _, err := ask(t, tap.RoundTripper(noAnswer), "{}"); return err },
		"response body, Read":  func() error { return read(response()) },
		"response body, Close": func() error { return response().Close() },
		"request body, Read":   func() error { return request(func(b io.ReadCloser) error { return read(b) }) },
		"request body, Close":  func() error { return request(io.ReadCloser.Close) },
		"Handler, request body": func() (err error) {
			tap.Handler(reads(&err)).ServeHTTP(httptest.NewRecorder(), post(failing{}))
			return err
		},
		"Handler, Write": func() error {
			return handled(func(w http.ResponseWriter) error { _, err := w.Write([]byte("{}")); return err })
		},
		"Handler, Flush": func() error {
			return handled(func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() })
		},
		"Handler, request body, Close": func() (err error) {
			closes := func(w http.ResponseWriter, r *http.Request) { err = r.Body.Close() }
			tap.Handler(http.HandlerFunc(closes)).ServeHTTP(httptest.NewRecorder(), post(failing{}))
			return err
		},
		"endpoint of HTTP+SSE": func() error { return read(&endpointBody{ReadCloser: failing{}, target: target, client: target}) },
		"the same, found":      func() error { return read(&endpointBody{ReadCloser: failing{}, done: true}) },
		"the same, Close":      func() error { return (&endpointBody{ReadCloser: failing{}}).Close() },
		"deflate":              func() error { return read(inflated{Reader: failing{}}) },
	} {
		if err := fails(); !errors.Is(err, errPlanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noAnswer is a server that cannot be reached.
var noAnswer = answerer(func(*http.Request) (*http.Response, error) { return nil, errPlanted })

// reads is a handler that tells how its request's body failed.
func reads(err *error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, *err = io.ReadAll(r.Body) }
}
