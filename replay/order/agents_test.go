package order

const (
	agentHello   = `> {"id":0,"method":"initialize","params":{"protocolVersion":1}}`
	agentHelloed = `< {"id":0,"result":{"protocolVersion":1}}`
	agentNew     = `> {"id":1,"method":"session/new","params":{}}`
	agentMade    = `< {"id":1,"result":{"sessionId":"s"}}`
	agentNew2    = `> {"id":2,"method":"session/new","params":{}}`
	agentMade2   = `< {"id":2,"result":{"sessionId":"t"}}`
	agentPrompt  = `> {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}`
	agentPrompt2 = `> {"id":4,"method":"session/prompt","params":{"sessionId":"t"}}`
	agentStops   = `< {"id":3,"result":{"stopReason":"cancelled"}}`
	agentEnds    = `< {"id":3,"result":{"stopReason":"end_turn"}}`
	agentFails2  = `< {"id":4,"error":{"code":-32000,"message":"aborted"}}`
)

// agentCases depend on who has received what, which only the explorer knows. Package check has the other cases.
var agentCases = []ruleCase{
	{name: "a turn that the agent knows to be cancelled", lines: []string{agentHello, agentHelloed, agentNew, agentMade, agentPrompt,
		`> {"method":"session/cancel","params":{"sessionId":"s"}}`, agentEnds}, want: []string{"A3 warning: a cancelled turn ends with the stop reason cancelled"}},
	{name: "a turn that ends while the cancellation is on its way", lines: []string{agentHello, agentHelloed, agentNew, agentMade, agentPrompt,
		`>. {"method":"session/cancel","params":{"sessionId":"s"}}`, agentEnds, `>!`}},
	{name: "a cancelled turn", lines: []string{agentHello, agentHelloed, agentNew, agentMade, agentPrompt,
		`> {"method":"session/cancel","params":{"sessionId":"s"}}`, agentStops}},
	{name: "of two cancellations the agent has the first", lines: []string{agentHello, agentHelloed, agentNew, agentMade, agentNew2, agentMade2, agentPrompt, agentPrompt2,
		`>. {"method":"session/cancel","params":{"sessionId":"t"}}`, `>. {"method":"session/cancel","params":{"sessionId":"s"}}`, `>!`, agentEnds, agentFails2, `>!`},
		want: []string{"A3 warning: a cancelled turn ends with the stop reason cancelled"}},
	{name: "a prompt in the place of the answer that is on its way", lines: []string{agentHello, agentHelloed, agentNew, `<. {"id":1,"result":{"sessionId":"s"}}`, agentPrompt, `<!`},
		want: []string{"A1 error: a session is set up before it is used"}},
	{name: "another session by an extension", lines: []string{agentHello, agentHelloed, `> {"id":1,"method":"session/fork","params":{"sessionId":"r"}}`, agentMade, agentPrompt, agentEnds}},
	{name: "a recording that begins in the middle", lines: []string{agentPrompt, `< {"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"}}}`, agentEnds}},
}
