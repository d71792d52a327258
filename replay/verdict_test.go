package replay

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"fmt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, got)
	}
}

func TestX(t *testing.T) {
	for _, c := range []string{"0","1"} {
	fmt.Println(Closed(load(t, seed), setup(t, "inbox:0 free "+c)).Text())
	fmt.Println(Closed(load(t, crossing), setup(t, "inline inline "+c)).Text())
	fmt.Println(Closed(load(t, crossing), setup(t, "rigid rigid "+c)).Text())
	fmt.Println(Closed(load(t, flood), setup(t, "rigid rigid "+c)).Text())
	fmt.Println(Closed(load(t, plain), setup(t, "rigid rigid "+c)).Text())
	}
}
