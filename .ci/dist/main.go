// Command dist writes what goreleaser packs beside the programs (.goreleaser.yaml has the rest of a
// release):
//
//	THIRD-PARTY.txt        the licences of everything that the programs are made of
//	completions/           of mcprec, for four shells
//	npm/SYSTEM_ARCH/       package.json and README.md of the npm package of a platform
//	npm/launcher/          those of the npm package mcprec, which starts the program of the platform
//
// # What it promises
//
// The same commit gives the same bytes, on any machine. A module without a licence fails it.
//
// # What it refuses
//
// It builds nothing and packs nothing: no archive, no package, no checksum.
//
// # Source files
//
//	main.go                 the command line, and completions
//	npm.go                  what npm needs; launcher.js is in the package mcprec as it is
//	notices.go              licences
//	Dockerfile              the recipe of the image, which is a file of the release as it is
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// systems are the systems that a release has programs for, each on every one of architectures.
var (
	systems       = []string{"darwin", "linux", "windows"}
	architectures = []string{"amd64", "arm64"}
)

func main() {
	from := flag.String("from", "../..", "write the texts of the repository in `DIR`")
	version := flag.String("version", "", "the `VERSION` of the release, without v")
	out := flag.String("o", "", "write to `DIR`")
	flag.Parse()
	if err := writeTexts(*from, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// writeTexts writes the texts that go with the programs of a repository to a folder.
func writeTexts(from, version, out string) error {
	if version == "" || out == "" {
		return fmt.Errorf("give -version and -o")
	}
	files, err := npmFiles(version)
	if err != nil {
		return err
	}
	if files["THIRD-PARTY.txt"], err = notices(from); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "mcprec.bash", "zsh": "_mcprec", "fish": "mcprec.fish", "powershell": "mcprec.ps1"} {
		if files["completions/"+name], err = output(from, nil, "go", "run", "./cmd/mcprec", "completion", shell); err != nil {
			return err
		}
	}
	for name, contents := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command in a folder and returns what it prints. The error has what it says on
// stderr.
func output(folder string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	cmd.Env = append(cmd.Env, env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return out, nil
}
