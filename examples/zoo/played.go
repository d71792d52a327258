package zoo

import (
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// Golden loads a session of package fixtures by its name without the extension. A
// test need not use all of it: the frames of a run that failed end where it did.
func Golden(t *testing.T, session string) *fixtures.Fixture {
	t.Helper()
	return fixtures.Load(t, goldenPath(session)).AllowUnused()
}

// Played is the plan of a case in which one half of a golden session plays to the live
// SDK: nobody but the session says what the far end says. By custom such a case has
// "session" in its name.
func Played(t *testing.T, session string, as fixtures.Role, live func(testing.TB, transport.Conn)) explore.Plan {
	t.Helper()
	return Golden(t, session).Plan(t, as, live)
}

// goldenPath is relative to the folder of a case's module.
func goldenPath(session string) string {
	return filepath.Join("..", "..", "..", "fixtures", session+".jsonl")
}
