// @strands-agents/sdk@1.19.0: its client, as its documentation shows it.
import { McpClient } from '@strands-agents/sdk';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const client = new McpClient({ transport: new StdioClientTransport({ command, args }) });

try {
  const tools = await client.listTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const results = await Promise.all([
    client.callTool(byName['echo'], { message: 'one' }),
    client.callTool(byName['get-sum'], { a: 2, b: 3 }),
  ]);
  results.push(await client.callTool(byName['trigger-long-running-operation'], { duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.disconnect();
}
