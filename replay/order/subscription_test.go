package order

import (
	"slices"
	"strings"
)

const (
	listen = `> {"id":4,"method":"subscriptions/listen","params":{` + modern + `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}}`
	of4    = `"_meta":{"io.modelcontextprotocol/subscriptionId":4}`
	ack4   = `< {"method":"notifications/subscriptions/acknowledged","params":{` + of4 + `}}`
	tools4 = `< {"method":"notifications/tools/list_changed","params":{` + of4 + `}}`
)

func updateOf(uri string) string {
	return `< {"method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}`
}

func updateOf4(uri string) string { return strings.Replace(updateOf(uri), `}}`, `,`+of4+`}}`, 1) }

var subscriptionCases = []ruleCase{
	{"a subscription", []string{listen, ack4, tools4, tools4, `< {"id":4,"result":{}}`}, nil},
	{"progress beside it", []string{listen, callModern, `< {"id":1,"result":{}}`, ack4}, nil},
	{"notified before the acknowledgement", []string{listen, tools4, ack4}, []string{"P7 error: a subscription is acknowledged before it notifies"}},
	{"of no subscription", []string{callModern, `< {"method":"notifications/tools/list_changed"}`},
		[]string{"P7 error: a subscription's notification names an open subscription"}},
	{"an acknowledgement of none", []string{callModern, `< {"method":"notifications/subscriptions/acknowledged"}`},
		[]string{"P7 error: a subscription's notification names an open subscription"}},
	{"a notification that names a URI for no reason", []string{listen, ack4, strings.Replace(tools4, `{"_meta"`, `{"uri":"z","_meta"`, 1)}, nil},
	{"of one that was not received", []string{callModern, strings.Replace(listen, ">", ">.", 1), ack4},
		[]string{"P7 error: a subscription's notification names an open subscription"}},
	{"of a call", []string{callModern, `< {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`},
		[]string{"P7 error: a subscription's notification names an open subscription"}},
	{"after its response", []string{listen, ack4, `< {"id":4,"result":{}}`, tools4},
		[]string{"P7 error: a subscription's notification names an open subscription"}},
	{"after its cancellation", []string{listen, ack4, `> {"method":"notifications/cancelled","params":{"requestId":4}}`,
		strings.Replace(tools4, "<", "<~", 1), tools4}, []string{"P6 warning: after a cancellation nothing more is sent for the request"}},
	{"its last answer after its cancellation", []string{listen, ack4, `> {"method":"notifications/cancelled","params":{"requestId":4}}`, `< {"id":4,"result":{}}`}, nil},
	{"of what it did not ask for", []string{listen, ack4, strings.Replace(tools4, "tools", "prompts", 1)},
		[]string{"P7 error: only what a subscription asked for is notified"}},
	{"list_changed after a handshake", shaken(`< {"method":"notifications/tools/list_changed"}`), nil},
	{"an update", shaken(`> {"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, result, `< {"method":"notifications/resources/updated","params":{"uri":"a:b"}}`), nil},
	{"an update of a part", shaken(`> {"id":1,"method":"resources/subscribe","params":{"uri":"a://b/"}}`, result, updateOf("a://b/c"), updateOf("a://b?c"), updateOf("a://b")), nil},
	{"an update of what had been subscribed to", shaken(`> {"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, result,
		`> {"id":2,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`, updateOf("a:b")), nil},
	{"an update of another", shaken(`> {"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, result, updateOf("a:bc")),
		[]string{"P7 warning: a resource is subscribed to before its updates"}},
	{"an update in advance", shaken(`>. {"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, updateOf("a:b")),
		[]string{"P7 warning: a resource is subscribed to before its updates"}},
	{"an update, no revision known", []string{call, updateOf("a:b")}, nil},
	{"an update of a very long URI", shaken(`> {"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`, result, updateOf("a:"+strings.Repeat("c", longURI))), nil},
	{"an update by a filter that lists nothing readable", []string{strings.Replace(listen, `["a:b"]`, "7", 1), ack4, updateOf4("a:b")}, nil},
	{"an update that a subscription asked for", []string{listen, ack4, updateOf4("a:b"), updateOf4("a:b/c")}, nil},
	{"an update that it did not ask for", []string{listen, ack4, updateOf4("a:c")},
		[]string{"P7 warning: only resources that a subscription asked for, or parts of them, are updated"}},
	{"an update without a URI", []string{listen, ack4, `< {"method":"notifications/resources/updated","params":{` + of4 + `}}`}, nil},
	{"an update that nobody subscribed to", shaken(`< {"method":"notifications/resources/updated","params":{"uri":"a:b"}}`),
		[]string{"P7 warning: a resource is subscribed to before its updates"}},
}

const (
	logged  = `< {"method":"notifications/message","params":{"level":"info","data":"x"}}`
	logging = `> {"id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info"}}}`
)

var logCases = []ruleCase{
	{"of the client", []string{callModern, `> {"method":"notifications/message","params":{"level":"info","data":"x"}}`}, nil},
	{"a log message after a handshake", shaken(logged), nil},
	{"a log message that was asked for", []string{logging, callModern, logged, result, logged}, nil},
	{"a log message that was not", []string{callModern, logged}, []string{"P8 error: log messages need a request that set a log level"}},
	{"a log message in advance", []string{callModern, strings.Replace(logging, ">", ">.", 1), logged},
		[]string{"P8 error: log messages need a request that set a log level"}},
	{"a log message in advance, after another's response", []string{logging, strings.Replace(strings.Replace(logging, "2", "3", 1), ">", ">.", 1), `< {"id":2,"result":{}}`, logged},
		[]string{"P8 warning: log messages stop when the requests that set a log level are answered"}},
	{"a log message after the response", []string{logging, `< {"id":2,"result":{}}`, logged},
		[]string{"P8 warning: log messages stop when the requests that set a log level are answered"}},
	{"log messages of the last that is open", []string{logging, strings.Replace(logging, "2", "3", 1), strings.Replace(logging, "2", "4", 1), `< {"id":2,"result":{}}`,
		logged, `< {"id":4,"result":{}}`, logged, `< {"id":3,"result":{}}`, logged},
		[]string{"P8 warning: log messages stop when the requests that set a log level are answered"}},
}

const (
	callTask   = `> {"id":1,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":"t"}}}`
	taskMade   = `< {"id":1,"result":{"task":{"taskId":"a","status":"working"}}}`
	getTask    = `> {"id":2,"method":"tasks/get","params":{"taskId":"a"}}`
	resultTask = `> {"id":3,"method":"tasks/result","params":{"taskId":"a"}}`
	result3    = `< {"id":3,"result":{"content":[]}}`
	completed  = `< {"method":"notifications/tasks/status","params":{"taskId":"a","status":"completed"}}`
)

// tasked is after a handshake of the revision with tasks.
func tasked(lines ...string) []string {
	return append([]string{strings.Replace(initialize, "2025-06-18", "2025-11-25", 1),
		strings.Replace(capable, "2025-06-18", "2025-11-25", 1), initialized}, lines...)
}

var taskCases = []ruleCase{
	{"a task", tasked(callTask, taskMade, progress+`1}}`, getTask, `< {"id":2,"result":{"taskId":"a","status":"input_required"}}`, completed, completed), nil},
	{"a task that begins otherwise", tasked(callTask, strings.Replace(taskMade, "working", "completed", 1)), []string{"P10 error: a task begins working"}},
	{"a task that begins otherwise, no revision known", []string{callTask, strings.Replace(taskMade, "working", "completed", 1)}, []string{"P10 error: a task begins working"}},
	{"a task without a status", tasked(callTask, `< {"id":1,"result":{"task":{"taskId":"a"}}}`), nil},
	{"a call with an argument of that name", tasked(`> {"id":1,"method":"tools/call","params":{"arguments":{"task":{}},"_meta":{"progressToken":"t"}}}`, result, progress+`1}}`),
		[]string{"P3 error: progress stops when the request is answered"}},
	{"a task whose status was known", tasked(getTask, `< {"id":2,"result":{"taskId":"a","status":"working"}}`, callTask, taskMade), nil},
	{"a status without a status", tasked(callTask, taskMade, completed, getTask, `< {"id":2,"result":{"taskId":"a"}}`, strings.Replace(completed, "completed", "working", 1)),
		[]string{"P10 error: a terminal status is final"}},
	{"a task that is cancelled and comes back", tasked(callTask, taskMade, strings.Replace(completed, "completed", "cancelled", 1), strings.Replace(completed, "completed", "working", 1)),
		[]string{"P10 error: a terminal status is final"}},
	{"a task that fails and comes back, and fails", tasked(callTask, taskMade, strings.Replace(completed, "completed", "failed", 1), strings.Replace(completed, "completed", "working", 1), completed),
		slices.Repeat([]string{"P10 error: a terminal status is final"}, 2)},
	{"a task with two ends, one of them twice", tasked(callTask, taskMade, completed, strings.Replace(completed, "completed", "failed", 1), strings.Replace(completed, "completed", "failed", 1)),
		slices.Repeat([]string{"P10 error: a terminal status is final"}, 2)},
	{"a task that comes back", tasked(callTask, taskMade, completed, getTask, `< {"id":2,"result":{"taskId":"a","status":"working"}}`),
		[]string{"P10 error: a terminal status is final"}},
	{"progress of a task that has ended", tasked(callTask, taskMade, completed, progress+`1}}`),
		[]string{"P3 error: progress stops when the request is answered"}},
	{"asked about in advance", tasked(callTask, getTask, taskMade, `< {"id":2,"result":{"taskId":"a","status":"working"}}`),
		[]string{"P10 warning: a task is made before it is asked about"}},
	{"of another session", tasked(getTask, `< {"id":2,"result":{"taskId":"a","status":"working"}}`), nil},
	{"a result in advance", tasked(callTask, taskMade, resultTask, result3, strings.Replace(completed, "completed", "working", 1)),
		[]string{"P10 error: tasks/result is answered when the status is terminal"}},
	{"a result before its status", tasked(callTask, taskMade, resultTask, result3, completed, completed), nil},
	{"a result after a status without a status", tasked(callTask, taskMade, getTask, `< {"id":2,"result":{"taskId":"a"}}`, resultTask, result3, strings.Replace(completed, "completed", "working", 1)),
		[]string{"P10 error: tasks/result is answered when the status is terminal"}},
	{"a result in advance, said twice", tasked(callTask, taskMade, resultTask, result3, strings.Replace(completed, "completed", "working", 1), strings.Replace(completed, "completed", "working", 1)),
		slices.Repeat([]string{"P10 error: tasks/result is answered when the status is terminal"}, 2)},
	{"a result after the end, and another end", tasked(callTask, taskMade, completed, resultTask, result3, strings.Replace(completed, "completed", "failed", 1)),
		[]string{"P10 error: a terminal status is final"}},
	{"the result of a task of another session", tasked(resultTask, result3, strings.Replace(completed, "completed", "working", 1)), nil},
	{"a result and two ends", tasked(callTask, taskMade, resultTask, result3, completed, strings.Replace(completed, "completed", "failed", 1)),
		[]string{"P10 error: a terminal status is final"}},
	{"a result that is an error", tasked(callTask, taskMade, resultTask, `< {"id":3,"error":{"code":-32602,"message":"x"}}`, getTask, `< {"id":2,"result":{"taskId":"a","status":"working"}}`), nil},
	{"a cancellation that cancels", tasked(callTask, taskMade, strings.Replace(getTask, "get", "cancel", 1), `< {"id":2,"result":{"taskId":"a","status":"cancelled"}}`), nil},
	{"a cancellation that does not", tasked(callTask, taskMade, strings.Replace(getTask, "get", "cancel", 1), `< {"id":2,"result":{"taskId":"a","status":"working"}}`),
		[]string{"P10 error: tasks/cancel is answered when the status is cancelled"}},
	{"a cancellation that fails", tasked(callTask, taskMade, strings.Replace(getTask, "get", "cancel", 1), `< {"id":2,"error":{}}`), nil},
	{"a cancellation that does not, 2025-06-18", shaken(strings.Replace(getTask, "get", "cancel", 1), `< {"id":2,"result":{"taskId":"a","status":"working"}}`), nil},
	{"a task that ends in an answer and comes back", tasked(callTask, taskMade, getTask, `< {"id":2,"result":{"taskId":"a","status":"completed"}}`, strings.Replace(completed, "completed", "working", 1)),
		[]string{"P10 error: a terminal status is final"}},
	{"2025-06-18 has none", shaken(callTask, strings.Replace(taskMade, "working", "completed", 1), progress+`1}}`),
		[]string{"P3 error: progress stops when the request is answered"}},
	{"the client's task of the same id", tasked(callTask, taskMade, completed, `> {"method":"notifications/tasks/status","params":{"taskId":"a","status":"working"}}`), nil},
}
