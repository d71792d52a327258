package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/examples/progress"
	"github.com/mcprec/mcprec/transport"
)

func newDemo() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Record a real session, replay it, and watch a published bug happen",
		Example: "  mcprec demo",
		Args:    atMost(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, dir) },
	}
	cmd.Flags().StringVar(&dir, "store", "", "keep the recording in the store `DIR`")
	cmd.AddCommand(
		&cobra.Command{Use: "server", Hidden: true, Short: "The demo's MCP server, on stdio", Args: atMost(0),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return progress.Serve(cmd.Context(), transport.NewStreamConn(os.Stdin, os.Stdout))
			}},
		&cobra.Command{Use: "client -- COMMAND [ARG]...", Hidden: true, Short: "The demo's MCP client", Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cli.Usagef("demo client: no command; use mcprec demo client -- COMMAND [ARG]...")
				}
				server, err := transport.Command{Args: args, Stderr: os.Stderr}.Start()
				if err != nil {
					return err
				}
				return errors.Join(progress.Call(cmd.Context(), cmd.OutOrStdout(), server), server.Close())
			}},
	)
	return cmd
}

func runDemo(cmd *cobra.Command, dir string) error {
	cli.KeepPipeErrors() // so that temporary files are removed however it ends
	tmp, err := os.MkdirTemp("", "mcprec-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	where := "in the store " + dir
	if dir == "" {
		dir = filepath.Join(tmp, "store")
		where = "in a store that goes when the demo ends; with --store DIR it stays, and «See it» below works"
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d := demo{cmd: cmd, self: self, bin: filepath.Join(tmp, "bin"), dir: dir, out: cmd.OutOrStdout()}
	if err := os.Mkdir(d.bin, 0o700); err != nil {
		return err
	}
	name := filepath.Join(d.bin, "mcprec") // this program's own file may have another name
	link := os.Symlink
	if runtime.GOOS == "windows" { // where symbolic links need a privilege
		name += ".exe"
		link = os.Link
	}
	if link(self, name) != nil {
		program, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(name, program, 0o700)
		}
		if err != nil {
			return err
		}
	}
	d.show(0, "A client starts its server; mcprec record stands in front of the server's command.",
		"demo client -- mcprec record --label demo -- mcprec demo server")
	d.show(0, "The session is recorded, every message byte for byte, "+where+".", "list")
	d.show(0, "", "show")
	d.show(0, "Replay it through a transport with a buffer of 0. A client whose reader never waits passes:",
		"replay --buffer 0 --client independent")
	d.show(cli.ExitVerdict, "The client of python-sdk 1.3.0 hands notifications to a queue of 0 that nobody reads from during a call. It hangs:",
		"replay --buffer 0 --client python-sdk@1.3")
	d.brief = true
	d.show(cli.ExitVerdict, "Issue 594 blames the transport's buffer. It is not that: no buffer of the transport hides the hang,",
		"replay --buffer 1000 --client python-sdk@1.3")
	d.brief = false
	d.show(0, fmt.Sprintf("but a notification queue of %d does, one place for each notification before the result:", progress.Steps),
		fmt.Sprintf("replay --buffer 0 --client notification-queue=%d", progress.Steps))
	if d.err == nil {
		fmt.Fprintln(d.out, "# Now yours: mcprec wrap records the servers of your MCP clients, mcprec record -- SERVER any other.")
	}
	return d.err
}

// demo runs mcprec commands as a user would, and prints them. It stops at the first that ends
// with another status than expected.
type demo struct {
	cmd   *cobra.Command
	self  string
	bin   string // a folder with this program under the name mcprec
	dir   string
	out   io.Writer
	brief bool // print only the first paragraph of the output
	err   error
}

// show prints a text and runs a mcprec command line, which must exit with the status.
func (d *demo) show(want int, text, line string) {
	if d.err != nil {
		return
	}
	if text != "" {
		fmt.Fprint(d.out, output.Fold("# "+text, output.NewScreen(d.out, "never").Width))
	}
	fmt.Fprintf(d.out, "$ mcprec %s\n", line)
	c := exec.CommandContext(d.cmd.Context(), d.self, strings.Fields(line)...)
	c.Env = append(os.Environ(), "MCPREC_HOME="+d.dir, "PATH="+d.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"NoDefaultCurrentDirectoryInExePath=1") // else Windows finds a mcprec.exe in this folder first, which os/exec refuses
	c.Stdout, c.Stderr = output.Underneath(d.out), output.Underneath(d.cmd.ErrOrStderr())
	var all bytes.Buffer
	if d.brief {
		c.Stdout = &all
	}
	err := c.Run()
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		d.err = err
		return
	}
	if got < 0 { // killed by SIGPIPE: our own reader has gone
		d.err = syscall.EPIPE
		return
	}
	if got != want {
		d.err = fmt.Errorf("demo: mcprec %s: exit status %d, want %d", line, got, want)
	}
	if first, rest, _ := strings.Cut(all.String(), "\n\n"); rest != "" {
		fmt.Fprintf(d.out, "%s\n  …\n", first)
	}
	fmt.Fprintln(d.out)
}
