package running

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// marks are words in the file of a program that is a server of the protocol and no client. All words of has must be
// there, and none of not: a program that is both, or that speaks to an editor, may run as something else.
//
// To add one: add a row, and a program to TestPrograms.
var marks = []struct{ has, not []string }{
	{[]string{mcp.MemberServerInfo, mcp.MemberProtocolVersion}, []string{"clientInfo", "textDocument/"}},                         // written by hand
	{[]string{"@modelcontextprotocol/sdk/server"}, []string{"@modelcontextprotocol/sdk/client", "@modelcontextprotocol/client"}}, // TypeScript SDK
	{[]string{"@modelcontextprotocol/server"}, []string{"@modelcontextprotocol/sdk/client", "@modelcontextprotocol/client"}},     // its second version
	{[]string{"this._serverInfo", mcp.MethodCallTool}, []string{"this._clientInfo"}},                                             // the same in one file
	{[]string{"mcp.server"}, []string{"mcp.client", "StdioServerParameters"}},                                                    // Python SDK
	{[]string{"import FastMCP"}, []string{"mcp.client", "StdioServerParameters", "fastmcp.client"}},                              // FastMCP
	{[]string{"/go-sdk/mcp.(*Server).Run"}, []string{"/go-sdk/mcp.(*Client).Connect", "textDocument/"}},                          // Go SDK
	{[]string{"/mcp-go/server.(*StdioServer).Listen"}, []string{"/mcp-go/client.", "textDocument/"}},                             // mcp-go
}

// interpreters match the programs that run a text, which alone says what they do.
var interpreters = phrase.Regexp(`^(node|nodejs|bun|deno|python[\d.]*|ruby|perl|php|java|sh|bash|dash|zsh|ash|busybox)$`)

// Bounds of what is read of a program.
const (
	mostScript  = 4 << 20
	mostProgram = 48 << 20
	mostFiles   = 3 // words of a command line that name a file
)

// isServer reports whether the program of a process is a server of the protocol, by the words in its file: for an
// interpreter in its script, or in the command line itself.
func (t *Table) isServer(pid int) bool {
	p := t.byPID[pid]
	link := fmt.Sprintf("/proc/%d/exe", pid)
	program, err := os.Readlink(link)
	if err != nil || len(p.Command) == 0 {
		return false
	}
	if !interpreters().MatchString(filepath.Base(program)) {
		return t.isServerFile(program, link, mostProgram)
	}
	if isServerText([]byte(strings.Join(p.Command[1:], "\n"))) {
		return true
	}
	files := 0
	for _, word := range p.Command[1:] {
		if strings.HasPrefix(word, "-") || files == mostFiles {
			continue
		}
		path := word
		if !filepath.IsAbs(word) {
			folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
			if err != nil {
				continue
			}
			path = filepath.Join(folder, word)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		files++
		if t.isServerFile(path, path, mostScript) {
			return true
		}
	}
	return false
}

// isServerFile reports whether a file is that of a server. A file is read once.
func (t *Table) isServerFile(name, path string, most int64) bool {
	is, isKnown := t.programs[name]
	if !isKnown {
		is = readsAsServer(path, most)
		t.programs[name] = is
	}
	return is
}

func readsAsServer(path string, most int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || info.Size() > most {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(file, most))
	return err == nil && isServerText(text)
}

// isServerText reports whether a text has all that a mark asks for, and nothing that it excludes.
func isServerText(text []byte) bool {
	seen := map[string]bool{}
	has := func(word string) bool {
		is, isKnown := seen[word]
		if !isKnown {
			is = bytes.Contains(text, []byte(word))
			seen[word] = is
		}
		return is
	}
	for _, mark := range marks {
		fits := true
		for _, word := range mark.has {
			fits = fits && has(word)
		}
		for _, word := range mark.not {
			fits = fits && !has(word)
		}
		if fits {
			return true
		}
	}
	return false
}
