// Command mcprec records, keeps and replays MCP sessions. See the README for a
// tour, and mcprec help for the commands.
package main

import (
	"os"
)

func main() {
	exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
