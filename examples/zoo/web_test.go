package zoo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The headers of an answer come when the handler flushes or returns, not before.
func TestWeb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := http.Client{Transport: Web{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked, _ := io.ReadAll(r.Body)
			w.Header().Set("Asked", string(asked))
			w.WriteHeader(http.StatusAccepted)
			time.Sleep(time.Second)
			io.WriteString(w, "one ")
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
			io.WriteString(w, "two")
		})}}
		start := time.Now()
		got, err := client.Post("http://zoo/mcp", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second || got.StatusCode != 202 || got.Header.Get("Asked") != "hello" {
			t.Errorf("after %v: %d %v", took, got.StatusCode, got.Header)
		}
		if body, err := io.ReadAll(got.Body); err != nil || string(body) != "one two" {
			t.Errorf("body %q, %v", body, err)
		}
	})
}

// A client that gives up or closes the body ends the handler's context.
func TestWebGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error)
		client := http.Client{Transport: Web{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			ended <- r.Context().Err()
		})}}
		got, err := client.Get("http://zoo/mcp")
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		<-ended
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodDelete, "http://zoo/mcp", nil)
		if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the request ended with %v", err)
		}
		<-ended
	})
}
