package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// launcherName has the scope that is ours: the name mcprec alone is another project's to publish.
const launcherName = "@mcprec/mcprec"

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

// npmPackage holds the members of package.json that our packages use. None of our packages runs a script
// when it is installed.
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

// npmFiles returns the package.json and the README.md of a package for each program, and those of the
// launcher, which depends on them all: npm installs the one that fits.
func npmFiles(version string) (map[string][]byte, error) {
	files := map[string][]byte{}
	add := func(folder string, p npmPackage, readme string) error {
		about, err := json.MarshalIndent(p, "", "  ")
		files["npm/"+folder+"/package.json"], files["npm/"+folder+"/README.md"] = append(about, '\n'), []byte(readme)
		return err
	}
	platforms := map[string]string{}
	for _, goos := range systems {
		for _, goarch := range architectures {
			system, arch := npmPlatform(goos, goarch)
			p := newNpmPackage("@mcprec/"+system+"-"+arch, version, fmt.Sprintf("mcprec for %s on %s", system, arch))
			p.Systems, p.Architectures, p.Unplugged = []string{system}, []string{arch}, true
			readme := fmt.Sprintf("# %s\n\nThe program of mcprec for %s on %s. Install the package %s instead: it starts this one.\n", p.Name, system, arch, launcherName)
			if err := add(goos+"_"+goarch, p, readme); err != nil {
				return nil, err
			}
			platforms[p.Name] = version
		}
	}
	p := newNpmPackage(launcherName, version, "Record MCP sessions byte for byte, replay them, see the hang")
	p.Program = map[string]string{"mcprec": "launcher.js"}
	p.Optional, p.Engines = platforms, map[string]string{"node": ">=16"}
	p.MCPName = "io.github.mcprec/mcprec"
	return files, add("launcher", p, fmt.Sprintf(`# %[1]s

Record MCP sessions byte for byte in true order, replay them, and see who waits for whom when
one hangs.

    npx %[1]s demo

mcprec is one program without dependencies, for %[2]s. This package starts it,
passes signals on, and ends with its status. In the configuration of a client name the
program itself rather than npx: see the [installation](https://github.com/mcprec/mcprec/blob/main/docs/install.md).
`, launcherName, strings.Join(slices.Sorted(maps.Keys(platforms)), ", ")))
}
