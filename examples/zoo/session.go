package zoo

import (
	"os"
	"testing"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// updateVariable is the environment variable that has the failing runs written to
// the sessions of package fixtures. What they are expected to replay to is kept.
const updateVariable = "MCPREC_ZOO_UPDATE"

// keep writes the failing run to its session, if it has one and was asked to.
func (w Want) keep(t *testing.T, label string, r explore.Report) {
	t.Helper()
	if w.Session == "" || os.Getenv(updateVariable) == "" {
		return
	}
	path := GoldenPath(w.Session)
	h, err := store.ParseHeader(r.Events[0].Payload)
	if err != nil {
		t.Fatal(err)
	}
	h.Label = label
	h.Expect = "pass"
	if old, err := jsonl.ReadFile(path); err == nil {
		if was, err := store.ParseHeader(old[0].Payload); err == nil {
			h.Expect = was.Expect
		}
	}
	r.Events[0].Payload = h.Encode()
	if err := jsonl.WriteFile(path, jsonl.Each(r.Events)); err != nil {
		t.Fatal(err)
	}
}
