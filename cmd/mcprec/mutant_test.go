//go:build torture

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/storetest"
)

// mutants are builds that are broken on purpose. Each has a test that must fail
// for it: a suite that passes whatever the code does says nothing.
var mutants = []struct {
	name     string
	file     string
	was, is  string
	pkg, run string
}{
	{"no fsync of the spool", "store/boltstore/spool.go",
		"err := p.f.Sync()", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"the error of an fsync is not looked at", "store/boltstore/spool.go",
		"err := p.f.Sync()\n", "_, err := p.f.Sync(), error(nil)\n",
		"store/boltstore", "TestFailedSync"},
	{"an fsync that succeeds after one that failed is believed", "store/boltstore/spool.go",
		"if k.failed != nil || err == nil {", "if k.failed != nil && err != nil {",
		"store/boltstore", "TestFailedSync"},
	{"fdatasync does nothing", "store/boltstore/datasync_linux.go",
		"err := syscall.Fdatasync(int(f.Fd()))", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"no fsync of the folder", "store/boltstore/spool.go",
		"err := p.s.machine.syncDir(p.s.spoolDir())", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"bbolt without its fsyncs", "store/boltstore/month.go",
		"o := bolt.Options{FreelistType: bolt.FreelistMapType}", "o := bolt.Options{FreelistType: bolt.FreelistMapType, NoSync: true}",
		"store/boltstore", "TestPowerCut"},
	{"the spool goes before the transaction is durable", "store/boltstore/fold.go",
		"	err = s.update(ctx, path, func(m *month) error {\n", "	if step.whole {\n		_ = s.machine.remove(s.spoolPath(id))\n	}\n	err = s.update(ctx, path, func(m *month) error {\n",
		"store/boltstore", "TestPowerCut|TestEachCallFails"},
	{"a repeated fold trusts a transaction that is not durable", "store/boltstore/fold.go",
		"return folded{whole: true}, s.update(ctx, path, func(*month) error { return nil })", "return folded{whole: true}, nil",
		"store/boltstore", "TestFailedCommit"},
	{"stamp after forward", "recorder/pump.go",
		"	return p.record()\n", "	_, _ = p.dst.Write(p.chunk)\n	on := p.record()\n	p.chunk = nil\n	return on\n",
		"cmd/mcprec", "TestPingPong|TestKilledRecorder"},
	{"a write that is overdue is waited for", "recorder/handover.go",
		"		case h.end(now):\n", "		case false:\n",
		"recorder", "TestStuckWrite|TestStuckForEver|TestHandover"},
	{"a line is in order where it began", "store/line.go",
		"		a.early(pipeS2C - n)\n", "",
		"recorder", "TestFrameStandsWhereItsEndWasSeen"},
	{"what waits for the disk is forgotten", "recorder/drain.go",
		"		n, parts = b.next(parts[:0])\n", "		n, parts = b.next(parts[:0])\n		parts = nil\n",
		"recorder", "TestStuckWrite|TestSlowDisk"},
	{"what a failed write leaves is not cut off", "store/boltstore/spool.go",
		"		_ = p.cut() // tried again by the next Write\n", "",
		"store/boltstore", "TestEachCallFails"},
	{"checksums of records are not looked at", "store/boltstore/spoolread.go",
		"return crc32.Checksum(b[recordHead:], castagnoli) == binary.LittleEndian.Uint32(b[4:])", "return true",
		"store/boltstore", "TestDamagedSpools|TestTornTail"},
	{"checksums of chunks are not looked at", "store/boltstore/chunk.go",
		"case chunkSum(c.key, b) != binary.LittleEndian.Uint32(b):", "case false:",
		"store/boltstore", "TestBitFlips"},
	{"damage is taken for a torn tail", "store/boltstore/spoolread.go",
		"if err != nil || frames == 0 {", "if frames >= 0 {",
		"store/boltstore", "TestDamagedSpools"},
	{"a database that lost a transaction is written to", "store/boltstore/month.go",
		"m.stale && m.writing {", "m.stale && false {",
		"store/boltstore", "TestStale"},
}

// TestMutants builds each mutant and runs its tests, which must fail.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		path := filepath.Join(root, m.file)
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(source), m.was) != 1 {
			t.Errorf("%s: %s has not one %q", m.name, m.file, m.was)
			continue
		}
		mutated := filepath.Join(t.TempDir(), "mutated.go")
		overlay := filepath.Join(t.TempDir(), "overlay.json")
		text, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
		broken := strings.Replace(string(source), m.was, m.is, 1)
		if os.WriteFile(mutated, []byte(broken), 0o600) != nil || os.WriteFile(overlay, text, 0o600) != nil {
			t.Fatal("write the mutant")
		}
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "120s", "-overlay", overlay, "-run", "^("+m.run+")$", "./"+m.pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "MCPREC_TORTURE="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: ") && !strings.Contains(string(out), "panic: ") {
			t.Errorf("%s: not found by %s: %v\n%s", m.name, m.run, err, out)
			continue
		}
		storetest.Tell(t, "broken build: "+m.name, 1, "found by "+strings.ReplaceAll(m.run, "|", ", "))
	}
}
