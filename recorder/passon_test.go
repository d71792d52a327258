package recorder

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprec/mcprec/store"
)

var errInner = errors.New("the inner one failed")

// brokenSpool is a spool whose every method fails.
type brokenSpool struct{}

func (brokenSpool) Write([]store.Part) error { return errInner }

func (brokenSpool) Close() error { return errInner }

// brokenBody is a body whose every method fails.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errInner }

func (brokenBody) Close() error { return errInner }

// brokenResponse is a response that cannot be written.
type brokenResponse struct{ *httptest.ResponseRecorder }

func (brokenResponse) Write([]byte) (int, error) { return 0, errInner }

func (brokenResponse) FlushError() error { return errInner }

// Whatever stands around a spool, a body or a response passes its errors on: to who reads
// and writes, for the wire is as it would be without a recorder.
func TestErrorsArePassedOn(t *testing.T) {
	p := make([]byte, 9)
	read := func(r io.Reader) error { _, err := r.Read(p); return err }
	for name, call := range map[string]func() error{
		"late.Write":              func() error { return (&late{Spool: brokenSpool{}}).Write(nil) },
		"late.Write, not open":    func() error { return (&late{err: errInner}).Write(nil) },
		"late.Close":              func() error { return (&late{Spool: brokenSpool{}}).Close() },
		"late.Close, not open":    func() error { return (&late{err: errInner}).Close() },
		"endpointBody.Read":       func() error { return read(&endpointBody{ReadCloser: brokenBody{}}) },
		"endpointBody.Read, done": func() error { return read(&endpointBody{ReadCloser: brokenBody{}, done: true}) },
		"endpointBody.Close":      func() error { return (&endpointBody{ReadCloser: brokenBody{}}).Close() },
		"noting.Read":             func() error { return read(noting{brokenBody{}, new(error)}) },
		"noting, kept":            func() (kept error) { _ = read(noting{brokenBody{}, &kept}); return kept },
		"inflated.Read":           func() error { return read(inflated{Reader: brokenBody{}}) },
	} {
		if err := call(); !errors.Is(err, errInner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A transport and a handler that are tapped fail as they would without.
func TestTappedHTTPErrorsArePassedOn(t *testing.T) {
	refuses, _ := tapClient(t, func(*http.Request) (*http.Response, error) { return nil, errInner }, HTTPOptions{})
	if _, err := ask(t, refuses, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); !errors.Is(err, errInner) {
		t.Errorf("RoundTrip: %v", err)
	}
	breaks, _ := tapClient(t, func(*http.Request) (*http.Response, error) {
		r := answer("application/json", nil)
		r.Body = brokenBody{}
		return r, nil
	}, HTTPOptions{})
	resp, err := ask(t, breaks, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 9)); !errors.Is(err, errInner) {
		t.Errorf("the response's body, Read: %v", err)
	}
	if err := resp.Body.Close(); !errors.Is(err, errInner) {
		t.Errorf("the response's body, Close: %v", err)
	}

	tt := &tapped{}
	tap := NewHTTP(HTTPOptions{Open: tt.open(t), Done: tt.done})
	defer tap.Close()
	served := tap.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Body.Read(make([]byte, 9)); !errors.Is(err, errInner) {
			t.Errorf("the request's body, Read: %v", err)
		}
		if err := r.Body.Close(); !errors.Is(err, errInner) {
			t.Errorf("the request's body, Close: %v", err)
		}
		if _, err := w.Write([]byte("{}")); !errors.Is(err, errInner) {
			t.Errorf("Write: %v", err)
		}
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, errInner) {
			t.Errorf("Flush: %v", err)
		}
	}))
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://host/mcp", brokenBody{})
	r.Header.Set("Content-Type", "application/json")
	served.ServeHTTP(brokenResponse{httptest.NewRecorder()}, r)
}
