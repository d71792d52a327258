package clientconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// severalServers is a document with servers s0, s1, …
func severalServers(count int) string {
	var entries []string
	for i := range count {
		entries = append(entries, fmt.Sprintf(`  "s%d": {"command": "npx", "args": ["%[1]d"], "env": {"TOKEN": "hunter2"}}`, i))
	}
	return "{\"mcpServers\": { // mine\n" + strings.Join(entries, ",\n") + "\n}}\n"
}

func testFrontOf(*Server) []string { return testFront }

// TestAtOnce: many mcprec that wrap servers of one file lose none, and none of the originals.
func TestAtOnce(t *testing.T) {
	const count = 12
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(severalServers(count)), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := Originals{t.TempDir()}
	at := Location{Client: "c", File: file, Keys: []string{"mcpServers"}}
	each := func(change func(s Server) error) {
		var running sync.WaitGroup
		for i := range count {
			running.Go(func() {
				if err := change(Server{Location: at, Name: fmt.Sprintf("s%d", i)}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
	each(func(s Server) error { return kept.Change(file, WrapAll([]Server{s}, testFrontOf)) })
	list, err := kept.List()
	if err != nil || len(list) != count {
		t.Errorf("%d originals, %v", len(list), err)
	}
	stored, err := os.ReadFile(kept.file())
	if err != nil || strings.Contains(string(stored), "hunter2") {
		t.Errorf("%v, the originals have the environment:\n%s", err, stored)
	}
	if info, err := os.Stat(kept.file()); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	found := Look([]Location{at})
	if len(found.Servers) != count || len(found.Faults) > 0 {
		t.Fatalf("%+v", found)
	}
	for _, s := range found.Servers {
		if s.State != Wrapped {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
	each(func(s Server) error {
		return kept.Change(file, UnwrapAll([]Server{s}, func(s *Server, _ Unwrapping) { t.Errorf("nothing kept of %s", s.Name) }))
	})
	if text, err := os.ReadFile(file); err != nil || string(text) != severalServers(count) {
		t.Errorf("%v\n%s", err, text)
	}
	if list, err := kept.List(); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestChangedMeanwhile: a file that its client writes between the reading and the writing is left
// alone, and what is kept of the entry then does no harm.
func TestChangedMeanwhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(severalServers(2))
	kept := Originals{t.TempDir()}
	at := Location{Client: "c", File: file, Keys: []string{"mcpServers"}}
	wrap := WrapAll([]Server{{Location: at, Name: "s1"}}, testFrontOf)
	err := kept.Change(file, func(doc []byte, originals []Original) ([]byte, []Original, error) {
		write(severalServers(3))
		return wrap(doc, originals)
	})
	if !errors.Is(err, cli.ErrFileChanged) {
		t.Errorf("it was written: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != severalServers(3) {
		t.Errorf("%v\n%s", err, text)
	}
	for _, edit := range []Edit{wrap, UnwrapAll([]Server{{Location: at, Name: "s1"}}, func(*Server, Unwrapping) {})} {
		if err := kept.Change(file, edit); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != severalServers(3) {
		t.Errorf("%v\n%s", err, text)
	}
	if list, err := kept.List(); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestChangeFails: each step of a change may fail, and then its error comes out and the file of the
// client stays as it was.
func TestChangeFails(t *testing.T) {
	doc := severalServers(1)
	for name, test := range map[string]struct {
		prepare func(folder, file string) error // before the change
		edit    func(file string) error         // beside the edit
		want    string
	}{
		"the lock":      {prepare: func(folder, _ string) error { return os.Remove(folder) }, want: "lock "},
		"the originals": {prepare: func(folder, _ string) error { return os.Mkdir(filepath.Join(folder, "wraps.jsonl"), 0o700) }, want: "is a directory"},
		"a line of them": {prepare: func(folder, _ string) error {
			return os.WriteFile(filepath.Join(folder, "wraps.jsonl"), []byte("{}\n{\n"), 0o600)
		}, want: "line 2"},
		"the file": {prepare: func(_, file string) error { return os.Remove(file) }, want: "no such file"},
		"the edit": {edit: func(string) error { return errors.New("refused") }, want: "refused"},
		"what is to be kept": {prepare: func(folder, _ string) error {
			return os.Symlink(filepath.Join(folder, "no", "x"), filepath.Join(folder, "wraps.jsonl"))
		}, want: "no such file"},
		"the file written": {edit: func(file string) error { return os.WriteFile(file, []byte("{}"), 0o600) }, want: "changed"},
	} {
		folder, file := t.TempDir(), filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		if test.prepare != nil {
			if err := test.prepare(folder, file); err != nil {
				t.Fatal(err)
			}
		}
		wrap := WrapAll([]Server{{Location: Location{Client: "c", File: file, Keys: []string{"mcpServers"}}, Name: "s0"}}, testFrontOf)
		err := Originals{folder}.Change(file, func(doc []byte, kept []Original) ([]byte, []Original, error) {
			if test.edit != nil {
				if err := test.edit(file); err != nil {
					return nil, nil, err
				}
			}
			return wrap(doc, kept)
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
		if text, err := os.ReadFile(file); err == nil && string(text) != doc && test.edit == nil {
			t.Errorf("%s: the file was written:\n%s", name, text)
		}
	}
	at := Location{Client: "c", File: "/c.json", Keys: []string{"mcpServers"}}
	for _, edit := range []Edit{WrapAll([]Server{{Location: at, Name: "none"}}, testFrontOf), UnwrapAll([]Server{{Location: at, Name: "none"}}, func(*Server, Unwrapping) {})} {
		if _, _, err := edit([]byte(doc), nil); err == nil || !strings.Contains(err.Error(), `server "none": it is not there`) {
			t.Error(err)
		}
	}
}

// TestLinkedFile: a file that is reached by another path has the same originals, and stands in a survey once for
// each place that may have servers.
func TestLinkedFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "link.json")
	broken, loop, yaml := filepath.Join(dir, "broken.json"), filepath.Join(dir, "loop.json"), filepath.Join(dir, "config.yaml")
	err := errors.Join(os.WriteFile(file, []byte(`{"a":{"s":{"command":"npx"}},"b":{"s":{"command":"npx"}}}`), 0o600), os.Symlink(file, link),
		os.WriteFile(broken, []byte(`{`), 0o600), os.Symlink(loop, loop), os.WriteFile(yaml, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	at := func(file string, keys ...string) Location { return Location{Client: "c", File: file, Keys: keys} }
	found := Look([]Location{at(file, "a"), at(link, "a"), at(link, "b"), at(broken, "a"), at(broken, "b"), at(loop, "a"), at(yaml, "a"), at(filepath.Join(dir, "none.json"), "a")})
	if len(found.Servers) != 2 || len(found.Faults) != 2 || !strings.HasPrefix(found.Faults[0].Error(), broken+": it is not JSON") || len(found.Unedited) != 1 {
		t.Errorf("%+v", found)
	}
	kept := Originals{t.TempDir()}
	if err := kept.Change(file, WrapAll([]Server{{Location: at(file, "a"), Name: "s"}}, testFrontOf)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if got := kept.Has(link)(&Server{Location: at(link, name), Name: "s"}); got != want {
			t.Errorf("by the link, of %s: %v", name, got)
		}
	}
	if kept.Has(yaml)(&Server{Location: at(yaml, "a"), Name: "s"}) {
		t.Error("another file has it")
	}
	if err := kept.Change(link, UnwrapAll([]Server{{Location: at(link, "a"), Name: "s"}}, func(*Server, Unwrapping) { t.Error("nothing kept by the link") })); err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce: many servers of a file are edited at once, and each gets its own bytes back.
func TestManyAtOnce(t *testing.T) {
	const count = 300
	at := Location{Client: "c", File: "/c.json", Keys: []string{"mcpServers"}}
	var all []Server
	for i := range count {
		all = append(all, Server{Location: at, Name: fmt.Sprint("s", i)})
	}
	doc := severalServers(count)
	wrapped, kept, err := WrapAll(all, testFrontOf)([]byte(doc), nil)
	if err != nil || len(kept) != count || strings.Count(string(wrapped), `"record"`) != count {
		t.Fatalf("%d kept, %v\n%s", len(kept), err, wrapped)
	}
	exact := func(s *Server, how Unwrapping) { t.Errorf("%s: %d", s.Name, how) }
	back, kept, err := UnwrapAll(all[1:], exact)(wrapped, kept)
	if err != nil || len(kept) != 1 || kept[0].Name != "s0" {
		t.Fatalf("kept %v, %v", kept, err)
	}
	back, kept, err = UnwrapAll(all[:1], exact)(back, kept)
	if err != nil || string(back) != doc || len(kept) != 0 {
		t.Errorf("kept %v, %v\n%s", kept, err, back)
	}
	_, _, err = WrapAll(append(all, Server{Location: at, Name: "none"}), testFrontOf)([]byte(doc), nil)
	if err == nil || !strings.Contains(err.Error(), `server "none": it is not there any more`) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestOddFiles: what is no configuration is refused before it is read: nothing waits, and the memory stays.
func TestOddFiles(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	sparse := func(name string, size int64) error {
		return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size))
	}
	if err := errors.Join(makePipe(at("pipe.json")), os.Symlink(at("pipe.json"), at("link.json")), os.Mkdir(at("folder.json"), 0o700),
		sparse(at("sparse.json"), 20<<30), sparse(at("large.json"), mostBytes+1)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		at("pipe.json"): "no regular file", at("link.json"): "no regular file", os.DevNull: "no regular file",
		at("folder.json"): "is a directory", at("sparse.json"): "more than 64 MiB", at("large.json"): "more than 64 MiB",
	} {
		found := Look([]Location{{Client: "c", File: file, Keys: []string{"mcpServers"}}})
		if len(found.Faults) != 1 || !strings.Contains(found.Faults[0].Error(), want) {
			t.Errorf("%s: %v, want %q", file, found.Faults, want)
		}
		err := Originals{t.TempDir()}.Change(file, func([]byte, []Original) ([]byte, []Original, error) {
			t.Errorf("%s is edited", file)
			return nil, nil, nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// TestNothingKept: an entry of which nothing was kept is unwrapped and told of, and what was kept of one that has
// gone is forgotten.
func TestNothingKept(t *testing.T) {
	at := Location{Client: "c", File: "/c.json", Keys: []string{"mcpServers"}}
	wrapped, kept, err := WrapAll([]Server{{Location: at, Name: "s0"}}, testFrontOf)([]byte(severalServers(1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	kept[0].Name = "gone"
	kept = append(kept, Original{Location: Location{Client: "c", File: "/d.json"}, Name: "elsewhere"})
	var unknown []string
	doc, kept, err := UnwrapAll([]Server{{Location: at, Name: "s0"}}, func(s *Server, how Unwrapping) { unknown = append(unknown, fmt.Sprint(s.Name, how)) })(wrapped, kept)
	if err != nil || string(doc) != severalServers(1) || !slices.Equal(unknown, []string{fmt.Sprint("s0", Unknown)}) || len(kept) != 1 || kept[0].Name != "elsewhere" {
		t.Errorf("%v, unknown %v, kept %+v\n%s", err, unknown, kept, doc)
	}
}

// TestEveryClient: a server in each file of each client is found there, wrapped and unwrapped.
func TestEveryClient(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	system := System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }, Folders: []string{project}}
	kept := Originals{t.TempDir()}
	clients := map[string]int{}
	for _, at := range system.Locations() {
		if !at.Editable() {
			continue
		}
		doc := fmt.Sprintf("[%s.s] # mine\ncommand = 'npx'\n", strings.Join(at.Keys, "."))
		if formatOf(at.File) == formatJSON {
			doc = `{"command": "npx", "args": []}, // mine`
			for _, key := range append([]string{"s"}, reversed(at.Keys)...) {
				doc = fmt.Sprintf("{%q: %s\n}", key, doc)
			}
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(at.File), 0o700), os.WriteFile(at.File, []byte(doc), 0o600)); err != nil {
			t.Fatal(err)
		}
		found := Look([]Location{at})
		if len(found.Servers) != 1 || found.Servers[0].State != Direct || len(found.Faults) > 0 {
			t.Errorf("%s: %+v", at.File, found)
			continue
		}
		if err := kept.Change(at.File, WrapAll(found.Servers, testFrontOf)); err != nil {
			t.Error(err)
		}
		wrapped := Look([]Location{at}).Servers
		if len(wrapped) != 1 || wrapped[0].State != Wrapped {
			t.Errorf("%s: %+v", at.File, wrapped)
			continue
		}
		if err := kept.Change(at.File, UnwrapAll(wrapped, func(*Server, Unwrapping) { t.Errorf("%s: nothing kept", at.File) })); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(at.File); err != nil || string(text) != doc {
			t.Errorf("%v\n%s\nwant\n%s", err, text, doc)
		}
		clients[at.Client]++
	}
	for _, c := range Clients() {
		if clients[c.Name] == 0 && c.Name != "goose" && c.Name != "continue" { // which have YAML
			t.Errorf("%s has no file", c.Name)
		}
	}
}

func reversed(keys []string) []string {
	keys = slices.Clone(keys)
	slices.Reverse(keys)
	return keys
}

// TestLocations: where the files of clients are, by the system.
func TestLocations(t *testing.T) {
	none := func(string) string { return "" }
	set := func(name string) string {
		return map[string]string{"CODEX_HOME": "/codex", "XDG_CONFIG_HOME": "/xdg", "CLAUDE_CONFIG_DIR": "relative"}[name]
	}
	for _, test := range []struct {
		goos   string
		getenv func(string) string
		want   string // CLIENT FILE KEY...
	}{
		{"linux", none, "claude-desktop /home/u/.config/Claude/claude_desktop_config.json mcpServers"},
		{"darwin", none, "claude-desktop /home/u/Library/Application Support/Claude/claude_desktop_config.json mcpServers"},
		{"windows", none, "claude-desktop /home/u/AppData/Roaming/Claude/claude_desktop_config.json mcpServers"},
		{"linux", set, "claude-desktop /xdg/Claude/claude_desktop_config.json mcpServers"},
		{"linux", set, "claude-code /home/u/.claude.json mcpServers"},
		{"linux", none, "claude-code /home/u/.claude.json projects /p/sub mcpServers"},
		{"linux", none, "claude-code /home/u/.claude.json projects /p mcpServers"},
		{"linux", none, "claude-code /p/.mcp.json mcpServers"},
		{"darwin", none, "vscode /home/u/Library/Application Support/Code/User/mcp.json servers"},
		{"darwin", none, "vscode /p/sub/.vscode/mcp.json servers"},
		{"darwin", none, "zed /home/u/.config/zed/settings.json context_servers"},
		{"windows", none, "zed /home/u/AppData/Roaming/Zed/settings.json context_servers"},
		{"linux", none, "zed /home/u/.config/zed/settings.json agent_servers"},
		{"linux", none, "jetbrains /home/u/.jetbrains/acp.json agent_servers"},
		{"linux", none, "codex /home/u/.codex/config.toml mcp_servers"},
		{"linux", set, "codex /codex/config.toml mcp_servers"},
		{"linux", none, "opencode /home/u/.config/opencode/opencode.json mcp servers"},
		{"linux", none, "amp /home/u/.config/amp/settings.json amp.mcpServers"},
	} {
		system := System{GOOS: test.goos, Home: "/home/u", Getenv: test.getenv, Folders: []string{"/p/sub", "/p"}}
		found := false
		for _, at := range system.Locations() {
			line := strings.Join(append([]string{at.Client, filepath.ToSlash(at.File)}, at.Keys...), " ")
			found = found || line == test.want
		}
		if !found {
			t.Errorf("on %s nothing is at %s", test.goos, test.want)
		}
	}
}

// TestLocationsIn: what a file that the user names is taken for.
func TestLocationsIn(t *testing.T) {
	system := System{GOOS: "linux", Home: "/home/u", Getenv: func(string) string { return "" }, Folders: []string{"/p"}}
	for _, test := range []struct{ file, client, want string }{
		{"/home/u/.cursor/mcp.json", "", "cursor user mcpServers"},
		{"/elsewhere/.vscode/mcp.json", "", "vscode project servers"},
		{"/elsewhere/opencode.jsonc", "", "opencode project mcp"},
		{"/elsewhere/x.toml", "codex", "codex user mcp_servers"},
		{"/elsewhere/x.json", "claude-code", "claude-code user mcpServers"},
		{"/elsewhere/x.json", "", "other other mcpServers"},
		{"/home/u/.cursor/mcp.json", "claude-code", "claude-code user mcpServers"},
		{"/elsewhere/x.json", "mine", "mine other mcpServers"},
	} {
		list := system.LocationsIn(test.file, test.client)
		first := list[0]
		if got := strings.Join(append([]string{first.Client, string(first.Scope)}, first.Keys...), " "); got != test.want || first.File != test.file {
			t.Errorf("%s of %q: %s in %s, want %s", test.file, test.client, got, first.File, test.want)
		}
	}
}
