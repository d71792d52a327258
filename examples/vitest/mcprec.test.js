import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, test } from 'vitest'
import { drive, serve } from './mcprec.js'

const fixture = fileURLToPath(new URL('../../fixtures/seed.jsonl', import.meta.url))
const mcprec = process.env.MCPREC ?? 'mcprec'

test('the server answers as recorded', () => {
  drive(fixture, [mcprec, 'serve', fixture]) // here your server, as ['node', 'server.js']
})

test('a server that does not fails the test', () => {
  expect(() => drive(fixture, ['sh', '-c', 'read line; exit 3'])).toThrow('the server ended the session early')
  expect(() => drive(fixture, ['no-such-server'])).toThrow('exit code 127')
  expect(() => drive('no-such.jsonl', ['true'])).toThrow('exit code 2')
})

async function session(url, text) {
  const client = new Client({ name: 'demo client', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(url)) // here your client
  const progress = []
  const result = await client.callTool({ name: 'count', arguments: { text } }, undefined, { onprogress: (p) => progress.push(p.progress) })
  await client.close()
  return { result, progress }
}

test('the client does as recorded', async () => {
  const server = await serve(fixture)
  const { result, progress } = await session(server.url, 'hello, world')
  expect(result.isError).toBeFalsy()
  expect(progress).toEqual([1, 2])
  await server.close()
})

test('a client that does not fails the test', async () => {
  const server = await serve(fixture)
  await expect(session(server.url, 'something else')).rejects.toThrow('no recorded answer for tools/call')
  await expect(server.close()).rejects.toThrow('the session is not as recorded')
})
