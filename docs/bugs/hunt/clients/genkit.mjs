// @genkit-ai/mcp@1.42.0: its client, as its documentation shows it.
import { createMcpClient } from '@genkit-ai/mcp';
import { genkit } from 'genkit';

const [command, ...args] = process.argv.slice(2);
const client = createMcpClient({ name: 'everything', mcpServer: { command, args } });
const ai = genkit({});

try {
  await client.ready();
  const tools = await client.getActiveTools(ai);
  const tool = (name) => tools.find((tool) => tool.__action.name.endsWith(`/${name}`));
  const results = await Promise.all([
    tool('echo')({ message: 'one' }),
    tool('get-sum')({ a: 2, b: 3 }),
  ]);
  results.push(await tool('trigger-long-running-operation')({ duration: 0.2, steps: 2 }));
  for (const result of results) console.log(result);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.disable();
}
