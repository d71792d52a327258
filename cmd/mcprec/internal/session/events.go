package session

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// Each calls f with every event until either fails.
func Each(events iter.Seq2[store.Event, error], f func(store.Event) error) error {
	for e, err := range events {
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Collect returns the events up to an error.
func Collect(events iter.Seq2[store.Event, error]) (list []store.Event, err error) {
	err = Each(events, func(event store.Event) error {
		list = append(list, event)
		return nil
	})
	return list, err
}

// Encode writes events as a fixture, up to an error.
func Encode(w io.Writer, events iter.Seq2[store.Event, error]) error {
	b := bufio.NewWriterSize(w, 1<<16)
	enc := jsonl.NewEncoder(b)
	for e, err := range events {
		if err == nil {
			err = enc.Encode(e)
		}
		if err != nil {
			return errors.Join(err, b.Flush())
		}
	}
	return b.Flush()
}
