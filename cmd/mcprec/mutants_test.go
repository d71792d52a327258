package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"err := p.file.Sync()", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"the error of an fsync is not looked at", "store/boltstore/spool.go",
		"err := p.file.Sync()\n", "_, err := p.file.Sync(), error(nil)\n",
		"store/boltstore", "TestFailedSync"},
	{"an fsync that succeeds after one that failed is believed", "store/boltstore/spool.go",
		"if k.failed != nil || err == nil {", "if k.failed != nil && err != nil {",
		"store/boltstore", "TestFailedSync"},
	{"fdatasync does nothing", "store/boltstore/datasync_linux.go",
		"err := syscall.Fdatasync(int(file.Fd()))", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"no fsync of the folder", "store/boltstore/spool.go",
		"err := p.store.disk.syncDir(p.store.spoolDir())", "err := error(nil)",
		"store/boltstore", "TestPowerCut"},
	{"bbolt without its fsyncs", "store/boltstore/databases.go",
		"o := bolt.Options{FreelistType: bolt.FreelistMapType}", "o := bolt.Options{FreelistType: bolt.FreelistMapType, NoSync: true}",
		"store/boltstore", "TestPowerCut"},
	{"the spool goes before the transaction is durable", "store/boltstore/fold.go",
		"	err = s.update(ctx, path, func(tx *dbTx) error {\n", "	if step.whole {\n		_ = s.disk.remove(s.spoolPath(id))\n	}\n	err = s.update(ctx, path, func(tx *dbTx) error {\n",
		"store/boltstore", "TestPowerCut|TestEachCallFails"},
	{"a repeated fold trusts a transaction that is not durable", "store/boltstore/fold.go",
		"return foldResult{whole: true}, s.update(ctx, path, func(*dbTx) error { return nil })", "return foldResult{whole: true}, nil",
		"store/boltstore", "TestFailedCommit"},
	{"stamp after forward", "recorder/tap.go",
		"			if !p.record(overdue) {\n				return\n			}\n",
		"			_, _ = p.dst.Write(p.chunk)\n			if !p.record(overdue) {\n				return\n			}\n			p.chunk = nil\n",
		"cmd/mcprec", "TestPingPong|TestKilledRecorder"},
	{"a write that is overdue is waited for", "recorder/outage/handover.go",
		"		case h.end(now):\n", "		case false:\n",
		"recorder", "TestStuckWrite"},
	{"a line is in order where it began", "store/assemble_line.go",
		"		a.early(pipeS2C - n)\n", "",
		"recorder", "TestFrameStandsWhereItsEndWasSeen"},
	{"what waits for the disk is forgotten", "recorder/outage/queue.go",
		"		n, parts = q.next(parts[:0])\n", "		n, parts = q.next(parts[:0])\n		parts = nil\n",
		"recorder", "TestStuckWrite|TestSlowDisk"},
	{"what a failed write leaves is not cut off", "store/boltstore/spool.go",
		"		_ = p.cut() // tried again by the next Write\n", "",
		"store/boltstore", "TestEachCallFails"},
	{"checksums of records are not looked at", "store/boltstore/spoolread.go",
		"return crc32.Checksum(data[recordHead:], castagnoli) == binary.LittleEndian.Uint32(data[4:])", "return true",
		"store/boltstore", "TestDamagedSpools|TestTornTail"},
	{"checksums of chunks are not looked at", "store/chunk/chunk.go",
		"case checksum(session, first, data) != binary.LittleEndian.Uint32(data):", "case false:",
		"store/chunk", "TestDamage"},
	{"damage is taken for a torn tail", "store/boltstore/spoolread.go",
		"if err != nil || frames == 0 {", "if frames >= 0 {",
		"store/boltstore", "TestDamagedSpools"},
	{"a database that lost a transaction is written to", "store/boltstore/dbtx.go",
		"tx.stale && tx.writing {", "tx.stale && false {",
		"store/boltstore", "TestStale"},
	{"repair keeps a session only if it has more events than the spool", "store/boltstore/repair.go",
		"if sum.Saved <= before || s.dry {", "if !(sum.Saved <= before || s.dry) {",
		"store/boltstore", "TestRepairSpools"},
	{"repair replaces a session that lacks nothing", "store/boltstore/repair.go",
		"if sum.Saved <= before || s.dry {", "if s.dry {",
		"store/boltstore", "TestRepairSpools"},
	{"repair changes a session in a dry run", "store/boltstore/repair.go",
		"if sum.Saved <= before || s.dry {", "if sum.Saved <= before {",
		"store/boltstore", "TestRepairSpools"},
	{"repair leaves out the events that a session has", "store/boltstore/repair.go",
		"e.Kind == store.Lost && strings.HasPrefix(info.Reason, spoolDamaged) {", "!(e.Kind == store.Lost && strings.HasPrefix(info.Reason, spoolDamaged)) {",
		"store/boltstore", "TestRepairSpools"},
	{"repair replaces a session that it cannot read", "store/boltstore/repair.go",
		"if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotFound) {", "if false {",
		"store/boltstore", "TestRepairKeepsNewer"},
	{"a session that a search has missed is not found", "store/boltstore/dbtx.go",
		"return damagedError(tx.path, fmt.Sprintf(\"the place of session %s\", sessionID([16]byte(k))))", "return nil",
		"store/boltstore", "TestDatabaseFaults"},
	{"keys out of order are not seen", "store/boltstore/dbtx.go",
		"if n++; len(k) != 16 || n > 1 && bytes.Compare(before[:], k) >= 0 {", "if n++; len(k) != 16 || n > 1 && bytes.Compare(before[:], k) > 1 {",
		"store/boltstore", "TestDatabaseFaults"},
	{"the keys of the sessions are not compared", "store/boltstore/dbtx.go",
		"if n != want || keys != wantKeys {", "if n != want || keys != wantKeys && false {",
		"store/boltstore", "TestDatabaseFaults"},
	{"an initialize that was refused is taken for answered", "recorder/httptap/sessions.go",
		"if accepted && exchange.request.method == http.MethodPost && !exchange.request.other && !exchange.request.probes {",
		"if exchange.request.method == http.MethodPost && !exchange.request.other && !exchange.request.probes {",
		"recorder/httptap", "TestRecordingOfExchange"},
	{"a DELETE that was refused ends the session", "recorder/httptap/sessions.go",
		"if accepted && exchange.request.method == http.MethodDelete && exchange.request.session != \"\" {",
		"if exchange.request.method == http.MethodDelete && exchange.request.session != \"\" {",
		"recorder/httptap", "TestRecordingOfExchange"},
	{"input that was supplied is told as missing", "replay/why/fold.go",
		"		f.inputs = slices.Delete(f.inputs, i, i+1)\n", "",
		"replay/why", "TestSessions"},
	{"a call that is made again supplies the input that was asked for", "replay/why/fold.go",
		"if state == \"\" && transport.Member(m.Params, mcp.MemberInputResponses) == nil {", "if false {",
		"replay/why", "TestSessions"},
	{"input with another state supplies what was asked for", "replay/why/fold.go",
		"return in.state == state && in.call.Method == m.Method", "return in.call.Method == m.Method",
		"replay/why", "TestSessions"},
	{"arguments in front of the command are not unwrapped", "cmd/mcprec/internal/clientconfig/edit.go",
		"	if at > 0 {\n		cut.from = s.entry", "	if at >= 0 {\n		cut.from = s.entry",
		"cmd/mcprec/internal/clientconfig", "TestReformatted"},
	{"a notification is never repeated", "replay/external/choices.go",
		"		if f.isNotice {\n", "		if false {\n",
		"replay/external", "TestChoices"},
	{"a call that its client left after long is a note", "replay/why/open.go",
		"		isStuck = silent >= j.after\n", "		isStuck = false\n",
		"replay/check", "TestLeftBehind"},
	{"a call that its client left at once is an error", "replay/why/open.go",
		"		isStuck = silent >= j.after\n", "		isStuck = true\n",
		"replay/check", "TestLeftBehind"},
	{"a client under probe that cannot be started has asked for nothing", "replay/probe/client.go",
		"		t.await(func() bool { return t.stand.Over })\n	})\n	if err != nil {\n		return err\n", "		t.await(func() bool { return t.stand.Over })\n	})\n	if err != nil {\n		return nil\n",
		"replay/probe", "TestBenchFails"},
	{"the limit of a client is that of its first kind of notification", "replay/probe/client.go",
		"o.Standing != No || stops-1 < o.Stands", "o.Standing != No",
		"replay/probe", "TestLeastLimit"},
}

// TestMutantsApply holds the mutants to the code as it is; make night builds them.
func TestMutantsApply(t *testing.T) {
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("../..", m.file))
		if n := strings.Count(string(source), m.was); n != 1 {
			t.Errorf("%s: %s has %q %d times, %v", m.name, m.file, m.was, n, err)
		}
	}
}
