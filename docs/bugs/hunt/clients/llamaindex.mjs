// @llamaindex/tools@0.2.1: its client, as its documentation shows it.
import { mcp } from '@llamaindex/tools';

const [command, ...args] = process.argv.slice(2);
const server = mcp({ command, args });

try {
  const tools = await server.tools();
  const byName = Object.fromEntries(tools.map((tool) => [tool.metadata.name, tool]));
  const results = await Promise.all([
    byName['echo'].call({ message: 'one' }),
    byName['get-sum'].call({ a: 2, b: 3 }),
  ]);
  results.push(await byName['trigger-long-running-operation'].call({ duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await server.cleanup();
}
