package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encoding/json"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// TestGateSARIF: a log of ci fits the schema of SARIF 2.1.0, and each result of it points at a line
// of a file below the root of the repository, without which code scanning drops it.
func TestGateSARIF(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.sarif")
	std := cli.Streams{In: os.Stdin, Out: devNull(t), Err: devNull(t)}
	status := run(t.Context(), []string{"ci", "--sarif", name, "--baseline", "../../fixtures/memory-2025-11-25.jsonl", "../../fixtures"}, std)
	if status.Code != 1 {
		t.Errorf("exit code %d", status.Code)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var log any
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if err := sarifSchema(t).Validate(log); err != nil {
		t.Error(err)
	}
	results := log.(map[string]any)["runs"].([]any)[0].(map[string]any)["results"].([]any)
	rules := map[string]bool{}
	for _, entry := range results {
		result := entry.(map[string]any)
		rules[result["ruleId"].(string)] = true
		place := result["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)
		uri := place["artifactLocation"].(map[string]any)["uri"].(string)
		if place["region"].(map[string]any)["startLine"] == nil || !strings.HasPrefix(uri, "fixtures/") || result["ruleIndex"].(float64) < 0 {
			t.Errorf("%v: %v", result["ruleId"], place)
		}
	}
	if len(results) < 50 || !rules["api-breaking"] || !rules["E1"] {
		t.Errorf("%d results of %v", len(results), rules)
	}
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}
