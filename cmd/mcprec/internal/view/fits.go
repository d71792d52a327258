package view

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
)

// fit is a setup under which a replay of the session hangs.
type fit struct {
	Client   string `json:"client"`
	Server   string `json:"server"`
	Capacity string `json:"buffer"`
	Text     string `json:"text"` // what the page calls it
	Why      string `json:"why"`
	// Fits is set if it explains what hung in the recorded session: the finding names the model, or the call
	// that waited takes part in the hang of the replay.
	Fits bool `json:"fits"`
}

// mostTried is the largest recording, in messages, that every model plays. A page that opens a longer one
// would wait for seconds.
const mostTried = 50_000

// answerFits answers with the setups that hang.
func (x *replays) answerFits(i *index, r *http.Request) (any, error) {
	list, err := x.fits(r.Context(), i)
	return map[string]any{"fits": list}, err
}

// fits plays a recording under each model that the page offers, at one side, and returns those that hang: first
// those that explain what hung in the recorded session.
func (x *replays) fits(ctx context.Context, i *index) ([]fit, error) {
	told, err := i.why(ctx)
	if err != nil {
		return nil, err
	}
	head, _, err := i.source.head(ctx)
	if err != nil || head.Seq > mostTried {
		return []fit{}, err
	}
	recording, err := x.load(ctx, i)
	if err != nil {
		return nil, err
	}
	return fitsOf(recording, told.Findings), nil
}

// fitsOf tries the models on a recording, in which the findings hung.
func fitsOf(recording *closed.Recording, hung []why.Finding) []fit {
	list := []fit{}
	tried := map[closed.Setup]bool{}
	try := func(client, server string, o option) {
		setup, err := parseSetup(client, server, "0")
		if err != nil {
			return
		}
		plain := closed.Setup{Client: setup.Client.Unnamed(), Server: setup.Server.Unnamed()}
		if tried[plain] {
			return
		}
		tried[plain] = true
		outcome := closed.Judge(recording, setup)
		if outcome.Verdict != closed.Hang {
			return
		}
		explains := slices.ContainsFunc(hung, func(f why.Finding) bool {
			return f.Client != "" && f.Client == client || slices.ContainsFunc(f.Calls, func(seq uint64) bool {
				return slices.Contains(outcome.Involved, seq)
			})
		})
		list = append(list, fit{
			Client: cmp.Or(client, "independent"), Server: cmp.Or(server, "independent"), Capacity: "0",
			Text: o.Text, Why: o.Why, Fits: explains,
		})
	}
	for _, f := range hung {
		if f.Client != "" {
			try(f.Client, "", optionOf(f.Client))
		}
	}
	offered := listOptions().Models
	for _, m := range slices.Concat(sdksIn(offered, true), sdksIn(offered, false)) {
		for _, end := range []string{transport.ClientToServer.Sender(), transport.ServerToClient.Sender()} {
			switch {
			case m.End != "" && m.End != end:
			case end == transport.ClientToServer.Sender():
				m.Text = "client " + optionOf(m.Value).Text
				try(m.Value, "", m)
			default:
				m.Text = "server " + optionOf(m.Value).Text
				try("", m.Value, m)
			}
		}
	}
	for _, m := range sdksIn(offered, false) { // for a pair of sides that wait for each other
		alone := slices.ContainsFunc(list, func(f fit) bool { return f.Client == m.Value || f.Server == m.Value })
		if !alone {
			m.Text = "both sides " + m.Text
			try(m.Value, m.Value, m)
		}
	}
	slices.SortStableFunc(list, func(a, b fit) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return list
}

func rankOf(f fit) int {
	if f.Fits {
		return 0
	}
	return 1
}

// sdksIn returns the models of SDKs of a list, or the others.
func sdksIn(list []option, sdks bool) []option {
	return slices.DeleteFunc(slices.Clone(list), func(o option) bool { return (o.Source != "") != sdks })
}

// optionOf returns what the page says of a model, also of one that it does not list, such as a release
// within a range.
func optionOf(name string) option {
	for _, o := range listOptions().Models {
		if o.Value == name {
			return o
		}
	}
	return option{Value: name, Text: name, Why: meaningOf(name)}
}
