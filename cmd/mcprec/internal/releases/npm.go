package releases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// npm is the registry of npm, asked by npm.
type npm struct {
	dates map[string]string // of the package that was listed last, by version
}

// quiet are flags of npm that keep it from asking for what is not needed here.
var quiet = []string{"--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"}

// Releases implements [Registry].
func (n *npm) Releases(ctx context.Context, r Range) ([]string, error) {
	out, err := run(ctx, "", nil, "npm", "view", r.Name, "time", "--json", quiet[2], quiet[3])
	if err != nil {
		return nil, err
	}
	n.dates = map[string]string{}
	if err := json.Unmarshal(out, &n.dates); err != nil {
		return nil, fmt.Errorf("npm view %s time: %w", r.Name, err)
	}
	delete(n.dates, "created")
	delete(n.dates, "modified")
	var versions []string
	for version := range n.dates {
		versions = append(versions, version)
	}
	return r.of(versions)
}

// Date implements [Registry].
func (n *npm) Date(_ context.Context, _, version string) string {
	date := n.dates[version]
	return date[:min(len(date), len("2026-01-02"))]
}

// IsProject implements [Registry].
func (*npm) IsProject(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "package.json"))
	return err == nil
}

// Install implements [Registry]. The project's package.json asks for the release, also on behalf of other packages.
func (*npm) Install(ctx context.Context, folder, name, version string) error {
	file := filepath.Join(folder, "package.json")
	project := map[string]json.RawMessage{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &project)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for _, kind := range []string{"devDependencies", "optionalDependencies", "peerDependencies", "dependencies", "overrides"} {
		members := map[string]json.RawMessage{}
		if text := project[kind]; text != nil && json.Unmarshal(text, &members) != nil {
			return fmt.Errorf("read %s: %s is no object", file, kind)
		}
		delete(members, name)
		switch kind {
		case "dependencies":
			members[name], _ = json.Marshal(version) // a text
		case "overrides":
			members[name], _ = json.Marshal("$" + name)
		}
		if project[kind] != nil || len(members) > 0 {
			project[kind], _ = json.Marshal(members)
		}
	}
	if text, err = json.MarshalIndent(project, "", "  "); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return err
	}
	install := append([]string{"npm", "install"}, quiet...)
	if _, err = run(ctx, folder, nil, install...); err != nil && ctx.Err() == nil {
		// An old release and today's other packages may disagree about a third: that is no reason not to try.
		if _, again := run(ctx, folder, nil, append(install, "--legacy-peer-deps")...); again == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	var installed struct{ Version string }
	text, err = os.ReadFile(filepath.Join(folder, "node_modules", filepath.FromSlash(name), "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &installed)
	}
	switch {
	case err != nil:
		return fmt.Errorf("npm install has installed no %s: %w", name, err)
	case installed.Version != version:
		return fmt.Errorf("npm install has installed %s %s in place of %s", name, installed.Version, version)
	}
	return nil
}
