package view

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/picture"
)

// answerDiff answers with the two sessions of the page side by side, or with two of the list: a and b.
func (x *openSessions) answerDiff(w http.ResponseWriter, r *http.Request) {
	if len(x.named) != 2 && x.list == nil {
		refuse(w, http.StatusNotFound, "the page is about one session; mcprec view A B compares two")
		return
	}
	of := [2]*index{}
	copy(of[:], x.named)
	for n, name := range []string{"a", "b"} {
		if x.list == nil {
			break
		}
		opened, release, err := x.ofList(r.Context(), r.URL.Query().Get(name))
		if err != nil {
			refuse(w, statusOf(err), err.Error())
			return
		}
		defer release()
		of[n] = opened
	}
	compared, err := compare(r.Context(), of)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	writeJSON(w, http.StatusOK, compared)
}

// compare compares two sessions as mcprec diff does.
func compare(ctx context.Context, of [2]*index) (picture.Comparison, error) {
	digester := diff.NewDigester(diff.Options{})
	c := diff.New(digester, diff.Options{})
	a, b := c.Sides()
	for i, side := range []*diff.Session{a, b} {
		if err := report.ReadSide(of[i].source.readAll(ctx), digester, side); err != nil {
			return picture.Comparison{}, fmt.Errorf("compare %s: %w", of[i].source.session.Name, err)
		}
	}
	compared, pairs := c.Report(), c.Aligned()
	var shown [2][]uint64
	picture.Compare(compared, pairs, func(side int, seq uint64) string {
		shown[side] = append(shown[side], seq)
		return ""
	})
	var rows [2]map[uint64]picture.Row
	for i, index := range of {
		slices.Sort(shown[i])
		found, err := index.rowsAt(ctx, slices.Compact(shown[i]))
		if err != nil {
			return picture.Comparison{}, err
		}
		rows[i] = found
	}
	return picture.Compare(compared, pairs, func(side int, seq uint64) string { return rows[side][seq].Label }), nil
}
