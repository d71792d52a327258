package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Snapshot is how the recorders of a process stand at a moment.
type Snapshot struct {
	Recorder string // its name and version
	Label    string // of the user

	Live    int    // sessions
	Begun   uint64 // sessions
	Stuck   int    // live sessions in which something is stuck
	Events  uint64 // in the recordings
	Frames  Pair[uint64]
	Bytes   Pair[uint64] // of the frames
	Lost    uint64       // frames, lines and other events that could not be recorded
	Waiting int          // events that wait in memory for the disk
	Held    int64        // bytes of memory that they take
	Open    Pair[int]    // calls without an answer, by the direction of the request
	Longest time.Duration

	Outbox *Outbox // nil without a shared store
}

// Pair is a number for each direction.
type Pair[N int | uint64] struct{ C2S, S2C N }

// Of returns the number of a direction.
func (p *Pair[N]) Of(dir transport.Direction) *N {
	if dir == transport.ServerToClient {
		return &p.S2C
	}
	return &p.C2S
}

// Outbox is what waits on its way to a shared store.
type Outbox struct {
	Connected    bool
	Events       uint64        // of this process that wait
	Bytes        int64         // of this process that wait
	Left         int64         // bytes that recorders before have left
	Oldest       time.Duration // age of the oldest event of this process that waits; 0: none
	Shipped      uint64        // events, repeated ones as often
	Acknowledged uint64        // events
	Failed       uint64        // calls of the shared store
	Refused      uint64        // writes while the outbox was full
}

// sample is a series of a family: its labels, of names and values in turn, and its value.
type sample struct {
	labels []string
	value  float64
}

// Text returns the metrics in the exposition format of Prometheus.
func (s Snapshot) Text() []byte {
	var b bytes.Buffer
	add := func(name, kind, help string, samples ...sample) { writeFamily(&b, name, kind, help, samples) }
	one := func(value float64) sample { return sample{value: value} }
	add("mcprec_recorder_info", "gauge", "The program that records, and the label of its sessions.",
		sample{[]string{"recorder", s.Recorder, "label", s.Label}, 1})
	add("mcprec_sessions_live", "gauge", "Sessions that are being recorded.", one(float64(s.Live)))
	add("mcprec_sessions_started_total", "counter", "Sessions whose recording has begun.", one(float64(s.Begun)))
	add("mcprec_sessions_stuck", "gauge", "Live sessions in which something is stuck, as mcprec why finds by the recorded events alone.", one(float64(s.Stuck)))
	add("mcprec_events_total", "counter", "Events in the recordings, frames included.", one(float64(s.Events)))
	add("mcprec_frames_total", "counter", "Frames in the recordings.", directions(s.Frames)...)
	add("mcprec_frame_bytes_total", "counter", "Bytes of the frames in the recordings.", directions(s.Bytes)...)
	add("mcprec_lost_total", "counter", "Frames, lines and other events that could not be recorded.", one(float64(s.Lost)))
	add("mcprec_waiting_events", "gauge", "Events that wait in memory for the disk.", one(float64(s.Waiting)))
	add("mcprec_waiting_bytes", "gauge", "Memory that the waiting events take.", one(float64(s.Held)))
	add("mcprec_calls_open", "gauge", "Requests without an answer, but for cancelled ones and subscriptions.", directions(s.Open)...)
	add("mcprec_call_longest_open_seconds", "gauge", "How long the oldest of the open calls has been open.", one(s.Longest.Seconds()))
	if o := s.Outbox; o != nil {
		connected := 0.0
		if o.Connected {
			connected = 1
		}
		add("mcprec_outbox_connected", "gauge", "1 while there is a connection to the shared store.", one(connected))
		add("mcprec_outbox_waiting_events", "gauge", "Events of this process that the shared store has not acknowledged.", one(float64(o.Events)))
		add("mcprec_outbox_waiting_bytes", "gauge", "Bytes of this process that the shared store has not acknowledged.", one(float64(o.Bytes)))
		add("mcprec_outbox_left_bytes", "gauge", "Bytes that recorders before have left to ship.", one(float64(o.Left)))
		add("mcprec_outbox_oldest_waiting_seconds", "gauge", "Age of the oldest event of this process that the shared store has not acknowledged.", one(o.Oldest.Seconds()))
		add("mcprec_outbox_shipped_events_total", "counter", "Events sent to the shared store, repeated ones as often.", one(float64(o.Shipped)))
		add("mcprec_outbox_acknowledged_events_total", "counter", "Events that the shared store has acknowledged.", one(float64(o.Acknowledged)))
		add("mcprec_outbox_failed_calls_total", "counter", "Calls of the shared store that failed, and are tried again.", one(float64(o.Failed)))
		add("mcprec_outbox_refused_writes_total", "counter", "Writes that found the outbox full.", one(float64(o.Refused)))
	}
	return b.Bytes()
}

// directions returns a series for each direction.
func directions[N int | uint64](pair Pair[N]) []sample {
	return []sample{
		{[]string{"direction", transport.ClientToServer.String()}, float64(pair.C2S)},
		{[]string{"direction", transport.ServerToClient.String()}, float64(pair.S2C)},
	}
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func writeFamily(b *bytes.Buffer, name, kind, help string, samples []sample) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(help), name, kind)
	for _, s := range samples {
		b.WriteString(name)
		for i := 0; i < len(s.labels); i += 2 {
			open := ","
			if i == 0 {
				open = "{"
			}
			fmt.Fprintf(b, `%s%s="%s"`, open, s.labels[i], labelEscapes.Replace(strings.ToValidUTF8(s.labels[i+1], "\ufffd")))
		}
		if len(s.labels) > 0 {
			b.WriteByte('}')
		}
		fmt.Fprintf(b, " %s\n", strconv.FormatFloat(s.value, 'g', -1, 64))
	}
}
