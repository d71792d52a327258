// @langchain/mcp-adapters@1.1.4: its client, as its documentation shows it.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const [command, ...args] = process.argv.slice(2);
const client = new MultiServerMCPClient({
  mcpServers: { everything: { transport: 'stdio', command, args } },
  onProgress: ({ progress, total }) => console.error(`progress ${progress} of ${total}`),
});

try {
  const tools = await client.getTools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const results = await Promise.all([
    byName['echo'].invoke({ message: 'one' }),
    byName['get-sum'].invoke({ a: 2, b: 3 }),
  ]);
  results.push(await byName['trigger-long-running-operation'].invoke({ duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.close();
}
