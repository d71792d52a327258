package spans

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/transport/mcp"
)

const (
	requestTime = 10 * time.Second
	tries       = 7 // of a batch
	firstPause  = 500 * time.Millisecond
	longestWait = 30 * time.Second // that a collector may ask for
)

// run sends batches until the queue is closed and empty, or the context is over: the rest is
// dropped.
func (x *Exporter) run(ctx context.Context) {
	defer close(x.ended)
	for x.wait(ctx) {
		batch := x.next()
		err := x.deliver(ctx, batch)
		x.settle(batch, err)
	}
	x.settle(x.rest(), errEnded)
}

// wait waits for a span, and then for others of its batch. It returns false at the end.
func (x *Exporter) wait(ctx context.Context) bool {
	var full <-chan time.Time // nil: no span has come
	for {
		n, closed := x.length()
		switch {
		case n >= maxBatch || closed && n > 0:
			return ctx.Err() == nil
		case closed:
			return false
		case n > 0 && full == nil:
			full = time.After(x.gather)
		}
		select {
		case <-x.filled:
		case <-full:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (x *Exporter) length() (n int, closed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.queue), x.closed
}

// next takes a batch from the queue.
func (x *Exporter) next() []otlp.Span {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := min(len(x.queue), maxBatch)
	batch := x.queue[:n:n]
	x.queue = append([]otlp.Span(nil), x.queue[n:]...)
	for _, span := range batch {
		x.held -= len(span.JSON)
	}
	return batch
}

// rest takes all from the queue.
func (x *Exporter) rest() []otlp.Span {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.queue
	x.queue = nil
	x.held = 0
	return all
}

// settle counts a batch as sent, or as dropped.
func (x *Exporter) settle(batch []otlp.Span, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := uint64(len(batch))
	var partly *rejectedError
	switch {
	case errors.As(err, &partly):
		dropped := min(partly.spans, n)
		x.sum.Dropped += dropped
		x.sum.Sent += n - dropped
		x.sum.Err = err
	case err != nil && n > 0:
		x.sum.Dropped += n
		if x.sum.Err == nil || err != errEnded {
			x.sum.Err = err
		}
	case err == nil:
		x.sum.Sent += n
	}
}

// deliver sends a batch, again where that may help.
func (x *Exporter) deliver(ctx context.Context, batch []otlp.Span) error {
	body, err := otlp.Request(x.version, batch)
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	pause := firstPause
	fault := errEnded
	for try := 1; ; try++ {
		after, err := x.post(ctx, body)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fault
		}
		fault = err
		x.tell(err)
		if after < 0 || try == tries {
			return err
		}
		timer := time.NewTimer(max(after, pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

// tell reports the first failure.
func (x *Exporter) tell(err error) {
	if x.report != nil {
		go x.report(err) // it may have to wait for its reader
		x.report = nil
	}
}

// statusError is an answer of the collector that takes no spans.
type statusError struct {
	status string
	said   string
}

func (e *statusError) Error() string {
	if e.said == "" {
		return "the collector answered " + e.status
	}
	return fmt.Sprintf("the collector answered %s: %s", e.status, e.said)
}

// rejectedError says that the collector took a batch but for some spans.
type rejectedError struct {
	spans uint64
	said  string
}

func (e *rejectedError) Error() string {
	return fmt.Sprintf("the collector rejected some: %q", e.said)
}

// post sends a request. After an error, after says how long to wait at least before the next try;
// below 0 there is to be none.
func (x *Exporter) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, x.target.URL.String(), bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = x.target.Header.Clone()
	request.Header.Set("Content-Type", mcp.MediaJSON)
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "mcprec/"+x.version)
	}
	response, err := x.client.Do(request)
	if err != nil {
		var fault *url.Error
		if errors.As(err, &fault) { // its text has the URL, which may have a password
			err = fault.Err
		}
		return 0, err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // half an answer says less, and no error
	if response.StatusCode/100 == 2 {
		return -1, rejectedIn(text)
	}
	said := struct {
		Message string `json:"message"`
	}{}
	_ = json.Unmarshal(text, &said) // another answer is left out
	err = &statusError{status: response.Status, said: said.Message}
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500 {
		return -1, err
	}
	return retryAfter(response.Header.Get("Retry-After"), time.Now()), err
}

// rejectedIn reads the answer of a collector that took a batch.
func rejectedIn(text []byte) error {
	var answer struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // a 64-bit number is a string, or not
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return nil
	}
	number, err := strconv.ParseUint(string(bytes.Trim(answer.PartialSuccess.RejectedSpans, `"`)), 10, 64)
	if err != nil || number == 0 {
		return nil
	}
	return &rejectedError{number, answer.PartialSuccess.ErrorMessage}
}

// retryAfter reads how long a collector asks to wait: seconds, or a date.
func retryAfter(text string, now time.Time) (after time.Duration) {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(text); err == nil {
		after = date.Sub(now)
	}
	return min(max(after, 0), longestWait)
}
