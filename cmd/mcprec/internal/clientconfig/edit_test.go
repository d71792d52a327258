package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var testFront = []string{"/opt/mc&prec <1>", "record", "-l", "client=c", "-l", "server=s", "--"}

const (
	frontProgram = `"/opt/mc&prec <1>"`
	frontWords   = `"record", "-l", "client=c", "-l", "server=s", "--"`
)

func jsonAt(keys ...string) Location { return Location{Client: "c", File: "/c.json", Keys: keys} }

func tomlAt(keys ...string) Location { return Location{Client: "c", File: "/c.toml", Keys: keys} }

// TestWrap: what wrap makes of each shape of an entry. In want, RECORDER and WORDS stand for the
// program and the words of mcprec record; everything else stands as it did. Unwrap gives the document
// back, with what was kept of the entry, and without it gives plain instead, if that is not "".
func TestWrap(t *testing.T) {
	servers := jsonAt("mcpServers")
	tables := tomlAt("mcp_servers")
	for name, test := range map[string]struct {
		at               Location
		doc, want, plain string
	}{
		"one line":               {servers, `{"mcpServers":{"s":{"command":"npx","args":["-y","x"]}}}`, `{"mcpServers":{"s":{"command":RECORDER,"args":[WORDS, "npx", "-y","x"]}}}`, ""},
		"spelling and CRLF":      {servers, "\ufeff{\r\n \"mcpServers\" : {\"\\u0073\":{\"command\" : \"np\\u0078\",\r\n\"args\": [\r\n\"-y\"]}}, \"n\":12345678901234567890}", "\ufeff{\r\n \"mcpServers\" : {\"\\u0073\":{\"command\" : RECORDER,\r\n\"args\": [WORDS, \"np\\u0078\",\r\n\"-y\"]}}, \"n\":12345678901234567890}", ""},
		"comments":               {servers, "{// a\n\"mcpServers\":{\"s\":{\"args\":[ // first\n\"-y\", /* last */ ],\"command\":\"npx\" /* c */,},}, } // end", "{// a\n\"mcpServers\":{\"s\":{\"args\":[WORDS, \"npx\", // first\n\"-y\", /* last */ ],\"command\":RECORDER /* c */,},}, } // end", ""},
		"no arguments":           {servers, `{"mcpServers":{"s":{"command":"npx","env":{"A":"1"}}}}`, `{"mcpServers":{"s":{"command":RECORDER, "args": [WORDS, "npx"],"env":{"A":"1"}}}}`, `{"mcpServers":{"s":{"command":"npx", "args": [],"env":{"A":"1"}}}}`},
		"an empty list":          {servers, "{\"mcpServers\":{\"s\":{\"command\":\"npx\",\"args\":[ /* none */\n]}}}", "{\"mcpServers\":{\"s\":{\"command\":RECORDER,\"args\":[WORDS, \"npx\" /* none */\n]}}}", `{"mcpServers":{"s":{"command":"npx","args":[]}}}`},
		"dashes of its own":      {servers, `{"mcpServers":{"s":{"command":"npx","args":["x","--","record"]}}}`, `{"mcpServers":{"s":{"command":RECORDER,"args":[WORDS, "npx", "x","--","record"]}}}`, ""},
		"cmd on Windows":         {servers, `{"mcpServers":{"s":{"command":"cmd","args":["/c","npx","x"]}}}`, `{"mcpServers":{"s":{"command":RECORDER,"args":[WORDS, "cmd", "/c","npx","x"]}}}`, ""},
		"Zed's older form":       {jsonAt("context_servers"), `{"context_servers":{"s":{"command":{"path":"npx","args":["x"],"env":null},"settings":{}}}}`, `{"context_servers":{"s":{"command":{"path":RECORDER,"args":[WORDS, "npx", "x"],"env":null},"settings":{}}}}`, ""},
		"a list":                 {jsonAt("mcp"), `{"mcp":{"s":{"type":"local","command":["npx","-y"]}}}`, `{"mcp":{"s":{"type":"local","command":[RECORDER, WORDS, "npx","-y"]}}}`, ""},
		"a list of lines":        {jsonAt("mcp", "servers"), "{\"mcp\":{\"servers\":{\"s\":{\"command\":[\n\"npx\",\n]}}}}", "{\"mcp\":{\"servers\":{\"s\":{\"command\":[RECORDER, WORDS,\n\"npx\",\n]}}}}", ""},
		"a flat key":             {jsonAt("amp.mcpServers"), `{"amp.mcpServers":{"s":{"command":"x","args":["y"]}}}`, `{"amp.mcpServers":{"s":{"command":RECORDER,"args":[WORDS, "x", "y"]}}}`, ""},
		"a project":              {jsonAt("projects", "/p", "mcpServers"), `{"projects":{"/p":{"mcpServers":{"s":{"type":"stdio","command":"x","args":["y"]}}}}}`, `{"projects":{"/p":{"mcpServers":{"s":{"type":"stdio","command":RECORDER,"args":[WORDS, "x", "y"]}}}}}`, ""},
		"a table":                {tables, "# top\n[mcp_servers.s] # s\ncommand = 'npx' # c\nargs = [\n  # first\n  '-y', \"x\"\n]\n", "# top\n[mcp_servers.s] # s\ncommand = RECORDER # c\nargs = [WORDS, 'npx',\n  # first\n  '-y', \"x\"\n]\n", ""},
		"no args, sub-table":     {tables, "[mcp_servers.s]\r\n  command = \"npx\" # c\r\n[mcp_servers.s.env]\r\nA = \"1\"\r\n", "[mcp_servers.s]\r\n  args = [WORDS, \"npx\"]\r\n  command = RECORDER # c\r\n[mcp_servers.s.env]\r\nA = \"1\"\r\n", "[mcp_servers.s]\r\n  args = []\r\n  command = \"npx\" # c\r\n[mcp_servers.s.env]\r\nA = \"1\"\r\n"},
		"sub-table first":        {tables, "[mcp_servers.s.env]\nA = \"1\"\n[mcp_servers.s]\ncommand = \"\"\"npx\"\"\"", "[mcp_servers.s.env]\nA = \"1\"\n[mcp_servers.s]\nargs = [WORDS, \"\"\"npx\"\"\"]\ncommand = RECORDER", "[mcp_servers.s.env]\nA = \"1\"\n[mcp_servers.s]\nargs = []\ncommand = \"\"\"npx\"\"\""},
		"an inline table":        {tables, "[mcp_servers]\ns = { command = \"npx\", env = { A = \"1\" } } # s", "[mcp_servers]\ns = { command = RECORDER, args = [WORDS, \"npx\"], env = { A = \"1\" } } # s", "[mcp_servers]\ns = { command = \"npx\", args = [], env = { A = \"1\" } } # s"},
		"inline all the way":     {tables, "mcp_servers = {s={command=\"npx\",args=['a']}}", "mcp_servers = {s={command=RECORDER,args=[WORDS, \"npx\", 'a']}}", ""},
		"dotted keys and a mark": {tables, "\ufeffmcp_servers . \"s\" .command = \"npx\"\n", "\ufeffmcp_servers . \"s\" .args = [WORDS, \"npx\"]\nmcp_servers . \"s\" .command = RECORDER\n", "\ufeffmcp_servers . \"s\" .args = []\nmcp_servers . \"s\" .command = \"npx\"\n"},
		"dotted in a table":      {tables, "[mcp_servers]\ns.command = \"npx\"\ns.args = []\nother.command = \"x\"", "[mcp_servers]\ns.command = RECORDER\ns.args = [WORDS, \"npx\"]\nother.command = \"x\"", ""},
		"a list of tables": {tables, "[[mcp_servers]]\nname = \"t\"\ncommand = \"t\"\n[[mcp_servers]]\nname = \"s\"\ncommand = \"npx\"\nargs = [\"x\"]\n",
			"[[mcp_servers]]\nname = \"t\"\ncommand = \"t\"\n[[mcp_servers]]\nname = \"s\"\ncommand = RECORDER\nargs = [WORDS, \"npx\", \"x\"]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.NewReplacer("RECORDER", frontProgram, "WORDS", frontWords).Replace(test.want)
			wrapped, original, err := Wrap([]byte(test.doc), test.at, "s", testFront)
			if err != nil || string(wrapped) != want {
				t.Fatalf("wrap: %v\n%s\nwant\n%s", err, wrapped, want)
			}
			back, how, err := Unwrap(wrapped, test.at, "s", &original)
			if err != nil || how != Exact || string(back) != test.doc {
				t.Errorf("unwrap: %v, how == Exact %v\n%s", err, how == Exact, back)
			}
			plain := test.plain
			if plain == "" {
				plain = test.doc
			}
			back, how, err = Unwrap(wrapped, test.at, "s", nil)
			if err != nil || how == Exact || string(back) != plain {
				t.Errorf("unwrap without the original: %v, how == Exact %v\n%s", err, how == Exact, back)
			}
			if _, _, err := Wrap(wrapped, test.at, "s", testFront); err == nil {
				t.Error("it can be wrapped twice")
			}
		})
	}
}

// TestUnwrapEdited: what was changed in the file, and in the entry, survives.
func TestUnwrapEdited(t *testing.T) {
	at := jsonAt("mcpServers")
	doc := `{"mcpServers":{"s":{"command":"npx","args":["-y"]}}}`
	for name, edit := range map[string]struct{ old, new, want string }{
		"a variable":               {`]}`, `],"env":{"DEBUG":"1"}}`, `{"mcpServers":{"s":{"command":"npx","args":["-y"],"env":{"DEBUG":"1"}}}}`},
		"an argument":              {`"-y"]`, `"-y", "x" /* new */]`, `{"mcpServers":{"s":{"command":"npx","args":["-y", "x" /* new */]}}}`},
		"another server":           {`{"s"`, `{"t":{"command":"t"},"s"`, `{"mcpServers":{"t":{"command":"t"},"s":{"command":"npx","args":["-y"]}}}`},
		"another old command":      {`"npx"`, `"bunx"`, `{"mcpServers":{"s":{"command":"bunx","args":["-y"]}}}`},
		"an option of mcprec":      {`"--"`, `"-v", "--"`, doc},
		"another program":          {`"/opt/mc&prec <1>"`, `"/usr/bin/new"`, `{"mcpServers":{"s":{"command":"/usr/bin/new","args":["-y"]}}}`},
		"a program without a path": {`"/opt/mc&prec <1>"`, `"uvx"`, `{"mcpServers":{"s":{"command":"uvx","args":["-y"]}}}`},
		"mcprec moved":             {`/opt/mc&prec <1>`, `/usr/bin/mcprec`, doc},
	} {
		wrapped, original, err := Wrap([]byte(doc), at, "s", testFront)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(string(wrapped), edit.old, edit.new, 1)
		if edited == string(wrapped) {
			t.Fatalf("%s: no edit of %s", name, wrapped)
		}
		back, _, err := Unwrap([]byte(edited), at, "s", &original)
		if err != nil || string(back) != edit.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, back, edit.want)
		}
	}
}

// TestReplacedInList: a program that was replaced by hand stays also where one list is the whole command,
// and where nothing came behind it.
func TestReplacedInList(t *testing.T) {
	at := jsonAt("mcpServers")
	for doc, want := range map[string]string{
		`{"mcpServers":{"s":{"command":["npx","-y","x"]}}}`:         `{"mcpServers":{"s":{"command":["new", "-y","x"]}}}`,
		`{"mcpServers":{"s":{"command":["npx"]}}}`:                  `{"mcpServers":{"s":{"command":["new"]}}}`,
		`{"mcpServers":{"s":{"command":"npx"}}}`:                    `{"mcpServers":{"s":{"command":"new"}}}`,
		`{"mcpServers":{"s":{"command":"npx","args":[],"env":{}}}}`: `{"mcpServers":{"s":{"command":"new","args":[],"env":{}}}}`,
		`{"mcpServers":{"s":{"args":["-y"],"command":"npx"}}}`:      `{"mcpServers":{"s":{"args":["-y"],"command":"new"}}}`,
	} {
		wrapped, original, err := Wrap([]byte(doc), at, "s", testFront)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(string(wrapped), `"/opt/mc&prec <1>"`, `"new"`, 1)
		back, how, err := Unwrap([]byte(edited), at, "s", &original)
		if err != nil || how != Replaced || strings.ReplaceAll(string(back), " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %v, %v\n%s\nwant\n%s", doc, how, err, back, want)
		}
	}
}

// TestReformatted: a client that writes its file anew, in its own layout and perhaps with its keys
// sorted, gets that layout back.
func TestReformatted(t *testing.T) {
	indented := func(doc []byte) []byte {
		var b bytes.Buffer
		if err := json.Indent(&b, doc, "", "  "); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	sorted := func(doc []byte) []byte { // "args" comes before "command"
		var value any
		err := json.Unmarshal(doc, &value)
		doc, failed := json.Marshal(value)
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return indented(doc)
	}
	for _, entry := range []string{
		`{"command":"npx","args":["-y","x"]}`, `{"command":"npx","args":[]}`, `{"command":"npx"}`, `{"args":["x"],"command":"npx","env":{}}`, `{"type":"stdio","command":"npx","env":{}}`,
		`{"command":["npx","x"]}`,
	} {
		for name, layout := range map[string]func([]byte) []byte{"indented": indented, "sorted": sorted} {
			doc := layout([]byte(`{"a":1,"mcpServers":{"r":{"url":"http://x"},"s":` + entry + `}}`))
			at := jsonAt("mcpServers")
			wrapped, original, err := Wrap(doc, at, "s", testFront)
			if err != nil {
				t.Fatal(err)
			}
			back, _, err := Unwrap(layout(wrapped), at, "s", &original)
			if err != nil || !bytes.Equal(back, doc) {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, back, doc)
			}
		}
	}
}

// TestRefused: what is not edited, and why.
func TestRefused(t *testing.T) {
	servers := jsonAt("mcpServers")
	tables := tomlAt("mcp_servers")
	for _, test := range []struct {
		at        Location
		doc, want string
	}{
		{servers, `{"mcpServers":{"s":{"command":"a"},"s":{"command":"b"}}}`, "2 servers have this name"},
		{servers, `{"mcpServers":{"s":{"command":"a","command":"b"}}}`, `the key "command" stands 2 times`},
		{servers, `{"mcpServers":{"s":{"command":"a","args":[],"\u0061rgs":[]}}}`, `the key "args" stands 2 times`},
		{servers, `{"mcpServers":{"s":{"command":"a"}},"mcpServers":{}}`, `the key "mcpServers" stands 2 times`},
		{servers, `{"mcpServers":7}`, "not of the type"},
		{servers, `{"mcpServers":{"s":{"command":7}}}`, "its command is not a command"},
		{servers, `{"mcpServers":{"s":{"command":[]}}}`, "its command is not a command"},
		{servers, `{"mcpServers":{"s":{"command":""}}}`, "its command is not a command"},
		{servers, `{"mcpServers":{"s":{"command":["a"],"args":["b"]}}}`, "its command is not a command"},
		{servers, `{"mcpServers":{"s":{"command":{}}}}`, "its command has no path"},
		{servers, `{"mcpServers":{"s":{"command":"a","args":"b c"}}}`, "its args is not a list"},
		{servers, `{"mcpServers":{"s":{"command":"a","args":["b",1]}}}`, "not a string"},
		{servers, `{"mcpServers":{"s":{"url":"http://x"}}}`, "it is remote"},
		{servers, `{"mcpServers":{"s":{"command":"mcprec","args":["record","--","x"]}}}`, "it is by hand"},
		{servers, `{"mcpServers":{"s":{"command":"C:\\bin\\MCPREC.exe","args":["record","x"]}}}`, "it is by hand"},
		{servers, `{"mcpServers":{"s":{"command":"a","args":["\u0000"]}}}`, "a zero byte"},
		{servers, `{"mcpServers":{}}`, "not there any more"},
		{servers, ` `, "not there any more"},
		{servers, "{\"mcpServers\":{\"s\":{\"command\":\"a\",\"env\":{\"TOKEN\":\"hunter2\\q\"}}}}", "it is not JSON: see line 1, column 50"},
		{servers, "{\"mcpServers\":\n\"hunter2\"; }", "it is not JSON: see line 2, column 10"},
		{servers, "\xff\xfe{\x00}\x00", "not UTF-8"},
		{servers, strings.Repeat("[", 1<<20), "nested"},
		{servers, strings.Repeat("/*[*/", 1<<15) + `{"a":"` + strings.Repeat("[", 1<<15) + `"}`, "not there any more"},
		{tables, strings.Repeat("a=[", 1) + strings.Repeat("[", 1<<20), "it is not TOML"},
		{tables, "[mcp_servers.s]\ncommand = \"a\"\n[mcp_servers.s]\n", "it is not TOML: see line 3"},
		{tables, "[mcp_servers.s]\ncommand = \"a\"\ncommand = \"hunter2\"\n", "it is not TOML: see line 3"},
		{tables, "[[mcp_servers]]\nname = \"s\"\ncommand = \"a\"\n[[mcp_servers]]\nname = \"s\"\ncommand = \"b\"\n", "2 servers have this name"},
	} {
		_, _, err := Wrap([]byte(test.doc), test.at, "s", testFront)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.80s: %v, want %s", test.doc, err, test.want)
		}
	}
	if _, _, err := Wrap([]byte(`{"mcpServers":{"s":{"command":"a"}}}`), servers, "s", []string{"/\xff", "record", "--"}); err == nil {
		t.Error("a path that is not UTF-8 is written")
	}
	const labels = `"-l","client=c","-l","server=s"`
	for doc, want := range map[string]string{
		`{"mcpServers":{}}`:                    "not there any more",
		`{"mcpServers":{"s":{"command":7}}}`:   "its command is not a command",
		`{"mcpServers":{"s":{"command":"a"}}}`: "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"other","args":["record","-l","client=c","--","x"]}}}`: "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"other","args":["record","-l","server=s","--","x"]}}}`: "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"other","args":["play",` + labels + `,"--","x"]}}}`:    "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"mcprec","args":["record","x"]}}}`:                     "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"mcprec","args":["record","--"]}}}`:                    "not mcprec record -- COMMAND",
		`{"mcpServers":{"s":{"command":"--","args":["record","x"]}}}`:                         "not mcprec record -- COMMAND",
	} {
		if _, _, err := Unwrap([]byte(doc), servers, "s", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unwrap %s: %v, want %s", doc, err, want)
		}
	}
}

// TestDepth: only brackets outside of strings and comments that are open at once count.
func TestDepth(t *testing.T) {
	for doc, want := range map[string]int{
		`[[],[],{"a":[]}]`: 3, `["[[", "\"[[", "\\", [[]]]`: 3, "[ // [[\n[] /* [[[ */ ]": 2, `["\"[[["]`: 1, "[/* [ */ []]": 2, "[ /*/ [[ */ ]": 1, `["a`: 1, `[/* [`: 1,
	} {
		if got := depthOf([]byte(doc)); got != want {
			t.Errorf("%s: %d, want %d", doc, got, want)
		}
	}
}

// TestFind: what is read of an entry beside its command.
func TestFind(t *testing.T) {
	rules := Location{Client: "amp", File: "/c.json", Keys: []string{"amp.mcpServers"}}
	for _, test := range []struct {
		at               Location
		doc              string
		ownHome, byRules bool
		url              string
		state            State
	}{
		{rules, `{"amp.mcpServers":{"s":{"command":"a","env":{"A":"1"}}}}`, false, false, "", Direct},
		{jsonAt("mcpServers"), `{"mcpServers":{"s":{"command":"mcprec","args":["mcp"]}}}`, false, false, "", Direct},
		{tomlAt("mcp_servers"), "[[mcp_servers]]\ncommand = \"a\"\n[[mcp_servers]]\nname = 7\n[[mcp_servers]]\nname = \"s\"\ncommand = \"a\"\n", false, false, "", Direct},
		{rules, `{"amp.mcpServers":{"s":{"command":"a","env":{"MCPREC_HOME":"/x"},"environment":{}}},"amp.mcpPermissions":[]}`, true, true, "", Direct},
		{jsonAt("mcpServers"), `{"mcpServers":{"s":{"serverUrl":"http://x"}},"amp.mcpPermissions":[],"":1}`, false, false, "http://x", Remote},
	} {
		list, err := Find([]byte(test.doc), test.at)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", test.doc, list, err)
		} else if s := list[0]; s.OwnHome != test.ownHome || s.ByRules != test.byRules || s.URL != test.url || s.State != test.state || s.Name != "s" {
			t.Errorf("%s: %+v", test.doc, s)
		}
	}
}

// TestRandomDocuments: for random documents, unwrapping what was wrapped gives the same bytes, also
// when the file was edited elsewhere meanwhile.
func TestRandomDocuments(t *testing.T) {
	for seed := range uint64(4000) {
		r := &randomDocument{rand.New(rand.NewPCG(seed, 21))}
		doc, at := r.json()
		if seed%2 == 1 {
			doc, at = r.toml()
		}
		wrapped, original, err := Wrap([]byte(doc), at, "s", testFront)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, doc)
		}
		back, how, err := Unwrap(wrapped, at, "s", &original)
		if err != nil || how != Exact || string(back) != doc {
			t.Fatalf("seed %d: %v, how == Exact %v\n%q\nwas\n%q\nwrapped\n%q", seed, err, how == Exact, back, doc, wrapped)
		}
		if _, _, err := Unwrap(wrapped, at, "s", nil); err != nil {
			t.Fatalf("seed %d, without the original: %v\n%s", seed, err, wrapped)
		}
		comment := map[format]string{formatJSON: "/* new */", formatTOML: "# new\n"}[formatOf(at.File)]
		back, _, err = Unwrap(append(wrapped, comment...), at, "s", &original)
		if err != nil || string(back) != doc+comment {
			t.Fatalf("seed %d, edited elsewhere: %v\n%q\nwas\n%q", seed, err, back, doc)
		}
	}
}

// randomDocument makes documents with a server «s».
type randomDocument struct{ *rand.Rand }

func (r *randomDocument) of(choices ...string) string { return choices[r.IntN(len(choices))] }

// gap returns what may stand between two tokens of JSON.
func (r *randomDocument) gap() string {
	return r.of("", "", " ", "\n\t", "\r\n  ", "/* { \" */", "// [ \"\n", " /**/ ")
}

func (r *randomDocument) string() string {
	return r.of(`"npx"`, `"-y"`, `"a b"`, `"\u0078\n"`, `"ü\"\\"`, `"--"`, `"record"`, `"//"`, `"[{"`)
}

func (r *randomDocument) list() string {
	var b strings.Builder
	b.WriteString("[" + r.gap())
	for n := r.IntN(4); n > 0; n-- {
		b.WriteString(r.string() + r.gap())
		if n > 1 || r.IntN(3) == 0 {
			b.WriteString("," + r.gap())
		}
	}
	return b.String() + "]"
}

// object returns members in any order, with blanks and comments, and perhaps a comma at the end.
func (r *randomDocument) object(members ...string) string {
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString("{" + r.gap())
	for i, m := range members {
		key, value, _ := strings.Cut(m, "=")
		b.WriteString(fmt.Sprintf("%q%s:%s%s%s", key, r.gap(), r.gap(), value, r.gap()))
		if i < len(members)-1 || r.IntN(3) == 0 {
			b.WriteString("," + r.gap())
		}
	}
	return b.String() + "}"
}

func (r *randomDocument) json() (string, Location) {
	command := []string{"command=" + r.of(`"npx"`, `"np\u0078"`, `"/a b"`)}
	switch r.IntN(5) {
	case 0:
	case 1:
		command = []string{"command=[" + r.gap() + `"npx",` + strings.TrimPrefix(r.list(), "[")}
	case 2:
		command = []string{"command=" + r.object("path="+r.string(), "args="+r.list())}
	default:
		command = append(command, "args="+r.list())
	}
	entry := r.object(slices.Concat(command, []string{"env=" + r.of("{}", `{"command":"x","args":[1]}`, "null"), "n=12345678901234567890e-7"})...)
	servers := r.object("s="+entry, `t={"command":"t"}`, `u={"url":"http://x"}`)
	return r.of("", "\ufeff") + r.gap() + r.object("mcpServers="+servers, "a=[null,true,{}]") + r.gap(), jsonAt("mcpServers")
}

func (r *randomDocument) toml() (string, Location) {
	at := tomlAt("mcp_servers")
	lineEnd := r.of("\n", "\r\n")
	command := r.of(`"npx"`, `'np x'`, `"""npx"""`, "'''n''p'''", `"\u0078"`)
	args := r.of("", "[]", "[ ]", `["a", 'b',]`, "["+lineEnd+"  # [ one"+lineEnd+"  'a',"+lineEnd+"]", `["""x""", "]"]`)
	line := func(key, value string) string {
		return r.of("", "  ", "\t") + key + r.of("=", " = ") + value + r.of("", " # '", "  ") + lineEnd
	}
	isList := false
	prefix, header := "", "[mcp_servers.s]"+lineEnd
	switch r.IntN(6) {
	case 0:
		prefix, header = "mcp_servers.s.", ""
	case 1:
		prefix, header = r.of(`"s" . `, "s."), "[mcp_servers]"+lineEnd
	case 2:
		isList = true
		header = `[[mcp_servers]]` + lineEnd + `name="s"` + lineEnd
	case 3:
		inline := "command = " + command
		if args != "" {
			inline += ", args=" + args
		}
		return r.of("", "\ufeff") + "a = 1" + lineEnd + r.of("mcp_servers.s = ", "[ mcp_servers ]"+lineEnd+"s=") + "{ " + inline + r.of("", " , env.A = 'x'") + "}" + r.of("", lineEnd), at
	}
	lines := []string{line(prefix+"command", command), line(prefix+"n", "1")}
	if args != "" {
		lines = append(lines, line(prefix+"args", args))
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	tail := ""
	if !isList {
		tail = r.of("", "[mcp_servers.s.env]"+lineEnd+"command='x'"+lineEnd, "[mcp_servers.t]"+lineEnd+"command='t'", "[x.y]")
	}
	if prefix != "" && strings.HasPrefix(tail, "[mcp") { // a table of dotted keys is closed
		tail = ""
	}
	doc := r.of("", "\ufeff") + r.of("", "# c"+lineEnd+lineEnd) + header + strings.Join(lines, r.of("", lineEnd)) + tail
	if tail == "" && r.IntN(3) == 0 {
		doc = strings.TrimRight(doc, "\r\n")
	}
	return doc, at
}
