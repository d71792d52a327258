// mcp-client@1.13.1: its client, as its documentation shows it.
import { MCPClient } from 'mcp-client';

const [command, ...args] = process.argv.slice(2);
const client = new MCPClient({ name: 'Test', version: '1.0.0' });

try {
  await client.connect({ type: 'stdio', command, args });
  const tools = await client.getAllTools();
  if (!tools.some((tool) => tool.name === 'echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    client.callTool({ name: 'echo', arguments: { message: 'one' } }),
    client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } }),
  ]);
  results.push(await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } }, {
    requestOptions: { onProgress: ({ progress, total }) => console.error(`progress ${progress} of ${total}`) },
  }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.close();
}
