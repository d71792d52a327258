package mcp

// The methods of requests, of every revision.
const (
	MethodInitialize            = "initialize"
	MethodPing                  = "ping"
	MethodDiscover              = "server/discover"
	MethodListTools             = "tools/list"
	MethodCallTool              = "tools/call"
	MethodListPrompts           = "prompts/list"
	MethodGetPrompt             = "prompts/get"
	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
	MethodReadResource          = "resources/read"
	MethodSubscribe             = "resources/subscribe"
	MethodUnsubscribe           = "resources/unsubscribe"
	MethodSetLogLevel           = "logging/setLevel"
	MethodComplete              = "completion/complete"
	MethodCreateMessage         = "sampling/createMessage"
	MethodElicit                = "elicitation/create"
	MethodListRoots             = "roots/list"
	MethodListTasks             = "tasks/list"
	MethodGetTask               = "tasks/get"
	MethodTaskResult            = "tasks/result"
	MethodCancelTask            = "tasks/cancel"
	MethodUpdateTask            = "tasks/update" // of the extension of 2026-07-28
	// MethodListen opens a stream of notifications (2026-07-28); its response, if any,
	// only ends the stream.
	MethodListen = "subscriptions/listen"
)

// The methods of notifications, of every revision.
const (
	NotificationInitialized         = "notifications/initialized"
	NotificationCancelled           = "notifications/cancelled"
	NotificationProgress            = "notifications/progress"
	NotificationMessage             = "notifications/message"
	NotificationToolListChanged     = "notifications/tools/list_changed"
	NotificationPromptListChanged   = "notifications/prompts/list_changed"
	NotificationResourceListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated     = "notifications/resources/updated"
	NotificationRootsListChanged    = "notifications/roots/list_changed"
	NotificationElicitationComplete = "notifications/elicitation/complete"
	NotificationAcknowledged        = "notifications/subscriptions/acknowledged"
	NotificationTaskStatus          = "notifications/tasks/status"
	NotificationTasks               = "notifications/tasks"
)

// Methods returns every method above, requests and notifications.
func Methods() []string {
	return []string{
		MethodInitialize, MethodPing, MethodDiscover, MethodListTools, MethodCallTool, MethodListPrompts,
		MethodGetPrompt, MethodListResources, MethodListResourceTemplates, MethodReadResource, MethodSubscribe,
		MethodUnsubscribe, MethodSetLogLevel, MethodComplete, MethodCreateMessage, MethodElicit, MethodListRoots,
		MethodListTasks, MethodGetTask, MethodTaskResult, MethodCancelTask, MethodUpdateTask, MethodListen,
		NotificationInitialized, NotificationCancelled, NotificationProgress, NotificationMessage,
		NotificationToolListChanged, NotificationPromptListChanged, NotificationResourceListChanged,
		NotificationResourceUpdated, NotificationRootsListChanged, NotificationElicitationComplete,
		NotificationAcknowledged, NotificationTaskStatus, NotificationTasks,
	}
}

// The members of params and results. Members that any JSON may have, such as name, uri
// and params itself, are spelled where they are read.
const (
	MemberMeta            = "_meta"
	MemberProgressToken   = "progressToken"
	MemberRequestID       = "requestId" // of a cancellation
	MemberProtocolVersion = "protocolVersion"
	MemberServerInfo      = "serverInfo"
	MemberIsError         = "isError"
	MemberNextCursor      = "nextCursor"
	MemberTaskID          = "taskId"
	MemberElicitationID   = "elicitationId"
	MemberResultType      = "resultType"
	MemberInputRequests   = "inputRequests"
	MemberInputResponses  = "inputResponses"
	MemberRequestState    = "requestState"
)

// InputRequired is the resultType of a result that asks the client to send the request again with an input
// (2026-07-28), and the status of a task that waits for one.
const InputRequired = "input_required"

// TaskWorking is the status of a task that waits for nothing.
const TaskWorking = "working"

// Greets reports whether a request opens a session, or shows that it lives. With any other the client asks for
// something.
func Greets(method string) bool {
	return method == MethodInitialize || method == MethodPing || method == MethodDiscover
}

// IsTask reports whether a result with this resultType is a task, by which the answer comes later (2026-07-28).
func IsTask(resultType string) bool { return resultType == "task" }

// ExtensionTasks is the name under which both ends declare that they can do tasks, from 2026-07-28.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// TaskIsOver reports whether a task with this status never has another one.
func TaskIsOver(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// resultMembers has members by which the result of a method is known: each result of the method has one of
// them.
var resultMembers = map[string][]string{
	MethodInitialize:            {"protocolVersion", "capabilities", "serverInfo"},
	MethodDiscover:              {"supportedVersions"},
	MethodListTools:             {"tools"},
	MethodCallTool:              {"content", "structuredContent"},
	MethodListPrompts:           {"prompts"},
	MethodGetPrompt:             {"messages"},
	MethodListResources:         {"resources"},
	MethodListResourceTemplates: {"resourceTemplates"},
	MethodReadResource:          {"contents"},
	MethodComplete:              {"completion"},
	MethodCreateMessage:         {"role", "model"},
	MethodElicit:                {"action"},
	MethodListRoots:             {"roots"},
	MethodListTasks:             {"tasks"},
}

// ResultMembers returns members of which each result of a method has one; nil for a method whose results
// have no members of their own.
func ResultMembers(method string) []string { return resultMembers[method] }

// The keys of _meta that the protocol defines. All begin with MetaPrefix.
const (
	MetaPrefix             = "io.modelcontextprotocol/"
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaRelatedTask        = "io.modelcontextprotocol/related-task"
	// MetaSubscriptionID holds the id of the listen request that a notification belongs to.
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// The HTTP headers and media types of Streamable HTTP, as net/http spells them.
const (
	HeaderSessionID       = "Mcp-Session-Id"
	HeaderProtocolVersion = "Mcp-Protocol-Version"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderParamPrefix     = "Mcp-Param-" // before the name of an argument
	HeaderLastEventID     = "Last-Event-Id"

	MediaJSON        = "application/json"
	MediaEventStream = "text/event-stream"
)
