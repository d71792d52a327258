package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// whyStuck says what is stuck.
func whyStuck(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	answers, rest, own, err := askWhy(ctx, r, args)
	if err != nil && len(answers) == 0 {
		return a, err
	}
	if err != nil {
		a.add("some sessions cannot be read: %s", r.db.Masker.Text(err.Error()))
	}
	if hint := leftOut(own); hint != "" {
		a.add("%s", hint)
	}
	var text bytes.Buffer
	for i, found := range answers {
		if i > 0 {
			text.WriteByte('\n')
		}
		_ = found.Text(&text) // a buffer takes everything
	}
	a.data, a.text = map[string]any{"sessions": answers}, text.String()
	if rest > 0 {
		a.add("%d more %s stuck; list_sessions with state stuck lists them, why_stuck with session says more of one", rest, phrase.Agree(rest, "session is", "sessions are"))
	}
	return a, nil
}

// askWhy asks about the session of the arguments, or as mcprec why does without one. rest counts
// the stuck sessions beyond those that an answer has room for; own are those that are left out.
func askWhy(ctx context.Context, r *recordings, args arguments) (answers []report.Hangs, rest int, own []store.SessionID, err error) {
	const most = 2
	if id := args.text("session"); id != "" {
		s, err := r.find(ctx, id)
		if err != nil {
			return nil, 0, nil, err
		}
		found, err := report.HangsIn(ctx, s, 0)
		return []report.Hangs{found}, 0, nil, err
	}
	list, own, err := r.visible(ctx, store.Query{})
	if err != nil && len(list) == 0 {
		return nil, 0, nil, err
	}
	list, fault := r.pick(ctx, list, span{server: args.text("server")})
	err = errors.Join(err, fault)
	for _, s := range list {
		if s.State != store.Live {
			continue
		}
		found, fault := report.HangsIn(ctx, r.db.Session(s), 0)
		switch {
		case session.IsGone(fault): // removed since it was listed
		case fault != nil:
			err = errors.Join(err, fault)
		case !found.Stuck():
		case len(answers) == most:
			rest++
		default:
			answers = append(answers, found)
		}
	}
	if len(answers) > 0 {
		return answers, rest, own, err
	}
	if len(list) == 0 {
		if server := args.text("server"); server != "" {
			return nil, 0, nil, fmt.Errorf("no session is of a server %q; list_sessions shows the servers", clip(server, 100))
		}
		_, err = r.find(ctx, "") // says what to do
		return nil, 0, nil, err
	}
	found, fault := report.HangsIn(ctx, r.db.Session(list[0]), 0)
	return []report.Hangs{found}, 0, own, errors.Join(err, fault)
}

// mostReplayed is how many bytes of frames a closed replay takes into memory.
const mostReplayed = 256 << 20

// explainHang plays a session in a closed replay.
func explainHang(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	setup := closed.Setup{}
	if text := args.text("buffer"); text != "" {
		setup.Capacity, err = closed.ParseCapacity(text)
		if err != nil {
			return a, fmt.Errorf("the argument buffer: %w", err)
		}
	}
	for _, end := range []struct {
		name  string
		dir   transport.Direction
		model *closed.Model
	}{{"client_model", transport.ClientToServer, &setup.Client}, {"server_model", transport.ServerToClient, &setup.Server}} {
		text := args.text(end.name)
		if text == "" {
			continue // the zero Model is free
		}
		*end.model, err = closed.ParseEnd(end.dir, text)
		if err != nil {
			return a, fmt.Errorf("the argument %s: %w", end.name, err)
		}
	}
	s, err := r.find(ctx, args.text("session"))
	if err != nil {
		return a, err
	}
	size, err := frameBytes(ctx, r, s.ID)
	if err != nil {
		return a, err
	}
	if size > mostReplayed {
		return a, fmt.Errorf("session %s has %d bytes of messages, more than the %d that a closed replay takes here; run mcprec replay %s", s.ID, size, mostReplayed, s.ID)
	}
	recording, fold, err := report.LoadReplay(ctx, s)
	if err != nil {
		return a, err
	}
	told, err := report.Judge(ctx, s, recording, fold, setup)
	if err != nil {
		return a, err
	}
	a.data = struct {
		Session store.SessionID `json:"session"`
		report.Judged
	}{s.ID, told}
	a.text = told.Text()
	return a, nil
}

// frameBytes returns how many bytes the frames of a session have.
func frameBytes(ctx context.Context, r *recordings, id store.SessionID) (uint64, error) {
	for found, err := range r.db.Sessions(ctx, store.Query{Prefix: string(id)}) {
		if err == nil && found.ID == id {
			return found.Bytes, nil
		}
	}
	return 0, fmt.Errorf("session %s: %w", id, store.ErrNotFound)
}
