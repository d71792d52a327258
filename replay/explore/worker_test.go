package explore

import "testing"

// Who took up a request is told by who started whom, and when.
func TestWorker(t *testing.T) {
	stack := func(head, by string) string {
		return "goroutine " + head + ", synctest bubble 3]:\na.b()\n\tx/y.go:1\ncreated by a.c in goroutine " + by + "\n\tx/y.go:2"
	}
	reader := stack("5 [select (durable)", "1")
	for name, test := range map[string]struct {
		alone bool
		until map[int]bool
		all   []string
		want  string
	}{
		"the reader's":                  {false, nil, []string{reader, stack("9 [select (durable)", "5")}, "9"},
		"of one that it started":        {false, nil, []string{reader, stack("8 [running", "5"), stack("9 [select (durable)", "8")}, "9"},
		"there before":                  {false, nil, []string{reader, stack("6 [select (durable)", "5")}, ""},
		"of somebody else":              {true, nil, []string{reader, stack("9 [select (durable)", "6")}, ""},
		"of one that has ended":         {true, nil, []string{reader, stack("9 [select (durable)", "8")}, "9"},
		"of which two may be":           {true, nil, []string{reader, stack("9 [select (durable)", "8"), stack("10 [select (durable)", "8")}, ""},
		"of which end is not known":     {false, nil, []string{reader, stack("9 [select (durable)", "8")}, ""},
		"started at the next frame":     {false, map[int]bool{5: true}, []string{reader, stack("9 [select (durable)", "5")}, ""},
		"started before the next frame": {false, map[int]bool{5: true, 9: true}, []string{reader, stack("9 [select (durable)", "5")}, "9"},
		"of another bubble":             {true, nil, []string{reader, "goroutine 9 [select (durable), synctest bubble 4]:\na.b()\n\tx/y.go:1\ncreated by a.c in goroutine 8\n\tx/y.go:2"}, ""},
		"untraced":                      {true, nil, nil, ""},
	} {
		c := &call{request: &flight{reader: []string{"5", "1"}, alive: map[int]bool{1: true, 5: true, 6: true}, until: test.until}}
		if got := (&gate{all: test.all, alone: test.alone}).worker(c); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
