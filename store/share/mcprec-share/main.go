// Mcprec-share shares the sessions of many machines: push ships those of a folder to a stream in NATS JetStream,
// pull brings sessions of the stream into a folder, make makes the stream, and status says what is where.
//
// main.go has the commands and what they share, push.go and pull.go one command each, and mask.go how events are
// masked on their way.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store/share/push"
	"github.com/mcprec/mcprec/store/share/stream"
	"github.com/mcprec/mcprec/transport/phrase"
)

// The exit statuses beside 0.
const (
	exitLeft   = 1 // something waits, or cannot be shipped or brought
	exitUsage  = 2
	exitFailed = 3
)

// statusError is an error with an exit status.
type statusError struct {
	status int
	cause  error // nil: it was said
}

func (e *statusError) Error() string { return fmt.Sprint(e.cause) }

func (e *statusError) Unwrap() error { return e.cause }

func usagef(format string, args ...any) error {
	return &statusError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program
	root := newRoot()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	status := exitFailed
	said := (*statusError)(nil)
	if errors.As(err, &said) {
		status = said.status
	}
	if said == nil || said.cause != nil {
		fmt.Fprintf(os.Stderr, "mcprec-share: %s\n", plain(err.Error()))
	}
	os.Exit(status)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcprec-share COMMAND",
		Short: "Share recorded sessions through a stream in NATS JetStream",
		Long: `mcprec-share ships recorded sessions to a stream that a team shares, and brings sessions of the
stream into a folder, where every command of mcprec works on them.

URL is nats://HOST[:PORT][,HOST…][/STREAM], tls://… for TLS, or $MCPREC_SHARE; the stream is MCPREC
unless it is named. Behind it may stand

  ?creds=FILE      a file of NATS credentials
  ?account=NAME    the account that these must be of
  ?ca=FILE         the certificates of the authority that signed the servers'
  ?inbox=PREFIX    where answers come, for users who may hear only that
  ?replicas=N      with make: on how many servers each stream is kept

It exits with 1 if something is left, 2 for a wrong argument, and 3 if the servers cannot be reached
or a folder cannot be used.`,
		Example: `  mcprec-share make nats://n1,n2,n3/MCPREC --max-age 30d
  mcprec-share push nats://n1,n2,n3/MCPREC
  mcprec-share pull nats://n1,n2,n3/MCPREC --into team --live`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	root.AddCommand(newPush(), newPull(), newMake(), newStatus())
	return root
}

// openIn is how long opening the streams may take. Servers that do not answer take five seconds of it; the rest
// is for the election of a leader, which takes four to nine.
const openIn = 15 * time.Second

// target reads the URL of a command.
func target(args []string) (stream.Options, error) {
	text := os.Getenv("MCPREC_SHARE")
	if len(args) > 0 {
		text = args[0]
	}
	if text == "" {
		return stream.Options{}, usagef("where? Give nats://HOST/STREAM, or set MCPREC_SHARE")
	}
	options, err := stream.ParseURL(text)
	if err != nil {
		place, _, _ := strings.Cut(text[strings.LastIndexByte(text, '@')+1:], "?")
		return options, usagef("%s: %w", place, err)
	}
	options.Name = "mcprec-share"
	return options, nil
}

func open(ctx context.Context, options stream.Options) (*stream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, openIn)
	defer cancel()
	return stream.Open(ctx, options)
}

// oneURL accepts a URL or nothing.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one URL; %q is more", cmd.Name(), args[1])
	}
	return nil
}

// saying returns a function that prints a line on standard error.
func saying(cmd *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec-share: %s\n", plain(fmt.Sprintf(format, args...)))
	}
}

// plain returns a text without control characters, on one line: labels and errors may hold what others have
// written.
func plain(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, text)
}

func newMake() *cobra.Command {
	var bytes, age string
	cmd := &cobra.Command{
		Use:   "make [URL]",
		Short: "Make the streams, unless they exist",
		Long: `make makes the two streams of a team. How many servers keep a copy the URL says (?replicas=1);
without that three do, or one where there are no three. Nothing is deleted by itself unless
--max-age says so. A full stream refuses what comes; that waits in the folders of the machines.`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := target(args)
			if err != nil {
				return err
			}
			options.Make = true
			if options.MaxBytes, err = parseSize(bytes); err != nil {
				return usagef("--max-bytes %w", err)
			}
			if options.MaxAge, err = parseAge(age); err != nil {
				return usagef("--max-age %w", err)
			}
			s, err := open(cmd.Context(), options)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is ready\n", s.Place())
			return s.Close()
		},
	}
	cmd.Flags().StringVar(&bytes, "max-bytes", "", "the `SIZE` of events that each server keeps at most, as 110GB; the default is no bound")
	cmd.Flags().StringVar(&age, "max-age", "", "how long the stream keeps an event: a `DURATION` such as 30d; the default is for ever")
	return cmd
}

// parseSize reads a size such as 500MB or 2GiB; "" is 0.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return phrase.ParseSize(text)
}

// parseAge reads a duration, also in days and weeks: 36h, 7d, 2w; "" is 0.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	days := map[byte]float64{'d': 1, 'w': 7}[text[len(text)-1]]
	if days > 0 {
		number, err := strconv.ParseFloat(text[:len(text)-1], 64)
		if err == nil && number >= 0 {
			return time.Duration(number * days * 24 * float64(time.Hour)), nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, fmt.Errorf("%q: want a duration such as 12h, 7d or 2w", text)
	}
	return age, nil
}

func newStatus() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "status [URL]",
		Short: "Say what is shipped of this machine, and what the stream has",
		Long: `status says how far the sessions of this machine's store are in the stream, and which sessions
are live there, by machine. It exits with 1 if something waits or cannot be shipped.

  live     it is being recorded; a push that runs ships it
  waiting  it is not shipped, or not all of it
  held     the stream has acknowledged all of it, and is to be asked once more
  done     the stream had it still after that
  refused  it is not shipped: the line says why`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error { return runStatus(cmd, args, folder) },
	}
	addStoreFlag(cmd, &folder)
	return cmd
}

func runStatus(cmd *cobra.Command, args []string, folder string) error {
	options, err := target(args)
	if err != nil {
		return err
	}
	db, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer db.Close()
	out := cmd.OutOrStdout()
	list, err := push.Look(cmd.Context(), db, options.FolderName())
	if err != nil {
		return err
	}
	left := false
	count := map[string]int{}
	for _, x := range list {
		count[x.State]++
		switch x.State {
		case "waiting", "refused":
			left = true
			fmt.Fprintf(out, "%s  %-7s  %d of %d events are shipped", x.Session.ID, x.State, min(x.Shipped, x.Session.Head.Seq), x.Session.Head.Seq)
			if x.Why != "" {
				fmt.Fprintf(out, "; %s", plain(x.Why))
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintf(out, "here     %s: %d live, %d waiting, %d held, %d done, %d refused\n", db.Info().Location,
		count["live"], count["waiting"], count["held"], count["done"], count["refused"])
	s, err := open(cmd.Context(), options)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := printStream(cmd, s); err != nil {
		return err
	}
	if left {
		return &statusError{status: exitLeft}
	}
	return nil
}

// size returns a number of bytes for people.
func size(bytes uint64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if float64(bytes) >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/unit.size, unit.name)
		}
	}
	return phrase.Plural(bytes, "byte")
}

// printStream prints what the stream holds, and which sessions are live in it.
func printStream(cmd *cobra.Command, s *stream.Stream) error {
	out := cmd.OutOrStdout()
	limits, err := s.Limits(cmd.Context())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "stream   %s: %s, %s", s.Place(), phrase.Plural(limits.Sessions, "session"), size(limits.Bytes))
	if limits.MaxBytes > 0 {
		fmt.Fprintf(out, " of %s", size(uint64(limits.MaxBytes)))
	}
	if limits.MaxAge > 0 {
		fmt.Fprintf(out, ", kept for %v", limits.MaxAge)
	}
	fmt.Fprintf(out, ", %s\n", phrase.Plural(limits.Replicas, "replica"))
	for _, name := range limits.Followers {
		fmt.Fprintf(out, "replica  %s is behind, or does not answer\n", plain(name))
	}
	for e, err := range s.Entries(cmd.Context(), false) {
		if err != nil {
			return err
		}
		if !e.IsLive() {
			continue
		}
		state := "live"
		if e.Stuck > 0 {
			state = fmt.Sprintf("live, stuck %v", e.Stuck.Round(time.Second))
		}
		fmt.Fprintf(out, "%s  %s  on %s: %s\n", e.ID(), state, plain(e.Machine), plain(labels(e.Header)))
	}
	return nil
}
