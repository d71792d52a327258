package objects

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/mcprec/mcprec/store/diagnosis"
)

// inspectIn bounds one question of Inspect.
const inspectIn = 5 * time.Second

// Inspect gathers what can be learned of a bucket. It puts a probe object below the prefix, under a
// name that no session has, and removes it.
func Inspect(ctx context.Context, options Options) *diagnosis.Bucket {
	facts := &diagnosis.Bucket{}
	b, err := newBucket(options)
	if err != nil {
		facts.Fault = err.Error()
		return facts
	}
	defer b.transport.CloseIdleConnections()
	address, err := url.Parse(b.endpoint)
	if err != nil {
		facts.Fault = err.Error()
		return facts
	}
	facts.Host, facts.TLS = address.Host, address.Scheme == "https"
	facts.Clock, facts.RoundTrip, err = compareClocks(ctx, b)
	if err != nil {
		facts.Fault = err.Error()
		return facts
	}
	within := func(try func(context.Context) error) *string {
		ctx, stop := context.WithTimeout(ctx, inspectIn)
		defer stop()
		text := ""
		if err := try(ctx); err != nil {
			text = err.Error()
		}
		return &text
	}
	facts.List = within(b.check)
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	key := root + "doctor/" + hex.EncodeToString(random) + summarySuffix
	probe := func(ctx context.Context) error { return b.put(ctx, key, []byte("{}\n"), summaryType, ifAbsent) }
	facts.Put = within(probe)
	if *facts.Put != "" {
		return facts
	}
	facts.Get = within(func(ctx context.Context) error {
		data, _, err := b.get(ctx, key)
		if err == nil && string(data) != "{}\n" {
			err = fmt.Errorf("%d other bytes came back", len(data))
		}
		return err
	})
	again := probe(ctx)
	refused := errors.Is(again, errTaken)
	if again == nil || refused {
		facts.PutIfAbsent = &refused
	}
	facts.Delete = within(func(ctx context.Context) error { return b.remove(ctx, key) })
	if *facts.Delete != "" {
		facts.Probe = b.url(key)
	}
	return facts
}

// compareClocks asks the server for anything, and compares its date with the time here. The date has
// whole seconds.
func compareClocks(ctx context.Context, b *bucket) (clock *diagnosis.Clock, took time.Duration, err error) {
	ctx, stop := context.WithTimeout(ctx, inspectIn)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, b.endpoint, nil)
	if err != nil {
		return nil, 0, err
	}
	asked := time.Now()
	answer, err := b.transport.RoundTrip(request)
	if err != nil {
		return nil, 0, b.fault(ctx, err)
	}
	took = time.Since(asked)
	_ = answer.Body.Close()
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return nil, took, nil // some servers have no clock
	}
	return &diagnosis.Clock{Ahead: asked.Add(took / 2).Sub(date.Add(time.Second / 2)), Latency: took/2 + time.Second/2}, took, nil
}
