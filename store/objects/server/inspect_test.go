package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"

	"github.com/mcprec/mcprec/store/objects"
)

// TestInspect: a bucket that is well, and one that refuses one thing after the other. The probe object
// goes again.
func TestInspect(t *testing.T) {
	s, _ := open(t, "team")
	options := objects.Options{Bucket: bucket, Prefix: "team", Endpoint: s.URL, Region: "us-east-1"}
	refuse := func(method string, which func(*http.Request) bool) {
		f := func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if r.Method != method || !which(r) {
				return false
			}
			http.Error(w, "", http.StatusForbidden)
			return true
		}
		s.fault.Store(&f)
	}
	ofProbe := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/doctor/") }
	for _, test := range []struct {
		name  string
		spoil func()
		rules string // that find something, without the severity
	}{
		{"well", func() {}, ""},
		{"no listing", func() { refuse(http.MethodGet, func(r *http.Request) bool { return !ofProbe(r) }) }, "list"},
		{"no writing", func() { refuse(http.MethodPut, ofProbe) }, "put"},
		{"no reading", func() { refuse(http.MethodGet, ofProbe) }, "get"},
		{"writes over", func() {
			f := func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				r.Header.Del("If-None-Match")
				return false
			}
			s.fault.Store(&f)
		}, "put_if_absent"},
		{"no deleting", func() { refuse(http.MethodDelete, ofProbe) }, "delete probe"},
		{"nobody answers", func() { options.Endpoint = "http://127.0.0.1:1" }, "bucket"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.fault.Store(nil)
			test.spoil()
			facts := objects.Inspect(t.Context(), options)
			var rules []string
			for _, finding := range facts.Findings() {
				rules = append(rules, finding.Rule)
			}
			if got := strings.Join(rules, " "); got != test.rules {
				t.Errorf("found %q, want %q: %+v", got, test.rules, facts)
			}
			left, err := s.data.ListBucket(bucket, nil, gofakes3.ListBucketPage{})
			if err != nil {
				t.Fatal(err)
			}
			if isLeft := slices.Contains(rules, "probe"); len(left.Contents) > 0 != isLeft {
				t.Errorf("%d objects are left", len(left.Contents))
			}
			for _, object := range left.Contents {
				if _, err := s.data.DeleteObject(bucket, object.Key); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
