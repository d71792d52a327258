package clientconfig

import "slices"

// Client is a program that starts MCP servers.
type Client struct {
	Name   string // as --client takes it
	Title  string
	Places []Place
	Rules  string // a key of the file with rules about commands, which may not fit a wrapped one
}

// Place is where a client keeps servers.
type Place struct {
	Scope Scope
	// Files are templates. "~" is the home folder, "config:" the folder for settings of the
	// system, "${NAME:-DEFAULT}" a variable of the environment, "./" the folder of a project, and a
	// step "*" stands for every folder.
	Files []string
	Keys  []string // from the root of the file to the servers; "*" is the folder of the project
}

// Scope is for whom a client starts a server.
type Scope string

// The scopes. Local is a user's own configuration for one project, as Claude Code has it. Other is
// that of a file that the user names, and no known client reads.
const (
	User    Scope = "user"
	Local   Scope = "local"
	Project Scope = "project"
	Other   Scope = "other"
)

// The keys under which clients have their servers. Most have mcpServers.
var (
	mcpServers      = []string{"mcpServers"}
	codeServers     = []string{"servers"}
	zedServers      = []string{"context_servers"}
	codexServers    = []string{"mcp_servers"}
	openCodeServers = []string{"mcp"}
	nestedServers   = []string{"mcp", "servers"}
	ampServers      = []string{"amp.mcpServers"}
	agentServers    = []string{"agent_servers"} // agents of the Agent Client Protocol

	usualKeys = [][]string{mcpServers, codeServers, zedServers, codexServers, openCodeServers, nestedServers, ampServers, agentServers}
)

// Clients returns the clients that mcprec knows.
func Clients() []Client { return slices.Clone(clients) }

// To add one: add it here, and to the table of docs/wrap.md. A client whose files have a syntax of their
// own needs an editor as well: see formatOf.
var clients = []Client{
	{Name: "claude-desktop", Title: "Claude Desktop", Places: []Place{
		user(mcpServers, "config:/Claude/claude_desktop_config.json",
			"${LOCALAPPDATA:-}/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"), // from the Microsoft Store
	}},
	{Name: "claude-code", Title: "Claude Code", Places: []Place{
		user(mcpServers, "${CLAUDE_CONFIG_DIR:-~}/.claude.json"),
		{Scope: Local, Keys: []string{"projects", "*", "mcpServers"}, Files: []string{"${CLAUDE_CONFIG_DIR:-~}/.claude.json"}},
		project(mcpServers, "./.mcp.json"),
	}},
	{Name: "cursor", Title: "Cursor", Places: []Place{
		user(mcpServers, "~/.cursor/mcp.json"),
		project(mcpServers, "./.cursor/mcp.json"),
	}},
	{Name: "vscode", Title: "VS Code", Places: []Place{
		user(codeServers, "config:/Code/User/mcp.json", "config:/Code/User/profiles/*/mcp.json",
			"config:/Code - Insiders/User/mcp.json", "config:/Code - Insiders/User/profiles/*/mcp.json", "config:/VSCodium/User/mcp.json",
			"~/.vscode-server/data/User/mcp.json", "~/.vscode-server-insiders/data/User/mcp.json"),
		user(nestedServers, "config:/Code/User/settings.json", "config:/Code - Insiders/User/settings.json"), // until 1.102
		project(codeServers, "./.vscode/mcp.json"),
	}},
	{Name: "windsurf", Title: "Windsurf", Places: []Place{
		user(mcpServers, "~/.codeium/windsurf/mcp_config.json", "~/.codeium/windsurf-next/mcp_config.json", "~/.codeium/mcp_config.json"),
	}},
	{Name: "zed", Title: "Zed", Places: []Place{
		user(zedServers, zedFiles...),
		user(agentServers, zedFiles...),
		project(zedServers, "./.zed/settings.json"),
	}},
	{Name: "codex", Title: "Codex", Places: []Place{
		user(codexServers, "${CODEX_HOME:-~/.codex}/config.toml"),
		project(codexServers, "./.codex/config.toml"),
	}},
	{Name: "gemini-cli", Title: "Gemini CLI", Places: []Place{
		user(mcpServers, "${GEMINI_CLI_HOME:-~}/.gemini/settings.json"),
		project(mcpServers, "./.gemini/settings.json"),
	}},
	{Name: "antigravity", Title: "Antigravity", Places: []Place{
		user(mcpServers, "~/.gemini/antigravity/mcp_config.json"),
	}},
	{Name: "cline", Title: "Cline", Places: []Place{
		user(mcpServers, "config:/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
			"config:/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
			"${CLINE_DIR:-~/.cline}/data/settings/cline_mcp_settings.json"),
	}},
	{Name: "copilot-cli", Title: "Copilot CLI", Places: []Place{
		user(mcpServers, "${COPILOT_HOME:-~/.copilot}/mcp-config.json"),
	}},
	{Name: "opencode", Title: "opencode", Places: []Place{
		user(openCodeServers, openCodeFiles...),
		user(nestedServers, openCodeFiles...),
		project(openCodeServers, "./opencode.json", "./opencode.jsonc", "./.opencode/opencode.json", "./.opencode/opencode.jsonc"),
		project(nestedServers, "./opencode.json", "./opencode.jsonc", "./.opencode/opencode.json", "./.opencode/opencode.jsonc"),
	}},
	{Name: "kiro", Title: "Kiro", Places: []Place{
		user(mcpServers, "~/.kiro/settings/mcp.json"),
		project(mcpServers, "./.kiro/settings/mcp.json"),
	}},
	{Name: "lm-studio", Title: "LM Studio", Places: []Place{
		user(mcpServers, "~/.lmstudio/mcp.json"),
	}},
	{Name: "amp", Title: "Amp", Rules: "amp.mcpPermissions", Places: []Place{
		user(ampServers, "${XDG_CONFIG_HOME:-~/.config}/amp/settings.json", "${XDG_CONFIG_HOME:-~/.config}/amp/settings.jsonc"),
		project(ampServers, "./.amp/settings.json", "./.amp/settings.jsonc"),
	}},
	{Name: "trae", Title: "Trae", Places: []Place{
		user(mcpServers, "config:/Trae/User/mcp.json"),
	}},
	{Name: "kimi", Title: "Kimi CLI", Places: []Place{
		user(mcpServers, "~/.kimi/mcp.json"),
	}},
	{Name: "factory", Title: "Factory", Places: []Place{
		user(mcpServers, "~/.factory/mcp.json"),
		project(mcpServers, "./.factory/mcp.json"),
	}},
	{Name: "jetbrains", Title: "JetBrains IDEs", Places: []Place{
		user(agentServers, "~/.jetbrains/acp.json"),
	}},
	{Name: "junie", Title: "JetBrains Junie", Places: []Place{
		user(mcpServers, "~/.junie/mcp/mcp.json"),
		project(mcpServers, "./.junie/mcp/mcp.json"),
	}},
	{Name: "amazon-q", Title: "Amazon Q", Places: []Place{
		user(mcpServers, "~/.aws/amazonq/default.json", "~/.aws/amazonq/mcp.json"),
		project(mcpServers, "./.amazonq/default.json", "./.amazonq/mcp.json"),
	}},
	{Name: "vibe", Title: "Mistral Vibe", Places: []Place{
		user(codexServers, "${VIBE_HOME:-~/.vibe}/config.toml"),
		project(codexServers, "./.vibe/config.toml"),
	}},
	{Name: "goose", Title: "Goose", Places: []Place{
		user([]string{"extensions"}, "${XDG_CONFIG_HOME:-~/.config}/goose/config.yaml", "config:/Block/goose/config/config.yaml"),
	}},
	{Name: "continue", Title: "Continue", Places: []Place{
		user(mcpServers, "~/.continue/config.yaml"),
	}},
}

// openCodeFiles are the files that opencode reads.
var zedFiles = []string{"${XDG_CONFIG_HOME:-~/.config}/zed/settings.json", "config:/Zed/settings.json"}

var openCodeFiles = []string{
	"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json", "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc",
	"${XDG_CONFIG_HOME:-~/.config}/opencode/config.json", "${OPENCODE_CONFIG:-}",
}

func user(keys []string, files ...string) Place { return Place{Scope: User, Keys: keys, Files: files} }

func project(keys []string, files ...string) Place {
	return Place{Scope: Project, Keys: keys, Files: files}
}
