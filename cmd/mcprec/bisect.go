package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/releases"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/transport/phrase"
)

type bisectOptions struct {
	exploreOptions
	wanted string
	build  string
}

func newBisect() *cobra.Command {
	var o bisectOptions
	cmd := &cobra.Command{
		Use:   "bisect [flags] --release RANGE TOKEN [SESSION] -- COMMAND [ARG]...",
		Short: "Find the release of a package that brought a finding, or mended it",
		Example: `  mcprec bisect x1.cancel5 --release npm:@modelcontextprotocol/sdk@1.0.0.. \
      reports.jsonl -- node server.mjs
  mcprec bisect x1.join5-6 --release npm:NAME@0.19.0..0.29.0 --as-server \
      acp.jsonl -- node client.mjs %SERVER
  mcprec bisect x1.cancel5 --release go:MODULE@v1.0.0.. \
      --build 'go build -o server .' reports.jsonl -- ./server`,
		Args: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			switch {
			case len(own) < 1 || len(own) > 2 || len(command) == 0:
				return cli.Usagef("bisect: want a token of explore, a session, and a command behind --: mcprec bisect TOKEN --release npm:NAME@A..B SESSION -- COMMAND [ARG]...")
			case o.wanted == "":
				return cli.Usagef("bisect: want --release npm:NAME@A..B or go:MODULE@A..B, the releases to try")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			o.token = own[0]
			return runBisect(cmd, o, firstOf(own[1:]), command)
		},
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	o.process.addPeerFlags(cmd)
	f := cmd.Flags()
	o.chosen = func(flags ...string) bool {
		return slices.ContainsFunc(flags, func(name string) bool { return f.Lookup(name) != nil && f.Changed(name) })
	}
	f.StringVar(&o.wanted, "release", "", "the releases to try: npm:NAME@A..B or go:MODULE@A..B, as a `RANGE`")
	f.StringVar(&o.build, "build", "", "run this shell `LINE` where a release is installed")
	addFormat(cmd, &o.format, "text", "json")
	return cmd
}

// bisection is one run of bisect.
type bisection struct {
	bisectOptions
	search   processSearch
	within   releases.Range
	registry releases.Registry
	project  string // is copied; "": none
	folder   string // has a folder for each release
	command  []string
	stop     context.Context
	versions []string
	tried    func(triedRelease)
	found    bisectReport
}

func runBisect(cmd *cobra.Command, o bisectOptions, arg string, command []string) (err error) {
	if !external.IsToken(o.token) {
		return cli.Usagef("%s is no token of a process: mcprec explore SESSION -- COMMAND prints those, such as x1.cancel5", phrase.ShellWord(o.token))
	}
	b := bisection{bisectOptions: o, command: command}
	b.process.jobs, b.schedules = 1, 1
	if b.within, err = releases.ParseRange(o.wanted); err != nil {
		return cli.Usagef("--release %v", err)
	}
	b.registry = releases.Of(b.within)
	if b.search, err = b.openProcess(cmd, arg, command); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if b.registry.IsProject(here) {
		b.project = here
	}
	var cancel context.CancelFunc
	b.stop, cancel = context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	screen, err := screenOf(cmd)
	if err != nil {
		return err
	}
	line := output.NewProgress(cmd.ErrOrStderr())
	b.tried = func(t triedRelease) {
		if o.format != output.JSON {
			line.Beside(func() {
				screen.PaintVerdict(t.line())
				_ = screen.Flush() // the report tells
			})
		}
	}
	doing := "bisect: asks for the releases"
	end := line.During(func() string { return doing })
	err = b.run(func(text string) { line.Beside(func() { doing = "bisect: " + text }) })
	end()
	if sig := wanted(); sig != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: interrupted before there was a result")
		return &cli.Status{Code: cli.ExitFine, Signal: sig}
	}
	if err != nil {
		return b.search.recorded.Masker.Fault(err)
	}
	b.found.show = func(version string) string { return b.again(cmd, arg, version) }
	b.found.conclude()
	return printVerdict(cmd, o.format, b.found, b.found.Passed)
}

// run tries releases.
func (b *bisection) run(doing func(string)) (err error) {
	if b.versions, err = b.registry.Releases(b.stop, b.within); err != nil {
		return err
	}
	if len(b.versions) == 0 {
		return cli.Usagef("--release %s: there is no release in it", b.within)
	}
	if b.folder, err = os.MkdirTemp("", "mcprec-bisect-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	b.found = bisectReport{Token: b.token, Package: b.within.Kind + ":" + b.within.Name, Releases: len(b.versions), Tried: []triedRelease{}, Changes: []releaseChange{}}
	changes, err := releases.Search(len(b.versions), func(i int) (releases.Outcome, error) {
		doing(fmt.Sprintf("%s, one of %s", b.versions[i], phrase.Plural(len(b.versions), "release")))
		t, err := b.try(b.versions[i])
		if err == nil {
			b.found.Tried = append(b.found.Tried, t)
			b.tried(t)
		}
		return t.outcome, err
	})
	for _, c := range changes {
		before, after := b.found.of(b.versions[c.Before]), b.found.of(b.versions[c.After])
		b.found.Changes = append(b.found.Changes, releaseChange{Before: before, After: after, Between: b.versions[c.Before+1 : c.After]})
	}
	return err
}

// try installs a release, and plays the token to it.
func (b *bisection) try(version string) (t triedRelease, err error) {
	t = triedRelease{Version: version, Date: b.registry.Date(b.stop, b.within.Name, version)}
	folder := filepath.Join(b.folder, version)
	if err = os.MkdirAll(folder, 0o700); err == nil && b.project != "" {
		err = releases.Copy(b.project, folder)
	}
	if err != nil {
		return t, err
	}
	if err := b.registry.Install(b.stop, folder, b.within.Name, version); err != nil {
		t.unclear("it was not installed: " + err.Error())
	} else if b.build != "" {
		build := exec.CommandContext(b.stop, "sh", "-c", b.build)
		build.Dir, build.Env = folder, append(os.Environ(), "PWD="+folder)
		if said, err := build.CombinedOutput(); err != nil {
			t.unclear(fmt.Sprintf("--build fails: %v: %s", err, phrase.Clip(strings.TrimSpace(string(said)), 300)))
		}
	}
	if b.stop.Err() != nil {
		return t, b.stop.Err()
	}
	if t.Outcome == "" {
		err = b.play(&t, folder)
	}
	return t, errors.Join(err, os.RemoveAll(folder))
}

// play plays the token as often as a finding needs.
func (b *bisection) play(t *triedRelease, folder string) error {
	const plays = 3
	for range plays {
		found, err := b.search.explore(folder, external.Options{Schedules: 1, Token: b.token, SameOutput: b.process.sameOutput, NoLines: len(b.versions) > 1, Stop: b.stop.Done()})
		if b.stop.Err() != nil {
			return b.stop.Err()
		}
		isOfDefault := func(f external.Finding) bool { return f.Token == "x1.default" }
		switch {
		case err != nil:
			t.unclear(err.Error())
		case len(found.Failed) > 0:
			t.unclear("it answers every request of the recorded client with an error: " + found.Failed[0])
		case len(found.Findings) > 0 && b.token != "x1.default" && !slices.ContainsFunc(found.Findings, func(f external.Finding) bool { return !isOfDefault(f) }):
			t.unclear("the token does not fit: in the default order already, " + headOf(found.Findings[0]))
		case len(found.Findings) > 0:
			i := slices.IndexFunc(found.Findings, func(f external.Finding) bool { return !isOfDefault(f) })
			f := found.Findings[max(i, 0)]
			f.Detail = b.search.recorded.Masker.Text(f.Detail)
			t.outcome, t.Outcome, t.Says = releases.Bad, "bad", headOf(f)
			t.finding = f.Text()
		case len(found.NotHeld)+len(found.Unconfirmed) > 0:
			t.unclear("seen, and not each time: " + strings.Join(slices.Concat(found.NotHeld, found.Unconfirmed), "; "))
		case found.Unjudged > 0:
			t.unclear("the token does not fit: it asks for what the recording does not have")
		default:
			t.outcome, t.Outcome, t.Says = releases.Good, "good", fmt.Sprintf("%d plays show nothing", plays)
			continue
		}
		return nil
	}
	return nil
}

// headOf returns the first line of a finding.
func headOf(f external.Finding) string {
	line, _, _ := strings.Cut(f.Text(), "\n")
	return phrase.Clip(line, 200)
}

// triedRelease is a release that was tried.
type triedRelease struct {
	Version string `json:"version"`
	Date    string `json:"date"`
	Outcome string `json:"outcome"` // bad, good or unclear
	Says    string `json:"says"`
	outcome releases.Outcome
	finding string
}

func (t *triedRelease) unclear(why string) {
	t.outcome, t.Outcome, t.Says = releases.Unclear, "unclear", phrase.Clip(why, 400)
}

func (t triedRelease) line() string {
	return fmt.Sprintf("  %-14s %-10s  %-7s  %s\n", t.Version, t.Date, t.Outcome, t.Says)
}

// releaseChange are two releases between which the outcome changes.
type releaseChange struct {
	Before  triedRelease `json:"before"`
	After   triedRelease `json:"after"`
	Between []string     `json:"unclear,omitempty"` // releases between them
}

// bisectReport is what bisect has found.
type bisectReport struct {
	Token    string          `json:"token"`
	Package  string          `json:"package"`
	Releases int             `json:"releases"`
	Tried    []triedRelease  `json:"tried"`
	Changes  []releaseChange `json:"changes"`
	Passed   bool            `json:"passed"` // a release was good, and none bad or unclear

	show func(version string) string // the command that shows a release
}

func (r *bisectReport) conclude() {
	isGood := func(t triedRelease) bool { return t.outcome == releases.Good }
	r.Passed = slices.ContainsFunc(r.Tried, isGood) && !slices.ContainsFunc(r.Tried, func(t triedRelease) bool { return !isGood(t) })
}

func (r bisectReport) of(version string) triedRelease {
	return r.Tried[slices.IndexFunc(r.Tried, func(t triedRelease) bool { return t.Version == version })]
}

// Text returns what the lines of the releases do not say.
func (r bisectReport) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %s of %s tried with %s\n", len(r.Tried), phrase.Plural(r.Releases, "release"), r.Package, r.Token)
	if r.Releases == 1 {
		text.WriteString(r.Tried[0].finding)
		return text.String()
	}
	for _, c := range r.Changes {
		for _, side := range []struct {
			place string
			t     triedRelease
		}{{"last", c.Before}, {"first", c.After}} {
			fmt.Fprintf(&text, "%-10s %-14s %s\n", side.place+" "+side.t.Outcome, side.t.Version, side.t.Date)
		}
		if len(c.Between) > 0 {
			fmt.Fprintf(&text, "  between them, unclear: %s\n", strings.Join(c.Between, ", "))
		}
		for _, t := range []triedRelease{c.Before, c.After} {
			fmt.Fprintf(&text, "Show the %s one: %s\n", t.Outcome, r.show(t.Version))
		}
	}
	if len(r.Changes) == 0 {
		counts := map[string]int{}
		for _, t := range r.Tried {
			counts[t.Outcome]++
		}
		fmt.Fprintf(&text, "no change was found: %d bad, %d good, %d unclear\n", counts["bad"], counts["good"], counts["unclear"])
	}
	return text.String()
}

// again returns the command that shows one release.
func (b *bisection) again(cmd *cobra.Command, arg, version string) string {
	one := b.within
	one.First, one.Last = version, version
	words := []string{"mcprec", "bisect", b.token}
	if arg = cmp.Or(arg, b.search.recorded.Argument); arg != "" {
		words = append(words, arg)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case f.Name == "release" || f.Name == "format" || f.Name == "json":
		case isList:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name, value)
			}
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	words = append(words, "--release", one.String(), "--")
	return phrase.ShellLine(b.search.recorded.Masker.Texts(append(words, b.command...))...)
}
