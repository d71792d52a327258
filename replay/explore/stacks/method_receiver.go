package stacks

import "strings"

// Receiver is a pointer to a value whose method is on a stack.
type Receiver struct {
	Type    string // such as example.com/rpc.(*Conn)
	Address string // "" where the stack does not surely show it
}

// Receiver returns the receiver of the innermost function outside of package sync, if that is
// a method of a pointer.
func (g Goroutine) Receiver() (receiver Receiver, ok bool) {
	for line := range strings.SplitSeq(g.Text, "\n") {
		if r, is := receiverIn(line); is {
			function := g.Function()
			return r, strings.HasPrefix(line, function+"(") && strings.HasPrefix(function, r.Type)
		}
	}
	return receiver, false
}

// Receivers returns the receivers of all methods of pointers on the stack, but for those of
// package sync.
func (g Goroutine) Receivers() (list []Receiver) {
	for line := range strings.SplitSeq(g.Text, "\n") {
		if r, ok := receiverIn(line); ok {
			list = append(list, r)
		}
	}
	return list
}

// receiverIn reads a line such as example.com/rpc.(*Conn).read(0xc000012030, ...). A closure
// within a method has arguments of its own, and an inlined method shows none.
func receiverIn(line string) (receiver Receiver, ok bool) {
	before, rest, found := strings.Cut(line, ".(*")
	if !found || hasPrefix(line, "\t", "created by ", "goroutine ", "sync.", "internal/sync.") {
		return receiver, false
	}
	name, rest, found := strings.Cut(rest, ").")
	method, args, called := strings.Cut(rest, "(")
	if !found || !called {
		return receiver, false
	}
	r := Receiver{Type: before + ".(*" + name + ")"}
	address := args[:max(strings.IndexAny(args, ",)"), 0)]
	if !strings.Contains(method, ".") && strings.HasPrefix(address, "0x") && !strings.HasSuffix(address, "?") {
		r.Address = address
	}
	return r, true
}
