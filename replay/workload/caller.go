package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Chooser makes the agenda of what a server offers. It is called once, before the first request behind the lists.
type Chooser func(Offer) Agenda

// Caller is a client that makes a session. Like a standin.Driver it is a pure machine: it is given the server's
// frames and returns its own, which count from 0 in the order in which they were returned.
type Caller struct {
	choose   Chooser
	offer    Offer
	asked    map[string]string // the method of each open request, by id
	open     int               // lists without an answer
	pages    int
	ids      int
	returned int // frames so far

	together  map[int]int  // the last frame that goes out with a frame
	calledOff map[int]bool // frames with a request that is cancelled
	hasChosen bool
	goesOn    func(answer transport.Message) Agenda // behind each answer to a request of an agenda; nil: there is nothing more
}

// NewCaller returns a client that makes the requests that a function chooses.
func NewCaller(choose Chooser) *Caller {
	return &Caller{choose: choose, asked: map[string]string{}, together: map[int]int{}, calledOff: map[int]bool{}}
}

// hello is what the client says of itself. It has a folder, a model and a user.
const hello = `{"protocolVersion":"` + mcp.Revision2025_11_25 + `","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},` +
	`"clientInfo":{"name":"mcprec-explore","version":"1"}}`

// Start returns the first frame.
func (c *Caller) Start() []transport.Frame {
	return c.returns(c.request(mcp.MethodInitialize, json.RawMessage(hello)))
}

// Together returns the last of the frames that go out in one write with a frame; the frame itself if it goes alone.
func (c *Caller) Together(frame int) (last int) { return max(frame, c.together[frame]) }

// CallsOff reports whether a frame has a request that the client cancels.
func (c *Caller) CallsOff(frame int) bool { return c.calledOff[frame] }

// Offer returns what the server offers, as far as it has said so.
func (c *Caller) Offer() Offer { return c.offer }

// returns counts frames that are returned.
func (c *Caller) returns(frames ...transport.Frame) []transport.Frame {
	c.returned += len(frames)
	return frames
}

// request makes a request with an id of its own.
func (c *Caller) request(method string, params json.RawMessage) transport.Frame {
	c.ids++
	c.asked[fmt.Sprint(c.ids)] = method
	return message(`"id":%d,"method":%q`, params, c.ids, method)
}

// message makes a request or a notification. Params may be nil.
func message(format string, params json.RawMessage, args ...any) transport.Frame {
	text := `{"jsonrpc":"2.0",` + fmt.Sprintf(format, args...)
	if params != nil {
		text += `,"params":` + string(params)
	}
	return transport.Frame{Bytes: []byte(text + "}")}
}

// Receive takes a frame of the server, and returns what the client says to it.
func (c *Caller) Receive(frame transport.Frame) (frames []transport.Frame) {
	for _, m := range timeline.MessagesOf(frame) {
		switch m.Kind() {
		case transport.Request:
			frames = append(frames, c.returns(answer(m))...)
		case transport.Response:
			method, isOpen := c.asked[string(m.ID)]
			if !isOpen {
				continue
			}
			delete(c.asked, string(m.ID))
			frames = append(frames, c.answered(method, m)...)
		}
	}
	return frames
}

// lists are the methods that list what a server has, by the capability that it says it has, and the member of the answer.
var lists = []struct{ capability, method, member string }{
	{"tools", mcp.MethodListTools, "tools"},
	{"resources", mcp.MethodListResources, "resources"},
	{"resources", mcp.MethodListResourceTemplates, "resourceTemplates"},
	{"prompts", mcp.MethodListPrompts, "prompts"},
}

// mostPages is how many further pages of lists are asked for in all.
const mostPages = 8

// answered takes the answer to a request, and returns what the client says next.
func (c *Caller) answered(method string, m transport.Message) (frames []transport.Frame) {
	switch {
	case method == mcp.MethodInitialize:
		if m.Error != nil {
			return nil
		}
		name, version := transport.MemberText(m.Result, mcp.MemberServerInfo, "name"), transport.MemberText(m.Result, mcp.MemberServerInfo, "version")
		c.offer.Server = strings.TrimSpace(name + " " + version)
		c.offer.Revision = transport.MemberText(m.Result, mcp.MemberProtocolVersion)
		c.offer.Logs = transport.Member(m.Result, "capabilities", "logging") != nil
		c.offer.Completes = transport.Member(m.Result, "capabilities", "completions") != nil
		c.offer.Updates = string(transport.Member(m.Result, "capabilities", "resources", "subscribe")) == "true"
		frames = append(frames, message(`"method":%q`, nil, mcp.NotificationInitialized))
		for _, list := range lists {
			if transport.Member(m.Result, "capabilities", list.capability) != nil {
				frames = append(frames, c.request(list.method, nil))
				c.offer.Lists = append(c.offer.Lists, list.method)
				c.open++
			}
		}
	case c.hasChosen && c.goesOn != nil:
		return c.follow(c.goesOn(m))
	case c.hasChosen || !slices.Contains(c.offer.Lists, method):
		return nil
	default:
		c.open--
		c.listed(method, m.Result)
		if cursor, _ := transport.Text(transport.Member(m.Result, mcp.MemberNextCursor)); cursor != "" && c.pages < mostPages {
			c.pages++
			c.open++
			frames = append(frames, c.request(method, object("cursor", text(cursor))))
		}
	}
	c.returns(frames...)
	if c.open == 0 {
		c.hasChosen = true
		frames = append(frames, c.follow(c.choose(c.offer))...)
	}
	return frames
}

// listed takes a page of a list.
func (c *Caller) listed(method string, result json.RawMessage) {
	var page struct {
		Tools []struct {
			Name        string
			Description string
			InputSchema json.RawMessage
			Annotations struct{ ReadOnlyHint, OpenWorldHint bool }
		}
		Prompts []struct {
			Name      string
			Arguments []struct {
				Name     string
				Required bool
			}
		}
		Resources []struct{ URI string }
	}
	_ = json.Unmarshal(result, &page) // what cannot be read is not there
	switch method {
	case mcp.MethodListTools:
		for _, t := range page.Tools {
			c.offer.Tools = append(c.offer.Tools, OfferedTool{t.Name, t.InputSchema, t.Annotations.ReadOnlyHint, t.Annotations.OpenWorldHint, saysItWaits(t.Name + " " + t.Description)})
		}
	case mcp.MethodListPrompts:
		for _, p := range page.Prompts {
			offered := OfferedPrompt{Name: p.Name}
			for _, argument := range p.Arguments {
				offered.Arguments = append(offered.Arguments, argument.Name)
				if argument.Required {
					offered.Needs = append(offered.Needs, argument.Name)
				}
			}
			c.offer.Prompts = append(c.offer.Prompts, offered)
		}
	case mcp.MethodListResources:
		for _, r := range page.Resources {
			c.offer.Resources = append(c.offer.Resources, r.URI)
		}
	}
}

// saysItWaits reports whether a tool says by its name or its description that it waits for something.
func saysItWaits(text string) bool {
	isBetween := func(r rune) bool { return !unicode.IsLetter(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isBetween) {
		if slices.Contains([]string{"wait", "waits", "await", "awaits", "until", "blocks", "poll", "polls"}, word) {
			return true
		}
	}
	return false
}

// follow returns the frames of an agenda.
func (c *Caller) follow(agenda Agenda) (frames []transport.Frame) {
	add := func(frame transport.Frame) (number int) {
		frames = append(frames, c.returns(frame)...)
		return c.returned - 1
	}
	for _, item := range agenda.Items {
		params := item.Params
		if item.HasProgress {
			meta := object(mcp.MemberProgressToken, text(fmt.Sprintf("progress-%d", c.ids+1)))
			params = json.RawMessage(strings.TrimSuffix(string(params), "}") + `,"` + mcp.MemberMeta + `":` + string(meta) + "}")
		}
		number := add(c.request(item.Method, params))
		switch item.How {
		case Beside:
			c.together[number] = number + 1
		case Cancelled:
			id := c.ids
			c.calledOff[number] = true
			c.together[number] = add(message(`"method":%q`, object(mcp.MemberRequestID, fmt.Sprint(id)), mcp.NotificationCancelled))
		}
	}
	return frames
}

// answer answers a question of the server.
func answer(m transport.Message) transport.Frame {
	result := "{}"
	switch m.Method {
	case mcp.MethodPing:
	case mcp.MethodListRoots:
		result = `{"roots":[{"uri":"file://` + FolderMark + `","name":"explored"}]}`
	case mcp.MethodCreateMessage:
		result = `{"role":"assistant","content":{"type":"text","text":` + string(text(reply(m.Params))) + `},"model":"none","stopReason":"endTurn"}`
	case mcp.MethodElicit:
		result = `{"action":"decline"}`
		if schema := transport.Member(m.Params, "requestedSchema"); schema != nil {
			if content, err := Arguments(schema); err == nil {
				result = `{"action":"accept","content":` + string(content) + `}`
			}
		}
	default:
		return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"mcprec explore does not know this method"}}`, m.ID)}
	}
	return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)}
}

// reply is what the client's model says: something else to each question, so that a server which mixes two up is seen.
func reply(params json.RawMessage) string {
	const most = 40
	var question struct {
		Messages []struct{ Content json.RawMessage }
	}
	_ = json.Unmarshal(params, &question) // what cannot be read is not there
	if last := len(question.Messages) - 1; last >= 0 {
		return "a: " + phrase.Clip(transport.MemberText(question.Messages[last].Content, "text"), most)
	}
	return "a"
}
