package chunk

// Dictionary is the text to compress small chunks against, with the most frequent parts last: the
// usual content of a short session. The text is part of version 1 of the form, as number 1; another
// text needs another number, and both stay.
const Dictionary = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///` +
	`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` +
	`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}` +
	`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` +
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` +
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"` +
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"","data":"` +
	`{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"` +
	`"modelPreferences":{"hints":[{"name":"claude"}],"intelligencePriority":0.5,"speedPriority":0.5},"systemPrompt":"You are a helpful assistant.","maxTokens":100` +
	`{"role":"assistant","content":{"type":"text","text":"","model":"claude","stopReason":"endTurn"}}` +
	`{"method":"elicitation/create","params":{"message":"","requestedSchema":{"type":"object"}},"action":"accept"}` +
	`{"method":"roots/list","jsonrpc":"2.0","id":0}{"roots":[{"uri":"file:///home/","name":"` +
	`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":""},"argument":{"name":"","value":""}}}{"completion":{"values":[],"total":0,"hasMore":false}}` +
	`{"method":"logging/setLevel","params":{"level":"debug"}}` +
	`{"method":"prompts/get","params":{"name":"","arguments":{}}}{"method":"prompts/list"}{"prompts":[{"name":"","description":"","arguments":[{"name":"","description":"","required":true}]}]}` +
	`{"method":"resources/templates/list"}{"resourceTemplates":[{"uriTemplate":"` +
	`{"method":"resources/subscribe","params":{"uri":"` +
	`{"method":"resources/read","params":{"uri":"file:///"}}{"contents":[{"uri":"file:///","mimeType":"text/plain","text":"` +
	`{"method":"resources/list"}{"resources":[{"uri":"","name":"","description":"","mimeType":"application/json"}],"nextCursor":"` +
	`{"type":"image","data":"","mimeType":"image/png"}{"type":"resource_link","uri":"{"type":"resource","resource":{"uri":"` +
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}{"code":-32602,"message":"Invalid params","data":{}}{"code":-32603,"message":"Internal error"}` +
	`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":1,"result":{}}` +
	`"task":{"taskId":"","status":"working","statusMessage":"","createdAt":"2026-","lastUpdatedAt":"2026-","ttl":60000,"pollInterval":1000}` +
	`{"method":"tools/list","params":{}}{"result":{"tools":[{"name":"","title":"","description":"Returns the ","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"The path of the file to "},"query":{"type":"string"},"limit":{"type":"number","default":10,"minimum":1},"items":{"type":"array","items":{"type":"string"}},"enabled":{"type":"boolean"},"format":{"type":"string","enum":["json","text"]}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},` +
	`{"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"claude-ai","title":"","version":"0.1.0"}},"jsonrpc":"2.0","id":0}` +
	`{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}},"serverInfo":{"name":"mcp-server","version":"1.0.0"},"instructions":"` +
	`{"method":"notifications/initialized","jsonrpc":"2.0"}` +
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":10,"message":"` +
	`{"frames":1,"bytes":100,"reason":"no space left on device"}{"by":"sender"}{"by":"receiver","error":"broken pipe"}{"upto":1,"blocked_ns":1000000}` +
	`{"code":-1,"signal":"killed"}{"code":0}{"frames":10,"lost":0}` +
	`{"mcprec":1,"id":"01a","start":"2026-11-21T12:00:00.000000000Z","transport":"http","label":"server","command":[],"url":"http://127.0.0.1:8000/mcp","recorder":"mcprec v0.1.0"}` +
	`{"mcprec":1,"id":"01a19c22-5c60-7000-8000-000000000000","start":"2026-12-01T00:00:00Z","transport":"stdio","label":"","command":["uvx","docker","run","-i","--rm","node","python","-m","npx","-y","@modelcontextprotocol/server-everything"],"recorder":"v` +
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":2},"name":"","arguments":{"path":"/` +
	`{"result":{"content":[{"type":"text","text":"{\"}],"structuredContent":{},"isError":false},"jsonrpc":"2.0","id":1}` +
	`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"\n"}],"isError":true}}` +
	`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`
