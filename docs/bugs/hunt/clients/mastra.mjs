// @mastra/mcp@2.0.0: its client, as its documentation shows it.
import { MCPClient } from '@mastra/mcp';

const [command, ...args] = process.argv.slice(2);
const client = new MCPClient({ servers: { everything: { command, args, enableProgressTracking: true } } });

try {
  await client.progress.onUpdate('everything', ({ progress, total }) => console.error(`progress ${progress} of ${total}`));
  const tools = await client.listTools();
  const results = await Promise.all([
    tools['everything_echo'].execute({ message: 'one' }, {}),
    tools['everything_get-sum'].execute({ a: 2, b: 3 }, {}),
  ]);
  results.push(await tools['everything_trigger-long-running-operation'].execute({ duration: 0.2, steps: 2 }, {}));
  for (const result of results) console.log(result.content[0].text);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await client.disconnect();
}
