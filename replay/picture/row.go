package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Row is an event as the picture shows it.
type Row struct {
	Seq    uint64        `json:"seq"`
	At     time.Duration `json:"at"`
	Kind   string        `json:"kind"`   // request, response, notification, batch, noise or invalid; of other events the store's kind
	Dir    string        `json:"dir"`    // "c2s", "s2c" or ""
	Stream uint64        `json:"stream"` // number of the HTTP exchange; 0: none
	Size   int           `json:"size"`   // bytes of the recorded payload
	Label  string        `json:"label"`
	Text   string        `json:"text,omitempty"` // what the message says: progress, a log line, an error, the arguments of a call
	Fold   string        `json:"fold,omitempty"` // "http" or "life": an event that says only that all is well, see [timeline.Entry.IsRoutineHTTP]
	Tone   string        `json:"tone"`           // "", "beside" or "fault"
	// Call is the Seq of the request that the first message is about, or that an HTTP status
	// answers; of a request its own Seq. 0: none.
	Call     uint64 `json:"call"`
	Late     bool   `json:"late,omitempty"`     // a message came after the end of its call
	Messages int    `json:"messages,omitempty"` // of a batch
	Open     bool   `json:"open,omitempty"`     // the rest of the frame has not come
}

// RowOf returns the row of an entry.
func RowOf(entry timeline.Entry) Row {
	row := Row{
		Seq: entry.Seq, At: entry.At, Kind: kindOf(entry), Dir: dirOf(entry.Dir), Stream: entry.Stream,
		Size: entry.Size, Label: labelOf(entry), Tone: tones[entry.Tone()], Open: entry.Open,
	}
	switch {
	case entry.IsRoutineHTTP():
		row.Fold = "http"
	case entry.IsLifeCycle():
		row.Fold = "life"
	}
	if len(entry.Messages) == 1 {
		row.Text = textOf(entry)
	}
	if entry.Batch {
		row.Messages = len(entry.Messages)
	}
	if len(entry.Refused) > 0 && entry.Kind != store.Frame {
		row.Call = entry.Refused[0].Request
	}
	for i, m := range entry.Messages {
		if i == 0 && m.Call != nil {
			row.Call = m.Call.Request
		}
		row.Late = row.Late || m.Late
	}
	return row
}

// argumentsLimit is how many bytes of the arguments of a call a row has.
const argumentsLimit = 120

// textOf returns what the only message of an entry says: of a call its arguments, of another the words that
// mcprec show has for it, without those that the label has.
func textOf(entry timeline.Entry) string {
	m := entry.Messages[0]
	if m.Kind != transport.Request {
		if m.Failure != "" && strings.HasSuffix(m.Failure, m.Text()) {
			return ""
		}
		return m.Text()
	}
	arguments := transport.Member(entry.Payload, "params", "arguments")
	if len(arguments) <= len("{}") {
		return ""
	}
	cut := arguments[:min(len(arguments), 8*argumentsLimit)] // blanks go
	var compact bytes.Buffer
	if json.Compact(&compact, cut) != nil {
		compact.Reset()
		compact.Write(cut) // it is cut, or not JSON
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(phrase.Shorten(compact.String(), argumentsLimit), "\uFFFD"))
}

var tones = map[timeline.Tone]string{timeline.Beside: "beside", timeline.Fault: "fault"}

// dirOf returns the name of a direction; "" for none and for a damaged one.
func dirOf(dir transport.Direction) string {
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		return ""
	}
	return dir.String()
}

func kindOf(entry timeline.Entry) string {
	switch {
	case entry.Kind != store.Frame:
		return phrase.Name(string(entry.Kind))
	case entry.Noise:
		return "stray output"
	case entry.Batch:
		return "batch"
	case len(entry.Messages) == 0: // cut, or not whole yet
		return transport.Invalid.String()
	}
	return entry.Messages[0].Kind.String()
}

// batchLabels is how many messages the label of a batch names.
const batchLabels = 8

// labelOf returns the label of an entry.
func labelOf(entry timeline.Entry) string {
	if len(entry.Messages) == 0 {
		return sequence.EventLabel(entry)
	}
	if !entry.Batch {
		return sequence.Label(entry.Messages[0])
	}
	var labels []string
	for _, m := range entry.Messages[:min(len(entry.Messages), batchLabels)] {
		labels = append(labels, sequence.Label(m))
	}
	if more := len(entry.Messages) - batchLabels; more > 0 {
		labels = append(labels, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("batch of %d: %s", len(entry.Messages), strings.Join(labels, "; "))
}
