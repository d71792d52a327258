package zoo

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/explore"
)

var update bool

func init() {
	if testing.Testing() { // the table has flags of its own
		flag.BoolVar(&update, "update", false, "rewrite what the reports say of the causes")
	}
}

// golden compares what the report says of the cause with the file testdata/TEST-VERSION.txt.
// The files are what a reader of the report has to find the line at fault.
func golden(t *testing.T, version string, r explore.Report) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(t.Name(), "/", "-")+"-"+version+".txt")
	got := cause(r)
	if update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; -update writes it", err)
	} else if got != string(want) {
		t.Errorf("%s differs; -update rewrites it:\n%s", path, got)
	}
}

// changing matches what depends on the schedule that was found first, on the lines of the
// tests, and on what the compiler inlines, after which it names a function without a name.
var changing = regexp.MustCompile(`step [0-9]+|\.(\w+\.)*func[0-9]+(\.[0-9]+)*|, (delivery order only|sending order too), buffer .*|\ntoken .*|the token mcprec\S+|(_test\.go):[0-9]+|\n  this very order: .*`)

// otherParts begin the paragraphs of a report that are not about the cause.
var otherParts = []string{"the order that it takes", "buffers:", "the run:", "the session shrinks", "stacks:", "leak:", "delivery order only:", "sending order too:"}

// cause returns the verdict and the paragraphs of a report that say what is the matter.
func cause(r explore.Report) string {
	text := changing.ReplaceAllStringFunc(r.Text(), func(s string) string {
		switch {
		case strings.HasPrefix(s, "step "):
			return "step N"
		case strings.HasPrefix(s, "_test.go"):
			return "_test.go"
		case strings.Contains(s, ".func"):
			return ".func"
		}
		return ""
	})
	var kept []string
	for part := range strings.SplitSeq(text, "\n\n") {
		other := false
		for _, title := range otherParts {
			other = other || strings.HasPrefix(strings.TrimSpace(part), title)
		}
		if !other {
			kept = append(kept, strings.TrimRight(part, "\n"))
		}
	}
	return strings.Join(kept, "\n\n") + "\n"
}
