package view

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

//go:generate go run -C bundle .

//go:embed dist/view.js dist/view.css
var dist embed.FS

// page is the document. Its parts are the head and the end of the body.
const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
	`<title>mcprec</title>%s</head><body><div id="app"></div>%s</body></html>`

// routes are what the page asks for. The guard stands before them, and takes off its path: the page
// asks by relative addresses.
func (x *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, `<link rel="stylesheet" href="dist/view.css"><link rel="icon" href="data:,">`,
			`<script type="module" src="dist/view.js"></script>`)
	})
	mux.HandleFunc("GET /dist/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := "dist/" + r.PathValue("name")
		if _, err := fs.Stat(dist, name); err != nil {
			refuse(w, http.StatusNotFound, "no such file")
			return
		}
		http.ServeFileFS(w, r, dist, name)
	})
	// about handles a request about a session.
	about := func(f func(w http.ResponseWriter, r *http.Request, i *index) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			i, release, err := x.sessions.of(r)
			if err == nil {
				defer release()
				err = f(w, r, i)
			}
			if err != nil {
				refuse(w, statusOf(err), err.Error())
			}
		}
	}
	// answer handles a request about a session whose answer is a JSON value.
	answer := func(f func(i *index, r *http.Request) (any, error)) http.HandlerFunc {
		return about(func(w http.ResponseWriter, r *http.Request, i *index) error {
			value, err := f(i, r)
			if err == nil {
				writeJSON(w, http.StatusOK, value)
			}
			return err
		})
	}
	mux.HandleFunc("GET /api/session", func(w http.ResponseWriter, r *http.Request) {
		if x.shown.list && !r.URL.Query().Has("id") {
			writeJSON(w, http.StatusOK, sessionAnswer{Mode: "list"})
			return
		}
		answer(func(i *index, r *http.Request) (any, error) { return x.shown.describe(r.Context(), i) })(w, r)
	})
	mux.HandleFunc("GET /api/rows", answer((*index).answerRows))
	mux.HandleFunc("GET /api/overview", answer((*index).overview))
	mux.HandleFunc("GET /api/waterfall", answer((*index).waterfall))
	mux.HandleFunc("GET /api/between", answer((*index).between))
	mux.HandleFunc("GET /api/state", answer((*index).answerState))
	mux.HandleFunc("GET /api/frame", answer((*index).frame))
	mux.HandleFunc("GET /api/findings", answer((*index).findingsSoFar))
	mux.HandleFunc("GET /api/why", answer(func(i *index, r *http.Request) (any, error) { return i.why(r.Context()) }))
	mux.HandleFunc("GET /api/diagram", answer(diagram))
	mux.HandleFunc("GET /api/find", about(find))
	mux.HandleFunc("GET /api/live", about(x.shown.live))
	mux.HandleFunc("GET /api/run", answer(x.replays.run))
	mux.HandleFunc("GET /api/fits", answer(x.replays.answerFits))
	mux.HandleFunc("POST /api/explore", about(x.explorer.explore))
	mux.HandleFunc("GET /api/options", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, listOptions()) })
	mux.HandleFunc("GET /api/diff", x.sessions.answerDiff)
	mux.HandleFunc("GET /api/sessions", x.sessions.answerList)
	return mux
}

// number returns a number of a request's query.
func number(r *http.Request, name string, initial uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return initial, nil
	}
	n, err := strconv.ParseUint(text, 10, 53) // what the page can count
	if err != nil {
		return 0, fmt.Errorf("%s=%s: want a number", name, text)
	}
	return n, nil
}

// statusOf returns the status of an error.
func statusOf(err error) int {
	if errors.Is(err, store.ErrNotFound) {
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status = http.StatusInternalServerError
		text = []byte(`{"error":` + strconv.Quote(strings.ToValidUTF8(err.Error(), "?")) + `}`)
	}
	w.Header().Set("Content-Type", mcp.MediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the page may be gone
}
