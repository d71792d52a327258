package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// jsonScan decodes the method of each line of a file, as a reader of JSON without a model does. TestSpeed of the
// night runs it.
func jsonScan() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	methods := 0
	for r := bufio.NewReaderSize(file, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		var is struct{ Frame struct{ Method string } }
		if len(line) > 0 && json.Unmarshal(line, &is) != nil {
			panic(fmt.Sprintf("no JSON: %.100s", line))
		}
		if is.Frame.Method != "" {
			methods++
		}
		if err == io.EOF {
			fmt.Println(methods)
			return
		}
	}
}
