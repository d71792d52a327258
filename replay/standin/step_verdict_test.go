package standin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestSteps plays recordings to live ends and holds the verdicts to golden files. A
// file of testdata/steps has the end that is live and the rules on its first line
// (client ignore=/params/at normalize=uuid,time match=strict), the playbook that was
// recorded, and what the live end says; what was played and the verdicts are golden.
func TestSteps(t *testing.T) {
	files, err := filepath.Glob("testdata/steps/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(archive.Comment), "\n")
			end, rules := parseHead(t, head)
			section := map[string]string{}
			for _, f := range archive.Files {
				section[f.Name] = string(f.Data)
			}
			played, verdicts := playSteps(end, rules, section["recorded"], section["live"])
			got := &txtar.Archive{Comment: archive.Comment, Files: []txtar.File{
				{Name: "recorded", Data: []byte(section["recorded"])}, {Name: "live", Data: []byte(section["live"])},
				{Name: "played", Data: []byte(played)}, {Name: "verdicts", Data: []byte(verdicts)},
			}}
			if *replaytest.Update {
				if err := os.WriteFile(path, txtar.Format(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if section["played"] != played || section["verdicts"] != verdicts {
				t.Errorf("%s differs (-update rewrites it):\n%s\n%s", path, played, verdicts)
			}
		})
	}
}

// parseHead reads the first line of a file.
func parseHead(t *testing.T, line string) (end string, rules match.Rules) {
	t.Helper()
	end, line, _ = strings.Cut(line, " ")
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "match":
			rules.By, err = match.ParseStrictness(value)
		case "normalize":
			rules.Normalize, err = match.ParseNormalizers(value)
		case "ignore":
			var p match.Pointer
			p, err = match.ParsePointer(value)
			rules.Ignore = append(rules.Ignore, p)
		default:
			err = fmt.Errorf("%q is no rule", word)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return end, rules
}

// playSteps plays a recording to one live end.
func playSteps(end string, rules match.Rules, recorded, live string) (played, verdicts string) {
	var list []match.StepVerdict
	if end == "client" {
		p := NewPlayer(recordPlaybook(recorded), rules)
		played, list = converse(p, live, ">", "<"), p.Verdicts()
	} else {
		d := NewDriver(recordPlaybook(recorded), rules)
		played, list = converse(d, live, "<", ">"), d.Verdicts()
	}
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "#%d %s %s: %s\n", v.Seq, v.Dir, v.Result, v.What)
		if v.Text != "" {
			fmt.Fprintf(&b, "  %s\n", v.Text)
		}
		for _, d := range v.Differences {
			fmt.Fprintf(&b, "  %s: want %s, got %s", d.Place(), d.Want, d.Got)
			if d.Hint != "" {
				fmt.Fprintf(&b, " (%s)", d.Hint)
			}
			b.WriteByte('\n')
		}
		for _, m := range v.Mapped {
			fmt.Fprintf(&b, "  %s: %s: %s is %s\n", m.Path, m.By, m.Want, m.Got)
		}
		if v.Order != "" {
			fmt.Fprintf(&b, "  order: %s\n", v.Order)
		}
	}
	return played, b.String()
}
