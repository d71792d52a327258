// A server whose calls forget what another has added: to a file, or to a number.
import { access, readFile, writeFile } from 'node:fs/promises'
import readline from 'node:readline'

const file = process.argv[2]
let total = 0
let reads = 0
let goOn
const bothHaveRead = new Promise(resolve => { goOn = resolve })

async function add({ id }) {
  await access(file)
  const text = String(await readFile(file))
  if (++reads === 2) goOn()
  await bothHaveRead
  await store(text + id)
}

const store = text => writeFile(file, text)

async function count() {
  const before = total
  await null
  total = before + 1
}

readline.createInterface({ input: process.stdin }).on('line', async line => {
  const message = JSON.parse(line)
  await (message.method === 'add' ? add(message) : count())
  console.log(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }))
})
