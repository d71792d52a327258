// @modelcontextprotocol/sdk@1.32.2: its client, as its documentation shows it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'example-client', version: '1.0.0' });

try {
  await client.connect(new StdioClientTransport({ command, args }));
  const { tools } = await client.listTools();
  if (!tools.some((tool) => tool.name === 'echo')) throw new Error('no tool echo');
  const results = await Promise.all([
    client.callTool({ name: 'echo', arguments: { message: 'one' } }),
    client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } }),
  ]);
  results.push(await client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } }, undefined, {
    onprogress: ({ progress, total }) => console.error(`progress ${progress} of ${total}`),
  }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.close();
}
