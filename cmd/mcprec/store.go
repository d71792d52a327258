package main

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// storeCommands returns the commands that keep the store.
func storeCommands() []*cobra.Command {
	return []*cobra.Command{newVerify(), newRepair(), newCompact(), newPrune(), newKeep(), newSize()}
}

func newStore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store COMMAND",
		Short: "Keep the store: verify, repair, compact, prune, keep, size",
		Example: `  mcprec store size
  mcprec store verify
  mcprec store prune --older-than 30d --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("store has no command %q; see mcprec store --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(storeCommands()...)
	return cmd
}

func newVerify() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:               "verify [SESSION]...",
		Short:             "Check sessions and files of the store: order, gaps, checksums",
		Example:           "  mcprec store verify\n  mcprec store verify SESSION",
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			defer cli.LimitMemory()()
			d, err := h.Masker(nil)
			if err != nil {
				return err
			}
			v := verification{cmd: cmd, masker: d}
			if len(args) == 0 {
				err = v.store(h)
			}
			for _, arg := range args {
				s, err := openSession(cmd, h.unmasked(), arg)
				if err != nil {
					return err
				}
				v.log(s.Name, s.Recorded(cmd.Context(), 1, store.ReadOptions{}), "")
				if err := s.Release(); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, %s, %s\n", phrase.Plural(v.sessions, "session"), phrase.Plural(v.events, "event"), phrase.Plural(len(v.faults), "fault"))
			if len(v.faults) > 0 {
				return cli.ErrVerdict
			}
			return nil
		},
	}
	h.addFlags(cmd)
	return cmd
}

// unclosed says why a log has no end, and what follows.
const unclosed = "the recording stops here, because its recorder died or it was cut: it may lack its last messages"

// verification counts what was checked, and prints what is wrong.
type verification struct {
	cmd              *cobra.Command
	masker           session.Masker // masks what is printed of a session
	sessions, events uint64
	faults           []string
}

// fault prints a fault once: listing or reading a session may return again what the check of
// the store's structures has found.
func (v *verification) fault(err error) {
	text := err.Error()
	for _, told := range v.faults {
		if strings.HasSuffix(text, told) {
			return
		}
	}
	v.faults = append(v.faults, text)
	fmt.Fprintf(v.cmd.OutOrStdout(), "fault: %s\n", output.Plain(text))
}

// store checks the store's structures and all of its sessions.
func (v *verification) store(home home) (err error) {
	db, err := session.OpenUnmasked(v.cmd.Context(), home.Home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db) // without tidying: verify changes nothing
	if db.Missing() {
		return cli.Usagef("%w", db.NotFound(""))
	}
	ctx := v.cmd.Context()
	if err := db.Verify(ctx, v.fault); err != nil {
		return err
	}
	var sessions []store.Session
	for s, err := range db.Sessions(ctx, store.Query{}) {
		if err != nil {
			v.fault(err)
			continue
		}
		sessions = append(sessions, s)
	}
	v.logs(db, sessions)
	return nil
}

// logs checks the events of sessions that the store has listed. One that has been removed since is not counted.
func (v *verification) logs(db *session.Store, sessions []store.Session) {
	for _, s := range sessions {
		v.log("session "+string(s.ID), db.Read(v.cmd.Context(), s.ID, 1, store.ReadOptions{}), s.State)
	}
}

// log checks one session's events.
func (v *verification) log(name string, events iter.Seq2[store.Event, error], state store.State) {
	sessions, counted := v.sessions, v.events
	v.sessions++
	var check store.Validator
	d := v.masker
	for e, err := range events {
		if session.IsGone(err) {
			v.sessions, v.events = sessions, counted
			return
		}
		if err == nil {
			err = check.Check(e)
		}
		if err != nil {
			v.fault(fmt.Errorf("%s: %w", name, err))
			return
		}
		v.events++
		switch e.Kind {
		case store.Opened:
			h, _ := store.ParseHeader(e.Payload) // the validator has read it
			d = d.Of(h)
		case store.Lost:
			info, _ := store.DecodePayload[store.LostInfo](e)
			fmt.Fprintf(v.cmd.OutOrStdout(), "%s: event %d: %s and %s were not recorded: %s\n", name, e.Seq,
				phrase.Plural(info.Frames, "message"), phrase.Plural(info.Bytes, "byte"), output.Plain(d.Text(info.Reason)))
		case store.Note:
			if info, err := store.DecodePayload[store.NoteInfo](e); err == nil && info.Doubtful > 0 {
				fmt.Fprintf(v.cmd.OutOrStdout(), "%s: event %d: %s\n", name, e.Seq, output.Plain(d.Text(info.Text)))
			}
		}
	}
	if seq, sealed := check.Head(); !sealed && state != store.Live {
		fmt.Fprintf(v.cmd.OutOrStdout(), "%s: ends at event %d without being closed: %s\n", name, seq, unclosed)
	}
}

func newRepair() *cobra.Command {
	var h home
	var dry bool
	cmd := &cobra.Command{
		Use:               "repair [--dry-run]",
		Short:             "Save what a damaged store still holds, and say what is lost",
		Example:           "  mcprec store repair --dry-run\n  mcprec store repair",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runRepair(cmd, h, dry) },
	}
	h.addFlags(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be saved and lost, and change nothing")
	return cmd
}

func runRepair(cmd *cobra.Command, home home, dry bool) (err error) {
	defer cli.LimitMemory()()
	db, err := session.OpenUnmasked(cmd.Context(), home.Home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	if db.Missing() {
		return cli.Usagef("%w", db.NotFound(""))
	}
	damaged := uint64(0)
	lost := false
	err = db.Repair(cmd.Context(), dry, func(repaired store.Repaired) {
		damaged++
		lost = lost || repaired.Lost()
		sayRepaired(cmd, repaired)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", phrase.Plural(damaged, "damaged file"))
	if lost {
		return cli.ErrVerdict
	}
	return nil
}

func sayRepaired(cmd *cobra.Command, repaired store.Repaired) {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) }
	fault, _, _ := strings.Cut(fmt.Sprint(repaired.Fault), " (") // without the advice to repair it
	fault, _, _ = strings.Cut(fault, "; mcprec store repair ")
	if !strings.Contains(fault, repaired.Path) {
		fault = repaired.Path + ": " + fault
	}
	say("%s", fault)
	if repaired.Odd {
		if repaired.Kept != "" {
			say("  it is now %s", repaired.Kept)
		}
		return
	}
	whole := uint64(0)
	part := []store.Salvaged(nil)
	for _, x := range repaired.Sessions {
		if x.Lost == 0 {
			whole++
		} else {
			part = append(part, x)
		}
	}
	switch {
	case whole > 0:
		say("  saved whole: %s", phrase.Plural(whole, "session"))
	case len(part) == 0:
		say("  nothing of a session was found in it")
	}
	for _, x := range part {
		atLeast := ""
		if x.Open {
			atLeast = "at least "
		}
		say("  session %s: %s saved, %s%d lost", x.ID, phrase.Plural(x.Saved, "event"), atLeast, x.Lost)
	}
	switch {
	case repaired.Unknown:
		say("  how many sessions it held is not known any more")
	case repaired.Gone == 1:
		say("  lost with all its events: session %s", repaired.GoneID)
	case repaired.Gone > 1:
		say("  lost with all their events: %s", phrase.Plural(repaired.Gone, "session"))
	}
	if repaired.Kept != "" {
		say("  the damaged file is kept as %s", repaired.Kept)
	}
}

func newCompact() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:               "compact",
		Short:             "Give the space of removed sessions back to the disk",
		Example:           "  mcprec store compact",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runCompact(cmd, h) },
	}
	h.addFlags(cmd)
	return cmd
}

func runCompact(cmd *cobra.Command, home home) (err error) {
	defer cli.LimitMemory()()
	db, err := openExisting(cmd, home.unmasked())
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	var before, after int64
	err = db.Compact(cmd.Context(), 0, func(c store.Compacted) {
		before, after = before+c.Before, after+c.After
		if c.After < c.Before {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, now %s\n", c.Path, output.Size(c.Before), output.Size(c.After))
		}
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s given back; the databases take %s\n", output.Size(before-after), output.Size(after))
	return err
}

func newShare(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                "share COMMAND [ARG]...",
		Short:              "Share sessions with a team: push, pull, make, status",
		Example:            "  mcprec share push nats://n1,n2,n3/MCPREC\n  mcprec share pull --into team nats://n1,n2,n3/MCPREC",
		DisableFlagParsing: true,
		ValidArgsFunction:  cobra.NoFileCompletions,
		RunE:               func(_ *cobra.Command, args []string) error { return runShare(std, args) },
	}
}

// runShare puts mcprec-share in the place of this process. It is beside this program, or in the PATH.
func runShare(std cli.Streams, args []string) error {
	const name = "mcprec-share"
	own, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name))
	if err != nil {
		path, err = exec.LookPath(name)
	}
	if err != nil {
		return cli.Usagef("share: %s is not beside mcprec or in the PATH: a release has both, and make share builds it from the source", name)
	}
	err = syscall.Exec(path, append([]string{name}, args...), os.Environ())
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	cmd := exec.Command(path, args...) // Windows has no exec
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.In, std.Out, std.Err
	if err := cmd.Run(); cmd.ProcessState == nil {
		return err
	}
	return &cli.Status{Code: cmd.ProcessState.ExitCode()}
}
