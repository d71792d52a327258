package sharing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// ArchiveOptions configures an archive.
type ArchiveOptions struct {
	To     session.Home // the bucket
	Rules  session.ArchiveRules
	Format string // of the report: "text" or "json"
}

// Archive copies sessions of a store into a bucket, and reports each to out and the whole to errs. It
// reports how many sessions it could not copy, or not read again; the others are done all the same.
func Archive(ctx context.Context, db *session.Store, options ArchiveOptions, out, errs io.Writer) (failed int, err error) {
	if db.Folder != "" {
		options.Rules.Stays, err = retention.Kept(db.Folder)
		if err != nil {
			return 0, err
		}
	}
	copied, deleted := 0, 0
	var bytes uint64
	err = db.Archive(ctx, options.To, options.Rules, func(done session.Archived) {
		switch {
		case done.Err != nil:
			failed++
		case done.Copied:
			copied++
			bytes += done.Session.Bytes
		}
		if done.Deleted {
			deleted++
		}
		done.Session.Header = db.Masker.Header(done.Session.Header)
		reportArchived(out, done, options)
	})
	did := "copied %s with %s"
	if options.Rules.DryRun {
		did = "would copy %s with %s"
	}
	text := fmt.Sprintf(did, phrase.Plural(copied, "session"), terminal.Size(int64(bytes)))
	if options.Rules.Delete {
		text += fmt.Sprintf(", and delete %s from %s", phrase.Plural(deleted, "session"), db.Info().Location)
		if !options.Rules.DryRun {
			text = fmt.Sprintf(did+", and deleted %s from %s", phrase.Plural(copied, "session"), terminal.Size(int64(bytes)), phrase.Plural(deleted, "session"), db.Info().Location)
		}
	}
	if failed > 0 {
		text += fmt.Sprintf("; %s at fault, and left as they are", phrase.Plural(failed, "session"))
	}
	fmt.Fprintf(errs, "mcprec: %s\n", text)
	return failed, err
}

// reportArchived prints what became of a session.
func reportArchived(out io.Writer, done session.Archived, options ArchiveOptions) {
	found := done.Session
	if options.Format == "json" {
		line := struct {
			ID      store.SessionID `json:"id"`
			Start   time.Time       `json:"start"`
			Label   string          `json:"label"`
			Bytes   uint64          `json:"bytes"`
			Copied  bool            `json:"copied"`
			Deleted bool            `json:"deleted"`
			Error   string          `json:"error,omitempty"`
		}{found.ID, found.Start, found.Label, found.Bytes, done.Copied, done.Deleted, ""}
		if done.Err != nil {
			line.Error = done.Err.Error()
		}
		_ = json.NewEncoder(out).Encode(line)
		return
	}
	did := "is there"
	switch {
	case done.Err != nil:
		did = "fault"
	case done.Copied && done.Deleted:
		did = "moved"
	case done.Copied:
		did = "copied"
	case done.Deleted:
		did = "deleted"
	}
	says := session.Labels(found.Header)
	if done.Err != nil {
		says = done.Err.Error()
	}
	fmt.Fprintf(out, "%s  %s  %10s  %-8s  %s\n", found.ID, found.Start.Local().Format(time.DateTime), terminal.Size(int64(found.Bytes)), did, terminal.Plain(says))
}
