package releases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// goModules is what the go command knows: a proxy, or what GOPROXY names.
type goModules struct{}

// updatable lets the go command write go.mod, whatever else the user's own GOFLAGS say.
func updatable() []string {
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod"), "GOWORK=off"}
}

// Releases implements [Registry].
func (goModules) Releases(ctx context.Context, r Range) ([]string, error) {
	folder, err := os.MkdirTemp("", "mcprec-go") // outside of any module
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out, err := run(ctx, folder, updatable(), "go", "list", "-m", "-versions", "-json", r.Name+"@latest")
	if err != nil {
		return nil, err
	}
	var module struct{ Versions []string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, fmt.Errorf("go list -m -versions %s: %w", r.Name, err)
	}
	return r.of(module.Versions)
}

// Date implements [Registry].
func (goModules) Date(ctx context.Context, name, version string) string {
	out, err := run(ctx, os.TempDir(), updatable(), "go", "list", "-m", "-json", name+"@"+version)
	var module struct{ Time string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		return ""
	}
	return module.Time[:min(len(module.Time), len("2026-01-02"))]
}

// IsProject implements [Registry].
func (goModules) IsProject(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// Install implements [Registry]. Without a project it installs the programs at the root of the module.
func (g goModules) Install(ctx context.Context, folder, name, version string) error {
	if !g.IsProject(folder) {
		_, err := run(ctx, folder, append([]string{"GOBIN=" + folder}, updatable()...), "go", "install", name+"@"+version)
		return err
	}
	if _, err := run(ctx, folder, updatable(), "go", "mod", "edit", "-dropreplace="+name); err != nil {
		return err
	}
	// ./... is for what the release needs, and those before it did not: go build does not add that to go.mod and go.sum.
	if _, err := run(ctx, folder, updatable(), "go", "get", name+"@"+version, "./..."); err != nil {
		return err
	}
	out, err := run(ctx, folder, updatable(), "go", "list", "-m", "-f", "{{.Version}}", name)
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(out)); got != version {
		return errors.New("another module of the project needs " + name + " " + got)
	}
	return nil
}
