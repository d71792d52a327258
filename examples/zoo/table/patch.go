package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcprec/mcprec/examples/zoo"
)

// patched makes the release without the bugs where no published one is: a copy of the
// SDK's module with the patches that the file fixed.txt of dir names, and a go.mod that
// takes it. It returns the path of that go.mod.
//
// Both are in the folder mcprec-zoo of the user's cache, so that the go command knows
// them the next time, and no tool takes them for the project's.
func patched(dir string) (modfile string, err error) {
	sdk, patches, err := readFixes(filepath.Join(dir, "fixed.txt"))
	if err != nil {
		return "", err
	}
	top, err := os.Getwd()
	if err != nil {
		return "", err
	}
	place, err := output(dir, "go", "list", "-m", "-f", "{{.Dir}}", sdk)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "mcprec-zoo")
	fixed := filepath.Join(cache, filepath.Base(place)+zoo.Patched)
	if err := copyModule(fixed, place); err != nil {
		return "", err
	}
	for _, patch := range patches {
		if _, err := output(fixed, "git", "apply", filepath.Join(top, patch)); err != nil {
			return "", err
		}
	}
	modfile = filepath.Join(cache, filepath.Base(dir)+".mod")
	for from, to := range map[string]string{"go.mod": modfile, "go.sum": strings.TrimSuffix(modfile, ".mod") + ".sum"} {
		text, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return "", err
		}
	}
	_, err = output(dir, "go", "mod", "edit", "-replace="+sdk+"="+fixed, modfile)
	return modfile, err
}

// readFixes reads a fixed.txt: the path of an SDK's module, and the patches, one a line,
// by their paths from the top of the repository.
func readFixes(path string) (sdk string, patches []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "" || strings.HasPrefix(line, "#"):
		case sdk == "":
			sdk = line
		default:
			patches = append(patches, line)
		}
	}
	if len(patches) == 0 {
		return "", nil, fmt.Errorf("read %s: want the path of a module, and then patches", path)
	}
	return sdk, patches, nil
}

// copyModule replaces the folder to by a copy of from that can be written to.
func copyModule(to, from string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if entry.IsDir() {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}

// output runs a command in dir and returns the line that it prints. The environment
// keeps git from looking for the repository around dir.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	said, err := cmd.Output()
	if failed, ok := err.(*exec.ExitError); ok {
		return "", fmt.Errorf("%s %s in %s: %w: %s", name, args[0], dir, err, bytes.TrimSpace(failed.Stderr))
	} else if err != nil {
		return "", fmt.Errorf("%s in %s: %w", name, dir, err)
	}
	return strings.TrimSpace(string(said)), nil
}
