package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// root is the top of the repository.
const root = "../../../../.."

// deadline is how long a test waits for a condition. A busy machine needs seconds.
const deadline = 30 * time.Second

// mcprec is the path of the command under test.
var mcprec string

// browserContext is the context of the browser that all tests share. absence says why there is
// none.
var (
	browserContext context.Context
	absence        string
)

// names are those under which a browser may be installed.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

func TestMain(m *testing.M) {
	if address := os.Getenv(peerSocket); address != "" {
		if err := actAsPeer(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "mcprec-browser-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	mcprec = filepath.Join(dir, "mcprec")
	build := exec.Command("go", "build", "-o", mcprec, "./cmd/mcprec")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build mcprec: %w\n%s", err, output)
	}
	path := findBrowser()
	if path == "" {
		absence = "no browser is installed; on Debian: apt-get install chromium"
		if os.Getenv("MCPREC_BROWSER") != "" {
			return 0, fmt.Errorf("MCPREC_BROWSER=%s: %s", os.Getenv("MCPREC_BROWSER"), absence)
		}
		return m.Run(), nil
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1360, 860))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium refuses to run as root with it
	} else {
		options = append(options, chromedp.Flag("no-sandbox", false))
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var stop context.CancelFunc
	browserContext, stop = chromedp.NewContext(allocator)
	defer stop()
	if err := chromedp.Do(browserContext); err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	code = m.Run()
	if err := chromedp.Cancel(browserContext); err != nil {
		return code, fmt.Errorf("end %s: %w", path, err)
	}
	return code, nil
}

// findBrowser returns the path of a browser, or nothing.
func findBrowser() string {
	candidates := names
	if named := os.Getenv("MCPREC_BROWSER"); strings.ContainsRune(named, filepath.Separator) {
		candidates = []string{named}
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// needBrowser skips a test where there is no browser.
func needBrowser(t testing.TB) {
	t.Helper()
	if absence != "" {
		t.Skip(absence)
	}
}
