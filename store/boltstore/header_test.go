package boltstore

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// A projection has every field of a header, except those that a listing does without.
func TestHeaderFields(t *testing.T) {
	leftOut := []string{"ID", "Processes", "MaxFrame", "Redacted", "Masked"} // the key is the ID; of Masked only whether
	var p projection
	p.session.Header = store.Header{Version: 1, Start: time.Unix(5, 6).UTC(), Transport: "http", Label: "l", Labels: map[string]string{"a": "b"},
		Command: []string{"c"}, URL: "u", Recorder: "r", Expect: "pass"}
	got, err := decodeProjection([16]byte{}, p.encode([16]byte{}), "file")
	if err != nil {
		t.Fatal(err)
	}
	want, have := reflect.ValueOf(p.session.Header), reflect.ValueOf(got.session.Header)
	for _, f := range reflect.VisibleFields(want.Type()) {
		if slices.Contains(leftOut, f.Name) {
			continue
		}
		if want.FieldByIndex(f.Index).IsZero() || !reflect.DeepEqual(want.FieldByIndex(f.Index).Interface(), have.FieldByIndex(f.Index).Interface()) {
			t.Errorf("field %s: not in the projection, or not in this test; or it is left out", f.Name)
		}
	}
}
