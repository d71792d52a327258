// The client closes the input of the gateway and goes: the gateway and its server stay, a pair of
// orphans for each session.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'modular'));
const config = path.join(dir, 'modular.json');
fs.writeFileSync(config, JSON.stringify({ mcpServers: { everything: {
  description: 'the reference server', command: process.execPath, args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
} } }));
const gateway = spawn(process.execPath, ['node_modules/@kimuson/modular-mcp/dist/index.js', config], { stdio: ['pipe', 'pipe', 'ignore'] });
gateway.stdin.write(JSON.stringify({
  jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}) + '\n');
for await (const line of readline.createInterface({ input: gateway.stdout })) {
  console.log(`answered: ${line.slice(0, 60)}...`);
  break;
}
gateway.stdin.end();
const end = await Promise.race([
  new Promise(resolve => gateway.on('exit', code => resolve(`ended with ${code}`))),
  new Promise(resolve => setTimeout(resolve, 10_000, 'is still there 10 s after the end of its input')),
]);
console.log(`the gateway ${end}`);
gateway.kill();
process.exit(end.startsWith('ended') ? 0 : 1);
