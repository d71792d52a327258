package recording

import (
	"fmt"
	"io"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Play is a play of [external.Explore] that is written for others.
type Play struct {
	Shown    *external.Shown // nil: there is none
	Of       *session.Recording
	Server   external.Server
	OverHTTP bool   // Server is a client, which has asked mcprec over HTTP
	Recorder string // the name and version in the header
}

// Write writes the play as a session and as a script, each where it has a name, and says so.
func (p Play) Write(out, script cli.File, stdout, stderr io.Writer) error {
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "mcprec: "+format+"\n", args...) }
	if p.Shown == nil && (out.Name != "" || script.Name != "") {
		say("nothing written: nothing was found")
		return nil
	}
	if out.Name != "" {
		if err := out.Write(stdout, p.Session); err != nil {
			return err
		}
		say("written to %s; see it with mcprec view %s", out.Name, phrase.ShellWord(out.Name))
	}
	if script.Name == "" {
		return nil
	}
	text, secrets, err := p.script()
	if err != nil {
		say("no script: %v", err)
		return nil
	}
	if err := script.Write(stdout, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	if script.Name != "-" {
		say("written to %s; run it with sh %s", script.Name, phrase.ShellWord(script.Name))
	}
	if secrets > 0 {
		say("%s masked in it: it may not show the same; --secrets writes the script with them", phrase.Plural(secrets, "secret")+phrase.Agree(int(secrets), " is", " are"))
	}
	return nil
}

// Session writes the play as a session.
func (p Play) Session(w io.Writer) error {
	header := store.Header{
		ID: store.DeriveSessionID([]byte(string(p.Of.Header.ID) + p.Shown.Token)), Start: time.Now(), Transport: "stdio",
		Label: "explore " + p.Shown.Token, Command: p.Server.Command, Recorder: p.Recorder,
	}
	switch {
	case p.Server.URL != "":
		header.Transport, header.URL = "http", p.Server.URL
	case p.OverHTTP:
		header.Transport = "http"
	}
	return session.Encode(w, p.Of.Masker.Events(jsonl.Each(p.Shown.Events(header))))
}

// script returns the play as a script, and how many secrets are masked in it.
func (p Play) script() (text []byte, secrets uint64, err error) {
	mask := p.Of.Masker.InOrder()
	masked := p.Shown.Masked(func(e store.Event) store.Event {
		e = mask(e)
		secrets += e.Redacted
		return e
	})
	if f := p.Shown.Finding; f != nil {
		own := *f
		own.Detail = p.Of.Masker.Text(f.Detail)
		masked.Finding = &own
	}
	server := p.Server
	server.Command, server.Env = p.Of.Masker.Texts(server.Command), p.Of.Masker.Texts(server.Env)
	text, err = masked.Script(server)
	return text, secrets, err
}
