package closed

import "testing"

// For the tests that explore, which this package must not import.
var (
	RandomSetup = randomSetup
	Stands      = Model.stands
)

// AgreesWithClosed, AgreesLive and DebtIsLeast are for tests that read files.
func AgreesWithClosed(t *testing.T, r *Recording, client, server Model, name string) bool {
	t.Helper()
	return agreesWithClosed(t, r, client, server, name)
}

func AgreesLive(t *testing.T, r *Recording, s Setup, name string) string {
	t.Helper()
	return agreesLive(t, r, s, transportPipe, name)
}

func DebtIsLeast(t *testing.T, r *Recording, name string) {
	t.Helper()
	debtIsLeast(t, r, name)
}
