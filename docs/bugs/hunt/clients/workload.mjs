// What each client here does: it sees that its server has the tool echo, calls two tools at once and a slow one behind them,
// prints the answers and ends. The server is a command, or the address of one over HTTP.
const [command, ...args] = process.argv.slice(2);

export const isHTTP = /^https?:/.test(command);
export const server = isHTTP ? { url: command } : { command, args };

export const printProgress = ({ progress, total }) => console.error(`progress ${progress} of ${total}`);

// run works with a library: open connects and returns the function that calls a tool by its name, or nothing if there is no
// tool echo; close ends the session, also one that could not be opened.
export async function run({ open, close }) {
  try {
    const call = await open();
    if (!call) throw new Error('no tool echo');
    const results = await Promise.all([call('echo', { message: 'one' }), call('get-sum', { a: 2, b: 3 })]);
    results.push(await call('trigger-long-running-operation', { duration: 0.2, steps: 2 }));
    for (const result of results) console.log(result.content?.[0].text ?? result[0].text ?? result);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await close();
  }
}

// hasEcho is for libraries that list tools by their names; byName for those whose tools are objects.
export const hasEcho = (tools) => tools.some((tool) => tool.name === 'echo');
export const byName = (tools) => Object.fromEntries(tools.map((tool) => [tool.name, tool]));
