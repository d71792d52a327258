package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// launcher is the program of the npm package mcprec: it starts that of the platform.
//
//go:embed launcher.js
var launcher []byte

// npmPlatform returns how Node names a system and an architecture, as in process.platform
// and process.arch.
func npmPlatform(system, arch string) (string, string) {
	if system == "windows" {
		system = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return system, arch
}

// npmPackage is the part of a package.json that ours have.
type npmPackage struct {
	Name            string            `json:"name"`
	Version         string            `json:"version"`
	Description     string            `json:"description"`
	Licence         string            `json:"license"`
	Homepage        string            `json:"homepage"`
	Repository      map[string]string `json:"repository"`
	Program         map[string]string `json:"bin,omitempty"`
	Systems         []string          `json:"os,omitempty"`
	Architectures   []string          `json:"cpu,omitempty"`
	Unplugged       bool              `json:"preferUnplugged,omitempty"` // else Yarn keeps it in a zip, which cannot be run
	Optional        map[string]string `json:"optionalDependencies,omitempty"`
	Engines         map[string]string `json:"engines,omitempty"`
	PublishedAccess map[string]string `json:"publishConfig,omitempty"`
	MCPName         string            `json:"mcpName,omitempty"` // the name in docs/agents/server.json, which registries compare
}

func newNpmPackage(name, version, description string) npmPackage {
	const home = "https://github.com/mcprec/mcprec"
	return npmPackage{
		Name: name, Version: version, Description: description, Licence: "MIT", Homepage: home,
		Repository:      map[string]string{"type": "git", "url": "git+" + home + ".git"},
		PublishedAccess: map[string]string{"access": "public"}, // a package with a scope is private otherwise
	}
}

// pack returns the package in npm's form. Every file is below package/.
func (p npmPackage) pack(files []file, when time.Time) (file, error) {
	about, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return file{}, err
	}
	files = append([]file{{"package.json", text, append(about, '\n')}}, files...)
	packed, err := tarball(below("package", files), when, false)
	name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-")
	return file{fmt.Sprintf("npm/%s-%s.tgz", name, p.Version), text, packed}, err
}

// npmPackages returns a package for each program, and the launcher that depends on them all:
// npm installs the one that fits. Neither has a script that runs at the installation.
func npmPackages(r release) (packages []file, err error) {
	platforms := map[string]string{}
	for _, b := range r.programs {
		system, arch := npmPlatform(b.System, b.Arch)
		p := newNpmPackage("@mcprec/"+system+"-"+arch, r.version, fmt.Sprintf("mcprec for %s on %s", system, arch))
		p.Systems, p.Architectures, p.Unplugged = []string{system}, []string{arch}, true
		readme := fmt.Appendf(nil, "# %s\n\nThe program of mcprec for %s on %s. Install the package mcprec instead: it starts this one.\n", p.Name, system, arch)
		packed, err := p.pack([]file{
			{"bin/" + b.fileName(), program, b.Contents},
			{"README.md", text, readme}, r.licence, r.notices,
		}, r.when)
		if err != nil {
			return nil, err
		}
		packages = append(packages, packed)
		platforms[p.Name] = r.version
	}
	p := newNpmPackage("mcprec", r.version, "Record MCP sessions byte for byte, replay them, see the hang")
	p.Program = map[string]string{"mcprec": "launcher.js"}
	p.Optional, p.Engines = platforms, map[string]string{"node": ">=16"}
	p.MCPName = "io.github.mcprec/mcprec"
	readme := fmt.Appendf(nil, `# mcprec

Record MCP sessions byte for byte in true order, replay them, and see who waits for whom when
one hangs.

    npx mcprec demo

mcprec is one program without dependencies, for %s. This package starts it,
passes signals on, and ends with its status. In the configuration of a client name the
program itself rather than npx: see the [installation](https://github.com/mcprec/mcprec/blob/main/docs/install.md).
`, strings.Join(slices.Sorted(maps.Keys(platforms)), ", "))
	packed, err := p.pack([]file{{"launcher.js", program, launcher}, {"README.md", text, readme}, r.licence}, r.when)
	return append(packages, packed), err
}
