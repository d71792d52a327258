package external

import "testing"

// TestLastWords holds which line of its standard error output tells why a process has ended.
func TestLastWords(t *testing.T) {
	for text, want := range map[string]string{
		"":         "",
		"a\nb\n\n": "b",
		"Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: no\n": "ValueError: no",
		"node:events:497\n      throw er;\n      ^\n\nError: listen EADDRINUSE\n    at Server.listen (node:net:1)\nEmitted 'error' event on Server instance at:\n    at x {\n  code: 'E'\n}\n\nNode.js v20.20.2\n": "Error: listen EADDRINUSE",
		"file.js:1\nthrow new Error('no')\n^\n\nError: no\n    at file.js:1:7\n\nNode.js v20.20.2\n":                                                                                                               "Error: no",
		"Error [ERR_X]: no {\n  code: 'ERR_X'\n}\n": "Error [ERR_X]: no",
		"panic: no [recovered]\n\ngoroutine 7 [running]:\nmain.f()\n\t/x/main.go:254 +0x2fc\ncreated by x\n\t/x/conn.go:684 +0x1fa\n": "panic: no [recovered]",
		"  indented alone": "indented alone",
	} {
		if got := lastWords(text); got != want {
			t.Errorf("of %q: %q, want %q", text, got, want)
		}
	}
}
