package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
)

// TestSecondClient is https://github.com/supercorp-ai/supergateway/issues/112: the gateway from stdio to
// HTTP+SSE connects one server to every stream, and the second stream ends the process.
func TestSecondClient(t *testing.T) {
	dir := installed(t)
	row := zoo.Row{
		Bug: "supergateway 112 second client", Module: release(t, dir, "supergateway"),
		Verdict: explore.Pass, Wanted: explore.Pass,
	}
	if manifest == "package.json" {
		row.Wanted = explore.CheckFailed
	}
	if err := connectTwice(t, dir); err != nil {
		t.Log(err)
		row.Verdict = explore.CheckFailed
	}
	defer func() { row.Failed = t.Failed(); row.Add(t) }()
	if row.Verdict != row.Wanted {
		t.Errorf("%s: %s, want %s", row.Module, row.Verdict, row.Wanted)
	}
}

// connectTwice opens two streams of a gateway and returns an error if one of them has no first event.
func connectTwice(t *testing.T, dir string) error {
	gateway := exec.Command("node", "--import", "./loopback.mjs", "node_modules/supergateway/dist/index.js",
		"--stdio", "node silent.mjs", "--port", "1")
	gateway.Dir = dir
	output, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gateway.Process.Kill(); _ = gateway.Wait() })
	port := ""
	lines := bufio.NewScanner(output)
	for port == "" && lines.Scan() {
		port, _ = strings.CutPrefix(lines.Text(), "port ")
		if port == lines.Text() {
			port = ""
		}
	}
	if port == "" {
		t.Fatalf("the gateway does not listen: %v", lines.Err())
	}
	drained := make(chan struct{})
	go func() { // a full pipe would stop the gateway
		defer close(drained)
		_, _ = io.Copy(io.Discard, output)
	}()
	t.Cleanup(func() { _ = gateway.Process.Kill(); <-drained }) // before the Wait, which closes the pipe
	for _, client := range []string{"first", "second"} {
		response, err := http.Get("http://127.0.0.1:" + port + "/sse")
		if err != nil {
			return fmt.Errorf("the stream of the %s client: %w", client, err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		line, err := bufio.NewReader(response.Body).ReadString('\n')
		if err == nil && line != "event: endpoint\n" {
			err = errors.New(line)
		}
		if err != nil {
			return fmt.Errorf("the first event of the %s client: %w", client, err)
		}
	}
	return nil
}
