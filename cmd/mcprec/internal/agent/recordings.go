package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// recordings are the sessions that may be told of. Their methods may be called concurrently.
type recordings struct {
	db      *session.Store // open for reading only
	lineage []procfs.ID    // this process and its ancestors
	limits  limits
	own     sync.Map // [store.SessionID] to bool: whether its server said that it is mcprec mcp
}

// visible lists the sessions that may be told of, newest first. own are the others, except that of this
// process: their server is mcprec mcp, or says so. The error names parts of the store that cannot be
// read; the others are listed.
func (r *recordings) visible(ctx context.Context, query store.Query) (list []store.Session, own []store.SessionID, err error) {
	query.Newest = true
	for found, fault := range r.db.Sessions(ctx, query) {
		switch {
		case fault != nil:
			err = errors.Join(err, fault)
		case found.State == store.Live && r.isRecordedBy(ctx, found):
		case cli.ServesAgents(found.Command) || r.isIntroduced(ctx, found):
			own = append(own, found.ID)
		default:
			list = append(list, found)
		}
	}
	return list, own, err
}

// leftOut says how many sessions an answer leaves out because their server is mcprec mcp; "" if none. A
// server can give itself any name, and must not hide by it.
func leftOut(own []store.SessionID) string {
	if len(own) == 0 {
		return ""
	}
	return fmt.Sprintf("%s left out: the server is mcprec mcp, or says that it is; the command mcprec list has %s",
		phrase.Plural(len(own), "session")+phrase.Agree(len(own), " is", " are"), phrase.Agree(len(own), "it", "them"))
}

// isIntroduced reports whether the server of a session said of itself that it is mcprec mcp. This
// knows one whose command does not tell: below a script, under another name, or from a client's log.
func (r *recordings) isIntroduced(ctx context.Context, found store.Session) bool {
	known, isKnown := r.own.Load(found.ID)
	if isKnown {
		return known.(bool)
	}
	const within = 100 // events
	for e, err := range r.db.Read(ctx, found.ID, 1, store.ReadOptions{}) {
		if err != nil {
			return false
		}
		if e.Seq > within {
			break
		}
		isSaid, isOwn := introduces(e)
		if isSaid {
			r.own.Store(found.ID, isOwn)
			return isOwn
		}
	}
	if found.State != store.Live { // else it may be said yet
		r.own.Store(found.ID, false)
	}
	return false
}

// introduces reports whether a server says in an event who it is, and whether it is mcprec mcp. Name
// and title count: another server may have the name alone.
func introduces(e store.Event) (isSaid, isOwn bool) {
	if e.Kind != store.Frame || e.Dir != transport.ServerToClient {
		return false, false
	}
	messages, err := transport.Frame{Bytes: e.Payload}.Messages()
	if err != nil {
		return false, false
	}
	for _, m := range messages {
		info := transport.Member(m.Result, mcp.MemberServerInfo)
		if info != nil {
			own := implementation("")
			return true, transport.MemberText(info, "name") == own.Name && transport.MemberText(info, "title") == own.Title
		}
	}
	return false, false
}

// isRecordedBy reports whether the recorder of a live session is an ancestor of this process: then
// this process serves the session, or a part of the server that does.
func (r *recordings) isRecordedBy(ctx context.Context, live store.Session) bool {
	for e, err := range r.db.Read(ctx, live.ID, 1, store.ReadOptions{}) {
		if err != nil {
			return false
		}
		header, err := store.ParseHeader(e.Payload)
		if err != nil || header.Processes == nil {
			return false
		}
		return slices.Contains(r.lineage, header.Processes.Recorder)
	}
	return false
}

// lineage returns this process and its ancestors.
func lineage() []procfs.ID { return procfs.Lineage(os.Getpid()) }

// find returns the session that an id names, or the beginning of one; for "" the newest.
func (r *recordings) find(ctx context.Context, id string) (*session.Session, error) {
	const shortest = 4
	id = strings.ToLower(strings.TrimSpace(id))
	switch {
	case strings.Trim(id, "0123456789abcdef-") != "":
		return nil, errors.New("the argument session is no id: an id has the digits 0 to 9 and a to f, and -, and no path or label will do; list_sessions shows the ids")
	case id != "" && len(id) < shortest:
		return nil, fmt.Errorf("the argument session is too short; want at least %d characters of an id, as list_sessions shows it", shortest)
	}
	found, own, err := r.visible(ctx, store.Query{Prefix: id})
	switch {
	case len(found) > 1 && id != "":
		var ids []string
		for _, s := range found[:min(len(found), 5)] {
			ids = append(ids, string(s.ID))
		}
		return nil, fmt.Errorf("the ids of %d sessions begin with %s; give one of them whole: %s", len(found), id, strings.Join(ids, " "))
	case len(found) > 0:
		return r.db.Session(found[0]), nil
	case err != nil:
		return nil, err
	case id == "" && len(own) > 0:
		return nil, errors.New("there is no session; " + leftOut(own))
	case id == "":
		return nil, errors.New("no session is recorded yet; one is made with mcprec record -- COMMAND in front of a server's command")
	}
	if len(own) > 0 {
		return nil, fmt.Errorf("no session that may be shown has the id %s; %s", id, leftOut(own))
	}
	return nil, fmt.Errorf("no session has the id %s; list_sessions shows the ids", id)
}

// span selects sessions of a list.
type span struct {
	since  time.Time // the zero time: any
	label  string
	server string // in the label, the command, the URL, or the name that the server gave itself
	before store.SessionID
}

// parseSpan reads the arguments since, label, server and before.
func parseSpan(args arguments) (s span, err error) {
	if text := args.text("since"); text != "" {
		s.since, err = phrase.ParseSince(text, time.Now())
		if err != nil {
			return s, fmt.Errorf("the argument since is %w", err)
		}
	}
	s.label, s.server = args.text("label"), args.text("server")
	s.before = store.SessionID(strings.ToLower(args.text("before")))
	return s, nil
}

// pick returns the sessions of a list, newest first, that are in the span.
func (r *recordings) pick(ctx context.Context, list []store.Session, s span) ([]store.Session, error) {
	if s.before != "" {
		at := slices.IndexFunc(list, func(found store.Session) bool { return found.ID == s.before })
		if at < 0 {
			return nil, errors.New("the argument before is no whole id of a session; give the one that the last answer named")
		}
		list = list[at+1:]
	}
	return slices.DeleteFunc(list, func(found store.Session) bool {
		return found.Start.Before(s.since) ||
			s.label != "" && !session.HasLabel(found.Header, s.label) ||
			s.server != "" && !r.isOf(ctx, found, s.server)
	}), nil
}

// isOf reports whether a session is one with the server of that name, or whose name has it as a part.
func (r *recordings) isOf(ctx context.Context, found store.Session, server string) bool {
	server = strings.ToLower(server)
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), server) }
	if has(session.Labels(found.Header)) || has(found.URL) || slices.ContainsFunc(found.Command, has) {
		return true
	}
	introduction, err := r.db.Session(found).Introduction(ctx)
	return err == nil && has(introduction.Server)
}
