// A server that answers each request but the call of work. Its argument says what it does at its end.
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'

const fault = process.argv[2]
const stay = () => new Worker('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)', { eval: true })
const ends = { 'swallows SIGTERM': () => {}, 'stays at SIGTERM': stay }[fault]
if (ends) process.on('SIGTERM', ends)
const broken = { 'ignores a broken pipe': () => {}, 'stays without output': stay }[fault]
if (broken) process.stdout.on('error', broken)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, params } = JSON.parse(line)
  if (id !== undefined && params?.name !== 'work') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: {} }) + '\n')
})
