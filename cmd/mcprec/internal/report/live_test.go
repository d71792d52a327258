package report

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// deafEnv makes the test binary a server that never reads its input.
const deafEnv = "MCPREC_REPORT_DEAF"

func TestMain(m *testing.M) {
	if os.Getenv(deafEnv) == "" {
		os.Exit(m.Run())
	}
	in, out, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	_, _ = in.Read(make([]byte, 1))
	_ = out.Close()
}

// TestNeeds: of a server that sleeps it is said what can wake it.
func TestNeeds(t *testing.T) {
	if procfs.Supported() != nil {
		t.Skip("this system does not show what threads wait for")
	}
	deaf := exec.Command(os.Args[0])
	deaf.Env = append(os.Environ(), deafEnv+"=1")
	for _, test := range []struct {
		server *exec.Cmd
		asleep bool
		said   string
	}{
		{exec.Command("cat"), true, `^Its only thread sleeps, and only a message to it can wake it\.$`},
		{exec.Command("sleep", "36000"), false, `^Its only thread sleeps; its next timer is in (10h|9h59m)`},
		{deaf, true, `^All its \d+ threads sleep, and nothing can wake it: not even a message to it, because it does not read\.$`},
	} {
		t.Run(test.server.String(), func(t *testing.T) {
			in, err := test.server.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := test.server.StdoutPipe(); err != nil {
				t.Fatal(err)
			}
			if err := test.server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = test.server.Process.Kill(); _ = in.Close(); _ = test.server.Wait() }()
			want := regexp.MustCompile(test.said)
			id := procfs.Identify(test.server.Process.Pid)
			for { // until it stands there
				isAsleep, said := needs(procfs.Of(id))
				if isAsleep == test.asleep && want.MatchString(said) {
					return
				}
				select {
				case <-t.Context().Done():
					t.Fatalf("%t, %q", isAsleep, said)
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
}
