// @ai-sdk/mcp@2.0.99: its client, as its documentation shows it.
import { createMCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';

const [command, ...args] = process.argv.slice(2);
let client;

try {
  client = await createMCPClient({ transport: new StdioMCPTransport({ command, args }) });
  const { tools } = await client.listTools();
  if (!tools.some((tool) => tool.name === 'echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    client.callTool({ name: 'echo', arguments: { message: 'one' } }),
    client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } }),
  ]);
  results.push(await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client?.close();
}
