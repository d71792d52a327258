package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Who interrupts explore learns what it has found so far, and the shell says 130.
func TestExploreInterrupted(t *testing.T) {
	cmd := exec.Command("mcprec", "explore", "--level", "L1", "-n", "100000000", "../../fixtures/seed.jsonl")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const begun = 50 // hundredths of a second of processor time: nothing but the search takes so much
	for used := 0; used < begun; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		if used, err = strconv.Atoi(strings.Fields(fields)[11]); err != nil || strings.HasPrefix(fields, "Z") {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", err)
	}
	if want := regexp.MustCompile(`^PASS level L1, [1-9][0-9]* of 100000000 schedules \(then it was interrupted\)`); !want.Match(out.Bytes()) {
		t.Errorf("it said %s%s", &out, &problems)
	}
}
