package clientconfig

import "testing"

func TestRuns(t *testing.T) {
	for _, test := range []struct {
		configured, process []string
		want                bool
	}{
		{[]string{"node", "/srv/fs.mjs", "--root", "/x"}, []string{"node", "/srv/fs.mjs", "--root", "/x"}, true},
		{[]string{"node", "/srv/fs.mjs"}, []string{"/usr/bin/node", "/srv/fs.mjs"}, true},
		{[]string{"node", "/srv/fs.mjs"}, []string{"node", "/srv/other.mjs"}, false},
		{[]string{"/opt/a/node", "/srv/fs.mjs"}, []string{"/opt/b/node", "/srv/fs.mjs"}, false},
		{[]string{"mcp-server-git", "--verbose"}, []string{"/usr/bin/python3", "/venv/bin/mcp-server-git", "--verbose"}, true},
		{[]string{"npx", "-y", "@x/server", "/data"}, []string{"npm exec @x/server /data"}, true},
		{[]string{"npx", "-y", "@x/server"}, []string{"npm exec @x/server /data"}, false},
		{[]string{"npx"}, []string{"npm exec x"}, false},
		{[]string{"mcprec", "record", "-l", "client=cursor", "-l", "server=fs", "node", "/srv/fs.mjs"}, []string{"node", "/srv/fs.mjs"}, true},
		{nil, []string{"node"}, false},
		{[]string{"node"}, nil, false},
	} {
		s := Server{Command: test.configured}
		if got := s.Runs(test.process); got != test.want {
			t.Errorf("%q runs %q: %v, want %v", test.process, test.configured, got, test.want)
		}
	}
}
