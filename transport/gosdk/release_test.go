package gosdk_test

import (
	"reflect"
	"regexp"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// spoken are the revisions that a client of each release can be made to speak. The
// tests run with what go.mod asks for and with what examples/gosdk does; for another
// release replace the SDK in go.mod. v1.7.0 is not one of them: its client speaks
// 2026-07-28 alone, and most of these tests want a handshake.
var spoken = map[string][]string{
	"v1.1.0": {"2025-06-18"},
	"v1.2.0": {"2025-06-18"},
	"v1.3.1": {"2025-06-18"},
	"v1.4.1": {"2025-06-18"},
	"v1.5.0": {"2025-11-25"},
	"v1.6.1": {"2025-11-25"},
	"v1.8.0": {"2025-11-25", "2026-07-28"},
}

// The release under test, its revisions, the last of them with a handshake, and the
// newest.
var (
	release   = sdkRelease()
	revisions = append(spoken[release], "")[:max(1, len(spoken[release]))]
	handshake = revisions[0]
	newest    = revisions[len(revisions)-1]
)

// sdkRelease tells the release by where its source is.
func sdkRelease() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(mcp.NewClient).Pointer()).FileLine(0)
	if found := regexp.MustCompile(`go-sdk@(v[^/]+)/`).FindStringSubmatch(file); found != nil {
		return found[1]
	}
	return "unknown"
}

// speaking asks for a revision where the release lets its client say; the others
// have one only.
func speaking(revision string) *mcp.ClientSessionOptions {
	o := &mcp.ClientSessionOptions{}
	if field := reflect.ValueOf(o).Elem().FieldByName("ProtocolVersion"); field.IsValid() {
		field.SetString(revision)
	}
	return o
}

// TestRelease: it is known what the release under test speaks. TestSession holds it
// to that.
func TestRelease(t *testing.T) {
	if spoken[release] == nil {
		t.Errorf("nothing is said of the SDK's %s; add a line to spoken", release)
	}
}
