// Package clientconfig puts a recorder in front of the servers in the configuration files of MCP
// clients, and takes it out again.
//
// # What it promises
//
// An edit replaces the value of a server's command and of its arguments, and no other byte of the
// file: comments, the order of keys, line ends, a byte order mark and the spelling of numbers stay.
// [Wrap] followed by [Unwrap] gives the file back byte for byte, whatever was changed elsewhere in
// it meanwhile. What a user changed inside a wrapped entry survives: an argument, a variable of the
// environment.
//
// A file is replaced as a whole or not at all, and not if it is no longer what was read: a client
// may rewrite its configuration while it runs. Two mcprec do not edit at the same time.
//
// # Layout
//
// clients.go has the table of clients as data: for each the files, the keys under which its servers
// stand, and the scope. locations.go makes [Location]s of it for a machine, and survey.go reads their
// files (read.go). A file is JSON, with comments and trailing commas or without, or TOML. json.go and toml.go
// parse it into the same tree of nodes (node.go), each with its range of bytes. servers.go finds the
// [Server]s in the tree, and edit.go decides which bytes to replace: these four do no I/O.
//
// A server's command is one of
//
//	"command": "npx", "args": ["-y", "x"]          most clients
//	"command": {"path": "npx", "args": [...]}      Zed, until 2025
//	"command": ["npx", "-y", "x"]                  opencode
//	command = "npx"                                TOML: in a table, an inline table, behind dotted keys
//
// The old command keeps its own bytes and becomes an argument:
//
//	"command": "/usr/local/bin/mcprec", "args": ["record", "-l", "client=cursor", "-l", "server=fs", "npx", "-y", "x"]
//
// originals.go keeps the old bytes of each edit in wraps.jsonl (0600), in the folder of the store in use when
// the server was wrapped: an [Original] a line, with the old and the new bytes of the command and of the
// arguments. It is written before the client's file is, and forgets a server when it is unwrapped. If an entry
// is as wrap left it, unwrap puts the old bytes back. If it is not, or there is no Original, unwrap takes
// mcprec's own words out of the list of arguments, and leaves the rest.
//
// # What it refuses
//
// Keys that stand twice, where the client and mcprec may disagree about which one counts; a command
// or arguments of another type; files that do not parse; remote servers, which have no command. YAML
// is not edited. It keeps no copy of a file, nor the environment or the headers of an entry.
package clientconfig
