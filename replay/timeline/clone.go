package timeline

import (
	"maps"
	"slices"
)

// Clone returns a model that takes later events apart from m. copies maps each call that m still remembers
// to the clone's copy. A clone costs as much as what is open.
func (m *Model) Clone() (clone *Model, copies map[*Call]*Call) {
	c := &cloner{calls: map[*Call]*Call{}, exchanges: map[*Exchange]*Exchange{}, tasks: map[*Task]*Task{}}
	r := m.requests
	r.ids = c.lists(r.ids)
	r.tokens = c.lists(r.tokens)
	r.pastIDs = c.named(r.pastIDs)
	r.pastTokens = c.named(r.pastTokens)
	r.ring = c.list(r.ring)
	r.on = make(map[uint64]*exchangeCalls, len(m.requests.on))
	for stream, on := range m.requests.on {
		copied := &exchangeCalls{ids: map[local]callList{}, tokens: map[local]*Call{}}
		for id, list := range on.ids {
			copied.ids[id] = c.list(list)
		}
		for token, call := range on.tokens {
			copied.tokens[token] = c.call(call)
		}
		r.on[stream] = copied
	}
	clone = &Model{requests: r, asked: m.asked, exchanges: map[uint64]*Exchange{}, scopes: m.scopes, exit: m.exit, last: m.last, pipes: m.pipes, protocol: m.protocol, mask: m.mask}
	for dir := range clone.pipes {
		clone.pipes[dir].Reader = m.pipes[dir].Clone()
	}
	for stream, exchange := range m.exchanges {
		clone.exchanges[stream] = c.exchange(exchange)
	}
	clone.onPipe = m.onPipe
	clone.onEndpoint = make(map[*Scope]*unanswerable, len(m.onEndpoint))
	for scope, sent := range m.onEndpoint {
		copied := *sent
		clone.onEndpoint[scope] = &copied
	}
	clone.misplaced = slices.Clone(m.misplaced)
	for i := range clone.misplaced {
		clone.misplaced[i].call = c.call(clone.misplaced[i].call)
	}
	clone.tasks = make(map[taskKey]*Task, len(m.tasks))
	for key, task := range m.tasks {
		clone.tasks[key] = c.task(task)
	}
	clone.pastTasks = pastTasks{byKey: make(map[taskKey]*Task, len(m.pastTasks.byKey)), evicted: m.pastTasks.evicted}
	for key, task := range m.pastTasks.byKey {
		clone.pastTasks.byKey[key] = c.task(task)
	}
	for _, task := range m.pastTasks.ring {
		clone.pastTasks.ring = append(clone.pastTasks.ring, c.task(task))
	}
	clone.scopes.sessions = maps.Clone(m.scopes.sessions)
	clone.scopes.endpoints = maps.Clone(m.scopes.endpoints)
	return clone, c.calls
}

// cloner copies each call, each exchange and each task once. Scopes never change, so clones share them.
type cloner struct {
	calls     map[*Call]*Call
	exchanges map[*Exchange]*Exchange
	tasks     map[*Task]*Task
}

func (c *cloner) call(call *Call) *Call {
	if call == nil || c.calls[call] != nil {
		return c.calls[call]
	}
	copied := *call
	c.calls[call] = &copied
	copied.Exchange = c.exchange(call.Exchange)
	copied.Task = c.task(call.Task)
	return &copied
}

func (c *cloner) exchange(exchange *Exchange) *Exchange {
	if exchange == nil || c.exchanges[exchange] != nil {
		return c.exchanges[exchange]
	}
	copied := *exchange
	c.exchanges[exchange] = &copied
	copied.calls = c.list(exchange.calls)
	copied.effects = slices.Clone(exchange.effects)
	for i := range copied.effects {
		copied.effects[i].call = c.call(copied.effects[i].call)
	}
	copied.text = slices.Clone(exchange.text)
	copied.Response.Text = slices.Clone(exchange.Response.Text)
	return &copied
}

func (c *cloner) task(task *Task) *Task {
	if task == nil || c.tasks[task] != nil {
		return c.tasks[task]
	}
	copied := *task
	c.tasks[task] = &copied
	copied.Maker = c.call(task.Maker)
	copied.Result = c.call(task.Result)
	copied.Listener = c.call(task.Listener)
	return &copied
}

func (c *cloner) list(list callList) callList {
	copied := make(callList, len(list))
	for i, call := range list {
		copied[i] = c.call(call)
	}
	return copied
}

func (c *cloner) lists(of map[scoped]callList) map[scoped]callList {
	copied := make(map[scoped]callList, len(of))
	for name, list := range of {
		copied[name] = c.list(list)
	}
	return copied
}

func (c *cloner) named(of map[scoped]*Call) map[scoped]*Call {
	copied := make(map[scoped]*Call, len(of))
	for name, call := range of {
		copied[name] = c.call(call)
	}
	return copied
}
