package view

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// launcher is the file that leads a browser to an address.
const launcher = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">` +
	`<title>mcprec</title><meta http-equiv="refresh" content="0; url=%[1]s"></head><body><p><a href="%[1]s">mcprec view</a></p></body></html>`

// Browse opens an address in the browser of the desktop. The address has the key, and every user of a
// machine can read the arguments of its processes: the browser is given a file that leads there, in a
// folder that only this user enters. end removes the folder. failed is called if no browser opens, as where
// xdg-open finds none.
func Browse(ctx context.Context, address string, failed func(error)) (end func() error, err error) {
	folder, err := os.MkdirTemp(launcherPlace(), "mcprec-view-")
	if err != nil {
		return nil, err
	}
	end = func() error { return os.RemoveAll(folder) }
	file := filepath.Join(folder, "mcprec.html")
	err = os.WriteFile(file, fmt.Appendf(nil, launcher, html.EscapeString(address)), 0o600)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	command := Opener()
	opener := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	if err := opener.Start(); err != nil {
		return nil, errors.Join(err, end())
	}
	go func() { // it ends when the browser has the file, or with view
		if err := opener.Wait(); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("%s: %w", command[0], err))
		}
	}()
	return end, nil
}

// Opener returns the command that opens a file in the browser of the desktop.
func Opener() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// launcherPlace returns where the launcher's folder goes, as [os.MkdirTemp] takes it. A browser that is a
// snap sees neither the usual folder for temporary files nor a hidden one.
func launcherPlace() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if info, err := os.Stat(filepath.Join(home, "snap")); err != nil || !info.IsDir() {
		return ""
	}
	return home
}
