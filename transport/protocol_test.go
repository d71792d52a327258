package transport

import "testing"

// TestProtocolOf: a session's protocol by what its first request says.
func TestProtocolOf(t *testing.T) {
	for text, want := range map[string]Protocol{
		`{"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`: MCP,
		`{"id":0,"method":"initialize","params":{"protocolVersion":"next"}}`:                                                                 MCP,
		`{"id":0,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"a"}}}`:                                              MCP,
		`{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}`:                    ACP,
		`{"id":0,"method":"initialize","params":{"protocolVersion":1}}`:                                                                      ACP,
		`{"id":0,"method":"initialize","params":{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"a"}}}`:                          MCP,
		`{"id":0,"method":"initialize","params":{"processId":7,"rootUri":null,"capabilities":{}}}`:                                           LSP,
		`{"id":0,"method":"initialize","params":{"capabilities":{"textDocument":{"hover":{}}}}}`:                                             LSP,
		`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"codex","version":"1"}}}`:                                              Other,
		`{"id":0,"method":"initialize"}`:                     Other,
		`{"id":0,"method":"build/initialize"}`:               BSP,
		`{"id":0,"method":"session/prompt"}`:                 ACP,
		`{"id":0,"method":"textDocument/hover","params":{}}`: LSP,
		`{"id":0,"method":"tools/list"}`:                     MCP,
		`{"id":0,"method":"server/discover"}`:                MCP,
		`{"id":0,"method":"eth_blockNumber"}`:                "",
		`{"method":"initialize"}`:                            "",
		`{"id":0,"result":{"protocolVersion":1}}`:            "",
	} {
		messages, err := Frame{Bytes: []byte(text)}.Messages()
		if err != nil {
			t.Fatal(err)
		}
		if got := ProtocolOf(messages[0]); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
