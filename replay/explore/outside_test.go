package explore

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Outside of a test the same bubbles run: nothing is printed, and a hang is
// proved there, too.
func TestJudgeInPlainProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte(plainProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", main).CombinedOutput()
	if err != nil || string(out) != "hang answer lost mcprec1.0-0.delivery.a.default\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

const plainProgram = `package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

func main() {
	r, err := explore.Judge(explore.Plan{Setup: func(r *explore.Run) {
		r.Go(func(ctx context.Context) { _, _ = r.Server().Read(ctx) })
		r.Op("call", func(ctx context.Context) error {
			_ = r.Client().Write(ctx, transport.Frame{Bytes: []byte("{\"id\":1,\"method\":\"ping\"}")})
			_, err := r.Client().Read(ctx)
			return err
		})
	}})
	if err != nil {
		panic(err)
	}
	flag.VisitAll(func(f *flag.Flag) { fmt.Println("flag", f.Name) })
	fmt.Println(r.Verdict, r.Category, r.Token)
}
`

func TestJudgeErrors(t *testing.T) {
	for _, p := range []Plan{{}, {Setup: func(*Run) {}, Token: "x"}} {
		if _, err := Judge(p); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}
