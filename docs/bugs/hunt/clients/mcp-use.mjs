// mcp-use@1.34.6: its client, as its documentation shows it.
process.env.MCP_USE_ANONYMIZED_TELEMETRY = 'false';
const { MCPClient } = await import('mcp-use/client');

const [command, ...args] = process.argv.slice(2);
const client = new MCPClient({ mcpServers: { everything: { command, args } } });

try {
  await client.createAllSessions();
  const session = client.getSession('everything');
  const tools = await session.listTools();
  if (!tools.some((tool) => tool.name === 'echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    session.callTool('echo', { message: 'one' }),
    session.callTool('get-sum', { a: 2, b: 3 }),
  ]);
  results.push(await session.callTool('trigger-long-running-operation', { duration: 0.2, steps: 2 }, {
    onprogress: ({ progress, total }) => console.error(`progress ${progress} of ${total}`),
  }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.closeAllSessions();
}
