package mcp

// The revisions of the specification. A later one is the greater string.
const (
	Revision2024_11_05 = "2024-11-05"
	Revision2025_03_26 = "2025-03-26"
	Revision2025_06_18 = "2025-06-18"
	Revision2025_11_25 = "2025-11-25"
	Revision2026_07_28 = "2026-07-28"
)

// Revisions lists the revisions, the oldest first. To add one: name it above and here; look through
// the ranges below for what it has and what it has lost; give replay/schema its schema; say in
// replay/order's page.at where its pages stand.
var Revisions = []string{Revision2024_11_05, Revision2025_03_26, Revision2025_06_18, Revision2025_11_25, Revision2026_07_28}

// Oldest and Newest are the ends of [Revisions].
const (
	Oldest = Revision2024_11_05
	Newest = Revision2026_07_28
)

// Range is the revisions that have something, from the first to the last, both included.
type Range struct{ First, Last string }

// What only some revisions have.
var (
	Always             = Range{Oldest, Newest}
	Handshake          = Range{Oldest, Revision2025_11_25}             // initialize, and sessions over HTTP
	Stateless          = Range{Revision2026_07_28, Newest}             // each request says its revision; an HTTP abort is a cancellation
	HTTP               = Range{Revision2025_03_26, Newest}             // Streamable HTTP
	Resumption         = Range{Revision2025_03_26, Revision2025_11_25} // of streams, by Last-Event-ID
	Sessions           = Range{Revision2025_03_26, Revision2025_11_25} // over HTTP, by Mcp-Session-Id
	VersionHeader      = Range{Revision2025_06_18, Revision2025_11_25} // MCP-Protocol-Version, behind the handshake
	NoBatches          = Range{Revision2025_06_18, Newest}             // the specification rules batches out
	Tasks              = Range{Revision2025_11_25, Revision2025_11_25} // in the core
	TaskExtension      = Range{Revision2026_07_28, Newest}             // tasks are an extension, and the server says which calls become one
	BatchesUnspecified = Range{Oldest, Oldest}                         // the specification does not mention batches
)

// Has reports whether a revision is in the range. A revision later than every known one has what
// the newest has. The unknown revision, "", has nothing.
func (r Range) Has(revision string) bool {
	return revision >= r.First && (r.Last == Newest || revision <= r.Last)
}
