// A server that asks its client in a call, and waits for nothing in another.
import readline from 'node:readline'

const waiting = new Map()
const out = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
let next = 100

function ask(method) {
  const id = next++
  out({ id, method, params: {} })
  // The answer never comes.
  return new Promise(answered => waiting.set(id, answered))
}

async function tool({ id }) {
  const result = await ask('sampling/createMessage')
  out({ id, result })
}

async function slow({ id }) {
  await helper()
  out({ id, result: {} })
}

const helper = async () => {
  await new Promise(() => out({ method: 'notifications/message' }))
}

function locked() {
  globalThis.gc?.() // what nothing can settle any more is collected
  out({ method: 'notifications/message' })
  new Promise(() => {}).then(() => {})
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line)
  if (message.method === 'tools/call') tool(message)
  if (message.method === 'tools/slow') slow(message)
  if (message.method === 'tools/locked') locked()
})

function keep() {
  setInterval(() => {}, 3_600_000).unref()
  setInterval(() => {}, 3_600_000)
}

clearInterval(setInterval(() => {}, 3_600_000))
keep()
