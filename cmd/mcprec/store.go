package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/sharing"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// storeCommands returns the commands that keep the store.
func storeCommands() []*cobra.Command {
	return []*cobra.Command{newVerify(), newRepair(), newCompact(), newPrune(), newKeep(), newStats()}
}

// sharingCommands returns the commands for a store that several machines share.
func sharingCommands() []*cobra.Command {
	return []*cobra.Command{newMake(), newFlush(), newArchive(), newDoctor()}
}

func newStore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store COMMAND",
		Short: "Keep the store: verify, repair, compact, prune, keep, stats, make, flush, archive, doctor",
		Example: `  mcprec store stats
  mcprec store verify
  mcprec store prune --older-than 30d --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("store has no command %q; see mcprec store --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(storeCommands()...)
	cmd.AddCommand(sharingCommands()...)
	return cmd
}

func newVerify() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "verify [SESSION]...",
		Short: "Check that logs keep their invariants: order, no gaps, checksums",
		Long: `verify reads sessions whole, or without arguments every session and the store's
own structures, and checks each log: sequence numbers from 1 without gaps, times
that never fall, the header first, nothing after the end, every checksum. A
session whose recorder died is no fault: it is said, and what is there is
checked. Events that the recorder could not store, and those that a failing disk may
not have kept, are said as well.

mcprec store repair saves what a damaged store still holds.`,
		Example:           "  mcprec store verify\n  mcprec store verify SESSION",
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			defer process.LimitMemory()()
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
				return exit.ErrVerdict
			}
			return nil
		},
	}
	h.addFlags(cmd)
	return cmd
}

// unclosed says why a log has no end, and what follows.
const unclosed = "the recording stops here, because its recorder died or it was cut: it may lack its last frames"

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
	fmt.Fprintf(v.cmd.OutOrStdout(), "fault: %s\n", terminal.Plain(text))
}

// store checks the store's structures and all of its sessions.
func (v *verification) store(home home) (err error) {
	db, err := session.OpenAsIs(v.cmd.Context(), home.Home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db) // without tidying: verify changes nothing
	ctx := v.cmd.Context()
	if err := db.Verify(ctx, v.fault); err != nil {
		return err
	}
	for s, err := range db.Sessions(ctx, store.Query{}) {
		if err != nil {
			v.fault(err)
			continue
		}
		v.log("session "+string(s.ID), db.Read(ctx, s.ID, 1, store.ReadOptions{}), s.State)
	}
	return nil
}

// log checks one session's events.
func (v *verification) log(name string, events iter.Seq2[store.Event, error], state store.State) {
	v.sessions++
	var check store.Validator
	d := v.masker
	for e, err := range events {
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
				phrase.Plural(info.Frames, "frame"), phrase.Plural(info.Bytes, "byte"), terminal.Plain(d.Text(info.Reason)))
		case store.Note:
			if info, err := store.DecodePayload[store.NoteInfo](e); err == nil && info.Doubtful > 0 {
				fmt.Fprintf(v.cmd.OutOrStdout(), "%s: event %d: %s\n", name, e.Seq, terminal.Plain(d.Text(info.Text)))
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
		Use:   "repair [--dry-run]",
		Short: "Save what a damaged store still holds, and say what is lost",
		Long: `repair looks at every database and every spool of the store. In the place of a
damaged database it puts a new one with every event whose checksum holds; where
events are missing it puts lost events. To a session whose spool is damaged it
adds the events behind the damage. The damaged files are kept beside, with
.damaged at the end of their names, and hold what was recorded until you remove
them: rm does not look into them. A pipe, a folder or a symbolic
link where a file should be is renamed, with .aside at the end. Sessions that were removed stay so. Recorders
may go on meanwhile. mcprec export --salvage ID takes out one session and changes
nothing.`,
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
	defer process.LimitMemory()()
	db, err := session.OpenAsIs(cmd.Context(), home.Home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	repairer, err := db.Repairer()
	if err != nil {
		return exit.Usagef("store repair: %w", err)
	}
	damaged := uint64(0)
	lost := false
	err = repairer.Repair(cmd.Context(), dry, func(repaired store.Repaired) {
		damaged++
		lost = lost || repaired.Lost()
		sayRepaired(cmd, repaired)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", phrase.Plural(damaged, "damaged file"))
	if lost {
		return exit.ErrVerdict
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
		say("  how many sessions it held can be told no more")
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
		Use:   "compact",
		Short: "Give the space of removed sessions back to the disk",
		Long: `compact writes each database of the store that has free space anew, without it, and
checks every event on the way. The new file takes the old one's place at once, when it
is whole and on the disk: who interrupts compact, or loses power, has the old one.
What was removed is then in none of the store's files. A damaged database stays as it
is; see mcprec store repair.

Recorders and readers go on meanwhile; commands that remove or import sessions wait. There
must be room for the largest database once more.`,
		Example:           "  mcprec store compact",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runCompact(cmd, h) },
	}
	h.addFlags(cmd)
	return cmd
}

func runCompact(cmd *cobra.Command, home home) (err error) {
	defer process.LimitMemory()()
	db, err := openStore(cmd, home.unmasked())
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	compactor, err := db.Compactor()
	if err != nil {
		return exit.Usagef("store compact: %w", err)
	}
	var before, after int64
	err = compactor.Compact(cmd.Context(), 0, func(c store.Compacted) {
		before, after = before+c.Before, after+c.After
		if c.After < c.Before {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, now %s\n", c.Path, terminal.Size(c.Before), terminal.Size(c.After))
		}
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s given back; the databases take %s\n", terminal.Size(before-after), terminal.Size(after))
	return err
}

func newDoctor() *cobra.Command {
	var h home
	var monitor []string
	var format, role string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with where the store is, and what to change",
		Long: `doctor looks at where the store is, not at the sessions in it (mcprec store verify does).
It says what it found, why it matters, and what to change.

  an error     events are lost, or will be; or something that mcprec needs does not work
  a warning    it works, and will not when something else fails; or others can see it
  a note       good to know

Of a nats:// store it asks each server: the version, JetStream, TLS, how far away it is and by how
much the clocks differ; of the streams how many replicas they have and whether these follow, how
full they are, and every setting by which events are lost; of the credentials what they may do.
With --role it says only what a recorder, a reader or a keeper lacks. Nothing changes: what is
tried is refused by the server for another reason. How soon the servers write to the disk an
ordinary account may not ask; --monitor names the monitoring addresses of servers (http_port),
which say it.

Of an s3:// store it tries to list, put, get and delete, with an object that it removes again, and
whether a second put over it is refused. Of a folder it looks at rights, the file system, the room
on the disk, and whether locks work. What waits on this machine for shared stores it says, too.

--format json prints one object: store; cluster, bucket or folder with the facts; outboxes;
findings, each with severity, rule, found, why and change.`,
		Example: `  mcprec store doctor
  mcprec store doctor --store 'nats://n1,n2,n3/MCPREC?creds=team.creds' --monitor http://n1:8222
  mcprec store doctor --store 's3://recordings/mcp?endpoint=https://minio.example' --format json`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd, h, monitor, role, format)
		},
	}
	h.addFlags(cmd)
	cmd.Flags().StringArrayVar(&monitor, "monitor", nil, "the monitoring `URL` of a NATS server, as http://host:8222; may be repeated")
	addChoice(cmd, &role, "role", "what the credentials are for: any, recorder, reader or keeper", "any", "recorder", "reader", "keeper")
	addChoice(cmd, &format, "format", "text or json", "text", "json")
	return cmd
}

func runDoctor(cmd *cobra.Command, home home, monitor []string, role, format string) error {
	found, err := sharing.Diagnose(cmd.Context(), home.Home, monitor, role)
	if err != nil {
		return err
	}
	return printReport(cmd, format, single(found.Passed(), found, found.Text))
}

func newMake() *cobra.Command {
	var h home
	var maxBytes *int64
	cmd := &cobra.Command{
		Use:   "make",
		Short: "Make the streams of a shared store",
		Long: `make makes the two streams of a nats:// store, unless they exist. A recorder whose
credentials allow it does the same, without a bound; readers never do, so that a mistyped name is an
error. How many servers keep a copy the address says (?replicas=1); without that three do, or one
where there are no three.`,
		Example: `  mcprec store make --store nats://127.0.0.1/MCPREC
  mcprec store make --store 'nats://n1,n2,n3/MCPREC?creds=keeper.creds' --max-bytes 110GB`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bound := int64(0)
			if maxBytes != nil {
				bound = *maxBytes
			}
			place, err := session.MakeStreams(cmd.Context(), h.Home, bound)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is ready\n", terminal.Plain(place))
			}
			return err
		},
	}
	h.addFlags(cmd)
	addParsed(cmd, &maxBytes, "max-bytes", "the `SIZE` of events that each server keeps at most, as 110GB: what comes then waits\non the recorders' machines; the default is no bound", parseSize)
	return cmd
}

func newFlush() *cobra.Command {
	var h home
	var o sharing.FlushOptions
	cmd := &cobra.Command{
		Use:   "flush",
		Short: "Send what recorders that ended have left for a shared store",
		Long: `flush sends to a nats:// store what waits for it on this machine: the sessions of
recorders that died, or that ended while the store could not be reached. Without --store, and where
MCPREC_HOME names no shared store, it does so for each store that this machine has recorded for.
Sessions that are being recorded send themselves. A recorder does the same beside its session; so
flush is for a machine on which nothing is recorded any more, and for a timer.

  sent    the store has acknowledged all of it. It stays here for five minutes, in case the
          servers lose it in a power cut
  held    it was sent before, and stays for the rest of these minutes
  freed   the store still shows it, and it is gone from here
  waits   it could not be sent, or not all of it
  kept    it cannot be sent: the line says why. mcprec show --store DIR reads it here, where
          DIR is the folder below outbox in the state folder

--wait goes on until everything is freed or kept: before a machine is switched off. flush exits with
1 if something waits or is kept, and with 3 if the store cannot be reached.

--format json prints an object a line: store, id, fate, sent (events), bytes, left_ns, error.`,
		Example: `  mcprec store flush
  mcprec store flush --wait --store 'nats://n1,n2,n3/MCPREC?creds=team.creds'`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runFlush(cmd, h, o) },
	}
	h.addFlags(cmd)
	cmd.Flags().BoolVar(&o.Wait, "wait", false, "go on until nothing is held back")
	cmd.Flags().StringVar(&o.KeyFile, "mask-key-file", "", "mask with the key in `FILE`; the default is the one that was recorded with")
	addChoice(cmd, &o.Format, "format", "text or json", "text", "json")
	return cmd
}

func runFlush(cmd *cobra.Command, home home, options sharing.FlushOptions) error {
	if cmd.Flags().Changed("store") {
		isShared, err := home.IsShared()
		if err == nil && !isShared {
			err = exit.Usagef("store flush: %s is a folder: nothing waits for it; want nats://HOST/STREAM", home.Place)
		}
		if err != nil {
			return err
		}
	}
	left, err := sharing.Flush(cmd.Context(), home.Home, cmd.Flags().Changed("store"), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err == nil && left {
		return exit.ErrVerdict
	}
	return err
}

func newArchive() *cobra.Command {
	var h home
	var o sharing.ArchiveOptions
	older := ""
	cmd := &cobra.Command{
		Use:   "archive --to s3://BUCKET[/PREFIX]",
		Short: "Copy sessions that have ended into a bucket",
		Long: `archive copies sessions of the store that have come to their end into a bucket of S3 or
of a server that speaks as it does, an object each, with a small summary beside it. What is there
stays as it is: archive may be interrupted and repeated, and several machines may archive into one
bucket. Each copy is read again to its end; only then, with --delete, the session goes from the
store. Sessions that are kept (mcprec store keep) are copied and stay. Those whose recorder died
are left: their ends may still come.

The bucket is a store that every command reads: mcprec list --store s3://BUCKET/PREFIX. The address
takes ?endpoint=URL and ?region=R; credentials are those of the environment (AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY), of ~/.aws or of the machine's role. How long sessions stay there is for the
bucket's lifecycle rules to say.

Secrets are masked in the copies, for good, unless --secrets is given: mcprec help masking.

It exits with 3 if a session could not be copied, or not be read again; the others are.

--format json prints an object a line: id, start, label, bytes, copied, deleted, error.`,
		Example: `  mcprec store archive --to s3://recordings/mcp --older-than 1d --dry-run
  mcprec store archive --to 's3://recordings/mcp?endpoint=https://minio.example' --older-than 1d --delete`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runArchive(cmd, h, o, older) },
	}
	h.addMaskFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.To.Place, "to", "", "the bucket, as s3://BUCKET/PREFIX?endpoint=`URL`")
	f.StringVar(&older, "older-than", "", "only sessions that ended longer than `DURATION` ago, as 12h, 7d or 2w")
	f.BoolVar(&o.Rules.Delete, "delete", false, "delete from the store what is whole in the bucket")
	f.BoolVar(&o.Rules.DryRun, "dry-run", false, "only list what would be copied and deleted")
	addChoice(cmd, &o.Format, "format", "text or json", "text", "json")
	return cmd
}

func runArchive(cmd *cobra.Command, home home, options sharing.ArchiveOptions, older string) (err error) {
	if options.To.Place == "" {
		return exit.Usagef("store archive: where to? Use --to s3://BUCKET/PREFIX")
	}
	options.Rules.Before = time.Now()
	if older != "" {
		age, err := session.ParseAge(older)
		if err != nil {
			return exit.Usagef("--older-than %v", err)
		}
		options.Rules.Before = options.Rules.Before.Add(-age)
	}
	db, err := openStore(cmd, home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	failed, err := sharing.Archive(cmd.Context(), db, options, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err == nil && failed > 0 {
		return &exit.Status{Code: exit.Data}
	}
	return err
}
