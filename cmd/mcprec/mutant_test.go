//go:build night

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/storetest"
)

// TestMutants builds each mutant and runs its tests, which must fail.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		path := filepath.Join(root, m.file)
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mutated := filepath.Join(t.TempDir(), "mutated.go")
		overlay := filepath.Join(t.TempDir(), "overlay.json")
		text, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
		broken := strings.Replace(string(source), m.was, m.is, 1)
		if os.WriteFile(mutated, []byte(broken), 0o600) != nil || os.WriteFile(overlay, text, 0o600) != nil {
			t.Fatal("write the mutant")
		}
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "120s", "-overlay", overlay, "-run", "^("+m.run+")$", "./"+m.pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "MCPREC_NIGHT="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: ") && !strings.Contains(string(out), "panic: ") {
			t.Errorf("%s: not found by %s: %v\n%s", m.name, m.run, err, out)
			continue
		}
		storetest.Tell(t, "broken build: "+m.name, 1, "found by "+strings.ReplaceAll(m.run, "|", ", "))
	}
}
