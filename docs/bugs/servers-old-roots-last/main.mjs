// The client's roots change while a server asks for them, and the answer to the second question
// comes first: the server goes by the old roots from then on.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const folder = name => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `${name}-`)));
const folders = { old: folder('old'), new: folder('new') };
const signal = () => {
  let resolve;
  const promise = new Promise(done => { resolve = done; });
  return { promise, resolve };
};

// Returns a client whose roots have changed from the old folder to the new one.
async function connect(args) {
  const client = new Client({ name: 'c', version: '1' }, { capabilities: { roots: { listChanged: true } } });
  const asked = signal();
  const answered = signal();
  let name = 'old';
  let questions = 0;
  client.setRequestHandler(ListRootsRequestSchema, async () => {
    const answer = { roots: [{ uri: pathToFileURL(folders[name]).href, name }] };
    if (++questions === 1) { // one answer takes longer than the other
      asked.resolve();
      await answered.promise;
    } else {
      setTimeout(answered.resolve, 200);
    }
    return answer;
  });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  await asked.promise;
  name = 'new';
  await client.sendRootsListChanged();
  await answered.promise;
  await new Promise(resolve => setTimeout(resolve, 500));
  return client;
}
const script = name => path.join(import.meta.dirname, '..', 'node_modules', '@modelcontextprotocol', name, 'dist', 'index.js');

const filesystem = await connect([script('server-filesystem'), folders.old]);
const reads = {};
for (const name of ['old', 'new']) {
  const { content, isError } = await filesystem.callTool({ name: 'list_directory', arguments: { path: folders[name] } });
  reads[name] = !isError;
  console.log(`server-filesystem, list_directory of the ${name} root: ${isError ? content[0].text.split(':')[0] : 'allowed'}`);
}
await filesystem.close();

const everything = await connect([script('server-everything'), 'stdio']);
const { content } = await everything.callTool({ name: 'get-roots-list', arguments: {} });
const knows = ['old', 'new'].find(name => content[0].text.includes(folders[name]));
console.log(`server-everything, get-roots-list: the ${knows} root`);
await everything.close();

const pdf = await connect([script('server-pdf'), '--stdio']);
const { structuredContent } = await pdf.callTool({ name: 'list_pdfs', arguments: {} });
const allowed = ['old', 'new'].filter(name => structuredContent.allowedDirectories.includes(folders[name]));
console.log(`server-pdf, list_pdfs: allowed is the ${allowed} root`);
await pdf.close();

for (const name of Object.values(folders)) fs.rmSync(name, { recursive: true });
process.exit(reads.new && !reads.old && knows === 'new' && `${allowed}` === 'new' ? 0 : 1);
