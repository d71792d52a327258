package why

import "testing"

// TestStderrKept: of a talkative process the latest lines are kept, in their order.
func TestStderrKept(t *testing.T) {
	var lines stderrLines
	for seq := uint64(1); seq <= 3*keptStderr+7; seq++ {
		lines.add(moment{seq: seq}, make([]byte, 2*keptStderrLine))
	}
	kept := lines.between(2*keptStderr+7, 0)
	if len(kept) != keptStderr || kept[0].seq != 2*keptStderr+8 || kept[keptStderr-1].seq != 3*keptStderr+7 || len(kept[0].text) != keptStderrLine {
		t.Errorf("%d lines, from #%d", len(kept), kept[0].seq)
	}
	if before := lines.between(0, 2*keptStderr+9); len(before) != 1 {
		t.Errorf("%d lines before an event, want 1", len(before))
	}
}
