// Client over Streamable HTTP: a call times out, or is aborted, while its token is renewed, and is
// sent to the server after that.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function call(what, options, during) {
  let valid = 'first'; // the token that the server takes
  let given = 'first'; // the token that the client has
  let ran = 0; // how often the tool ran
  const client = new Client({ name: 'c', version: '1' });
  let calling;
  const authProvider = {
    token: async () => given,
    onUnauthorized: async () => {
      during();
      await calling.catch(() => {}); // the token comes when the caller has given up
      given = valid;
    },
  };
  // server answers as one with tokens does.
  async function server(_, { method, body, headers }) {
    if (method !== 'POST') return new Response(null, { status: 405 });
    if (new Headers(headers).get('authorization') !== `Bearer ${valid}`) return new Response(null, { status: 401 });
    const request = JSON.parse(body);
    if (request.id === undefined) return new Response(null, { status: 202 });
    if (request.method === 'tools/call') ran++;
    const handshake = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'repro', version: '1' } };
    return Response.json({ jsonrpc: '2.0', id: request.id, result: request.method === 'initialize' ? handshake : { content: [] } });
  }
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch: server, authProvider }));
  valid = 'second'; // the first one expires
  calling = client.callTool({ name: 'delete_everything', arguments: {} }, options);
  const said = await calling.then(() => 'is answered', error => `fails: ${error.message}`);
  const before = ran;
  await sleep(500);
  console.log(`${what}: the call ${said}; the tool ran ${before} times until then, and ${ran - before} times later`);
  return ran === 0;
}

const user = new AbortController();
const good = [
  await call('a timeout', { timeout: 200 }, () => {}),
  await call('an abort', { signal: user.signal }, () => user.abort('the user pressed stop')),
];
process.exit(good.every(Boolean) ? 0 : 1);
