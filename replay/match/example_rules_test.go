package match_test

import (
	"fmt"
	"regexp"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Rules with a place that is ignored and a normalizer of one's own: a live client
// asks for another build of the same thing, and gets the recorded answer.
func ExampleRules() {
	recorded := []store.Event{
		{Seq: 1, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"id":1,"method":"tools/call","params":{"name":"deploy","arguments":{"build":"app-r1041","when":"noon"}}}`)},
		{Seq: 2, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte(`{"id":1,"result":{"content":[]}}`)},
	}
	when, err := match.ParsePointer("/params/arguments/when")
	if err != nil {
		fmt.Println(err)
		return
	}
	number := regexp.MustCompile(`-r\d+`)
	player := standin.NewPlayer(recorded, match.Rules{
		Ignore: []match.Pointer{when},
		Normalize: []match.Normalizer{{Name: "build", Apply: func(text string) string {
			return number.ReplaceAllString(text, "-r")
		}}},
	})
	live := []byte(`{"id":"a","method":"tools/call","params":{"name":"deploy","arguments":{"build":"app-r2077"}}}`)
	for _, f := range player.Receive(transport.Frame{Bytes: live}) {
		fmt.Printf("%s\n", f.Bytes)
	}
	for _, v := range player.Verdicts() {
		fmt.Println(v)
		for _, m := range v.Mapped {
			fmt.Printf("%s: %s stands for %s (%s)\n", m.Path, m.Got, m.Want, m.By)
		}
	}
	// Output:
	// {"id":"a","result":{"content":[]}}
	// match: tools/call deploy
	// /params/arguments/build: "app-r2077" stands for "app-r1041" (build)
	// /params/arguments/when: nothing stands for "noon" (ignored)
}
