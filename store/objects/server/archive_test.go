package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/objects"
)

// origin returns a store with six sessions: four that ended, one that crashed, and one that ended late.
func origin(t testing.TB) (s *memstore.Store, due []store.SessionID) {
	t.Helper()
	s = memstore.New()
	for i := range 4 {
		due = append(due, idAt(noon.AddDate(0, 0, -i), i))
		mustAppend(t, s, session(due[i], noon.AddDate(0, 0, -i), 9, 9))
	}
	crashed := session(idAt(noon, 7), noon, 9, 9)
	mustAppend(t, s, crashed[:8])
	mustAppend(t, s, session(idAt(noon.AddDate(0, 0, 3), 8), noon.AddDate(0, 0, 3), 9, 9))
	return s, due
}

// rule takes the four sessions that are due.
var rule = objects.Rule{Before: noon.AddDate(0, 0, 1)}

// masking replaces the x of each frame. Its header tells another label, so that the chain differs.
func masking(with string) func(store.Header) (func(store.Event) store.Event, error) {
	return func(store.Header) (func(store.Event) store.Event, error) {
		return func(event store.Event) store.Event {
			event.Payload = bytes.ReplaceAll(event.Payload, []byte("xxx"), []byte(with))
			return event
		}, nil
	}
}

// run archives, and returns what was reported as "step id", sorted.
func run(t testing.TB, from store.Store, to *objects.Store, options objects.ArchiveOptions) (done []string, err error) {
	t.Helper()
	options.Report = func(a objects.Archived) {
		word := string(a.Step)
		if a.Deleted {
			word += ", deleted"
		}
		if a.Err != nil {
			word += ", fault"
		}
		done = append(done, word+" "+string(a.Session.ID[24:]))
	}
	err = objects.Archive(t.Context(), from, to, options)
	slices.Sort(done)
	return done, err
}

func wantRun(t testing.TB, from store.Store, to *objects.Store, options objects.ArchiveOptions, want ...string) {
	t.Helper()
	done, err := run(t, from, to, options)
	if err != nil || !slices.Equal(done, want) {
		t.Errorf("archived\n got %q, %v\nwant %q", done, err, want)
	}
}

// each returns "word n" for the four sessions that are due.
func each(word string) (all []string) {
	for i := range 4 {
		all = append(all, fmt.Sprintf("%s %012x", word, i))
	}
	return all
}

func TestArchive(t *testing.T) {
	srv, to := open(t, "")
	from, due := origin(t)
	options := objects.ArchiveOptions{
		Rule: rule, Mask: masking("***"),
		Summary: func() (func(store.Event) error, func() []byte) {
			n := 0
			return func(event store.Event) error {
				if bytes.Contains(event.Payload, []byte("xxx")) {
					return errors.New("the summary sees what is masked")
				}
				n++
				return nil
			}, func() []byte { return fmt.Append(nil, n) }
		},
	}
	dry := options
	dry.DryRun = true
	wantRun(t, from, to, dry, each("copy")...)
	if keys := srv.keys(t); len(keys) > 0 {
		t.Errorf("a dry run wrote %q", keys)
	}
	wantRun(t, from, to, options, each("copy")...)
	wantRun(t, from, to, options)
	for _, id := range due {
		got, err := readAll(t.Context(), to, id)
		if err != nil || len(got) != 9 || bytes.Contains(got[3].Payload, []byte("xxx")) || !bytes.Contains(got[3].Payload, []byte("***")) {
			t.Errorf("session %s: %d events, %v", id, len(got), err)
		}
		if head, err := from.Head(t.Context(), id); err != nil || !head.Sealed {
			t.Errorf("the original of %s: %v", id, err)
		}
	}
	fresh := opened(t, srv, "")
	var all []store.Session
	for x, err := range fresh.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	summaries, err := fresh.Summaries(t.Context(), all)
	if err != nil || len(summaries) != 4 || string(summaries[due[2]]) != "9" {
		t.Errorf("summaries %q, %v", summaries, err)
	}
	options.Delete = true
	options.Mask = masking("another key")
	wantRun(t, from, to, options, each("remove, deleted")...)
	if ids, _ := listed(t, from, store.Query{}); len(ids) != 2 {
		t.Errorf("left in the origin: %v", ids)
	}
	wantRun(t, from, to, options)
}

// TestArchiveInterrupted: an archive that is stopped before any of its requests leaves what the next one
// finishes, also with another mask; no original is deleted before its copy can be read.
func TestArchiveInterrupted(t *testing.T) {
	for stop := int64(1); ; stop++ {
		srv, to := open(t, "")
		from, due := origin(t)
		var requests atomic.Int64
		srv.answer(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			if requests.Add(1) < stop {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		options := objects.ArchiveOptions{Rule: rule, Mask: masking("first")}
		options.Delete = true
		_, err := run(t, from, to, options)
		srv.answer(nil)
		for _, id := range due {
			if _, gone := from.Head(t.Context(), id); gone != nil {
				if got, err := readAll(t.Context(), to, id); err != nil || len(got) != 9 {
					t.Fatalf("stopped at request %d: session %s is in neither store: %v", stop, id, err)
				}
			}
		}
		finished := err == nil
		options.Mask = masking("second")
		if done, err := run(t, from, to, options); err != nil || strings.Contains(strings.Join(done, " "), "fault") {
			t.Fatalf("after a stop at request %d: %q, %v", stop, done, err)
		}
		if ids, _ := listed(t, from, store.Query{}); len(ids) != 2 {
			t.Fatalf("after a stop at request %d: left in the origin: %v", stop, ids)
		}
		if ids, faults := listed(t, to, store.Query{}); len(ids) != 4 || len(faults) > 0 {
			t.Fatalf("after a stop at request %d: archived %v, %v", stop, ids, faults)
		}
		if err := to.Verify(t.Context(), func(err error) { t.Errorf("after a stop at request %d: %v", stop, err) }); err != nil {
			t.Fatal(err)
		}
		if finished {
			t.Logf("an archive of four sessions has %d requests", requests.Load())
			return
		}
	}
}

// TestArchiveLate: a copy that comes while an archive puts its own, with another mask, is taken: of another
// archive, or late of one that was interrupted.
func TestArchiveLate(t *testing.T) {
	srv, to := open(t, "")
	from, due := origin(t)
	options := objects.ArchiveOptions{Rule: rule, Mask: masking("first")}
	late := opened(t, srv, "")
	var begun atomic.Bool
	srv.answer(func(_ http.ResponseWriter, request *http.Request, _ http.Handler) bool {
		if request.Method == http.MethodPut && strings.HasSuffix(request.URL.Path, sessionKey(due[0])) && begun.CompareAndSwap(false, true) {
			if done, err := run(t, from, late, options); err != nil || strings.Contains(strings.Join(done, " "), "fault") {
				t.Errorf("the other archive says %q, %v", done, err)
			}
		}
		return false
	})
	second := options
	second.Mask = masking("second")
	second.Delete = true
	if done, err := run(t, from, to, second); err != nil || strings.Contains(strings.Join(done, " "), "fault") {
		t.Errorf("the archive says %q, %v", done, err)
	}
	if ids, faults := listed(t, to, store.Query{}); len(ids) != 4 || len(faults) > 0 {
		t.Errorf("archived %v, %v", ids, faults)
	}
	if err := to.Verify(t.Context(), func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
}

// TestArchiveHeals: a copy that was lost from the archive is put again while the original is there.
func TestArchiveHeals(t *testing.T) {
	srv, to := open(t, "")
	from, due := origin(t)
	options := objects.ArchiveOptions{Rule: rule, Mask: masking("first")}
	wantRun(t, from, to, options, each("copy")...)
	srv.remove(t, sessionKey(due[0]))
	options.Mask = masking("second")
	wantRun(t, from, to, options, "copy 000000000000")
	if got, err := readAll(t.Context(), opened(t, srv, ""), due[0]); err != nil || len(got) != 9 {
		t.Errorf("read %d events, %v", len(got), err)
	}
}

// TestArchivers: two archives at once put each session once, and both end well.
func TestArchivers(t *testing.T) {
	srv, to := open(t, "")
	from := memstore.New()
	for i := range 30 {
		mustAppend(t, from, session(idAt(noon, i), noon, 20, 50))
	}
	second := opened(t, srv, "")
	var group sync.WaitGroup
	for _, to := range []*objects.Store{to, second} {
		group.Go(func() {
			options := objects.ArchiveOptions{Rule: rule, Mask: masking("***")}
			options.Delete = true
			options.Report = func(a objects.Archived) {
				if a.Err != nil {
					t.Errorf("session %s: %v", a.Session.ID, a.Err)
				}
			}
			if err := objects.Archive(t.Context(), from, to, options); err != nil {
				t.Errorf("archive: %v", err)
			}
		})
	}
	group.Wait()
	if ids, _ := listed(t, from, store.Query{}); len(ids) != 0 {
		t.Errorf("left in the origin: %v", ids)
	}
	ids, faults := listed(t, to, store.Query{})
	if len(ids) != 30 || len(faults) > 0 || len(srv.keys(t)) != 60 {
		t.Errorf("archived %d, %v", len(ids), faults)
	}
	for _, id := range ids {
		if got, err := readAll(t.Context(), to, id); err != nil || len(got) != 20 {
			t.Errorf("session %s: %d events, %v", id, len(got), err)
		}
	}
}

// TestArchiveKeeps: an original stays when its copy is damaged, is another session, or was deleted in the
// archive; the other sessions are archived.
func TestArchiveKeeps(t *testing.T) {
	for name, harm := range map[string]func(srv *server, to *objects.Store, id store.SessionID){
		"damaged": func(srv *server, _ *objects.Store, id store.SessionID) {
			data := srv.get(t, sessionKey(id))
			data[len(data)/2] ^= 1
			srv.put(t, sessionKey(id), data)
		},
		"another": func(srv *server, to *objects.Store, id store.SessionID) {
			srv.remove(t, sessionKey(id))
			srv.remove(t, summaryKey(id))
			mustAppend(t, to, session(id, noon, 7, 7))
		},
		"deleted": func(_ *server, to *objects.Store, id store.SessionID) {
			if err := to.Delete(t.Context(), id); err != nil {
				t.Error(err)
			}
		},
	} {
		srv, to := open(t, "")
		from, due := origin(t)
		options := objects.ArchiveOptions{Rule: rule}
		wantRun(t, from, to, options, each("copy")...)
		harm(srv, to, due[0])
		options.Delete = true
		done, err := run(t, from, to, options)
		faults := 0
		for _, text := range done {
			if strings.Contains(text, "fault") {
				faults++
			}
		}
		if err != nil || len(done) != 4 || faults != 1 {
			t.Errorf("%s: %q, %v", name, done, err)
		}
		if _, err := from.Head(t.Context(), due[0]); err != nil {
			t.Errorf("%s: the original: %v", name, err)
		}
		if ids, _ := listed(t, from, store.Query{}); len(ids) != 3 {
			t.Errorf("%s: left in the origin: %v", name, ids)
		}
	}
}
