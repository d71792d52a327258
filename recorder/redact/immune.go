package redact

import "strings"

// zone says what of the rules holds for a value.
type zone uint8

const (
	anyZone    zone = iota
	keyless         // no name makes a secret: schemas, capabilities
	uriZone         // only what a URL has of secrets is one
	immuneZone      // nothing is
)

// node is a place in a message: what its members are.
type node struct {
	zone    zone
	whole   bool // a user's pointer: all of it is secret
	members map[string]*node
}

// immune are the fields of the protocol, of all revisions.
var immune = map[zone]string{
	immuneZone: `/jsonrpc /id /method /params/name /params/cursor /result/nextCursor /params/protocolVersion /result/protocolVersion
		/params/progressToken /params/_meta/progressToken /params/requestId /params/taskId /params/subscriptionId
		/params/elicitationId /params/level /params/logger /params/ref/type /params/ref/name /params/argument/name
		/params/clientInfo/name /params/clientInfo/version /result/serverInfo/name /result/serverInfo/version
		/result/tools/*/name /result/prompts/*/name /result/prompts/*/arguments/*/name /result/resources/*/name
		/result/resourceTemplates/*/name /result/taskId /result/subscriptionId /result/task/taskId /result/tasks/*/taskId
		/result/content/*/type /result/resultType /result/model /result/supportedVersions /result/sessionId
		/error/code /error/data/supported /error/data/requested /error/data/supportedVersions /result/content/*/name
		/params/mode /params/task/taskId /result/inputRequests/*/method /result/resultType /result/roots/*/name
		/params/notifications /result/action /params/action /params/status /result/status /result/tasks/*/status`,
	uriZone: `/params/uri /params/ref/uri /result/resources/*/uri /result/resourceTemplates/*/uriTemplate /result/contents/*/uri
		/result/content/*/uri /result/content/*/resource/uri /result/roots/*/uri /params/resourceSubscriptions
		/result/messages/*/content/resource/uri /result/messages/*/content/uri /params/url /params/notifications/resourceSubscriptions`,
	keyless: `/params/capabilities /result/capabilities /params/requestedSchema /result/inputRequests/*/params/requestedSchema`,
}

// schemaNames are members with a JSON schema wherever they stand.
var schemaNames = setOf("inputSchema outputSchema requestedSchema")

// immuneTree returns the protocol's fields, for one Redactor.
func immuneTree() *node {
	root := &node{}
	for z, list := range immune {
		for _, path := range strings.Fields(list) {
			root.add(path, node{zone: z})
		}
	}
	return root
}

// add puts a place into the tree. path is a JSON pointer, in which '*' is any member.
func (n *node) add(path string, at node) {
	for part := range strings.SplitSeq(path[1:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if n.members == nil {
			n.members = map[string]*node{}
		}
		if n.members[part] == nil {
			n.members[part] = &node{}
		}
		n = n.members[part]
	}
	n.zone = max(n.zone, at.zone)
	n.whole = n.whole || at.whole
}

// places are the nodes at which a value stands: of the tree's names and of its '*'.
type places struct{ named, any *node }

// member returns the places of a member.
func (p places) member(name []byte) places {
	var out places
	for _, n := range [2]*node{p.named, p.any} {
		if n == nil {
			continue
		}
		if m := n.members[string(name)]; m != nil {
			out.put(m)
		}
		if m := n.members["*"]; m != nil {
			out.put(m)
		}
	}
	return out
}

// have reports whether the protocol, or a user's pointer, has a member of that name.
func (p places) have(name []byte) bool {
	for _, n := range [2]*node{p.named, p.any} {
		if n != nil && n.members[string(name)] != nil {
			return true
		}
	}
	return false
}

func (p *places) put(n *node) {
	if p.named == nil {
		p.named = n
	} else if p.any == nil {
		p.any = n
	}
}

func (p places) none() bool { return p.named == nil && p.any == nil }

func (p places) zone() (z zone, whole bool) {
	for _, n := range [2]*node{p.named, p.any} {
		if n != nil {
			z, whole = max(z, n.zone), whole || n.whole
		}
	}
	return z, whole
}

// metaPrefix begins the names of the protocol's own metadata.
const metaPrefix = "io.modelcontextprotocol/"
