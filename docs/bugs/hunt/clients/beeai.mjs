// beeai-framework@0.1.30: its client, as its types have it.
import { MCPTool } from 'beeai-framework/tools/mcp';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'example-client', version: '1.0.0' });

try {
  await client.connect(new StdioClientTransport({ command, args }));
  const tools = await MCPTool.fromClient(client);
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const outputs = await Promise.all([
    byName['echo'].run({ message: 'one' }),
    byName['get-sum'].run({ a: 2, b: 3 }),
  ]);
  outputs.push(await byName['trigger-long-running-operation'].run({ duration: 0.2, steps: 2 }));
  for (const output of outputs) console.log(output.result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.close();
}
