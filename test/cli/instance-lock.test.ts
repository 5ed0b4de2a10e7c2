import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isAlive, lockHolder, takeLock } from '../../src/cli/instance-lock.ts'
import { prepareHome } from '../../src/home.ts'
import { type Laptop, laptop } from './laptop.ts'

const TAKER = fileURLToPath(new URL('./lock-taker.ts', import.meta.url))
const AT_ONCE_COUNT = 10
const ROUNDS_COUNT = 4

interface Taker {
  process: ChildProcess
  said: string
}

async function taker(bob: Laptop): Promise<Taker> {
  const child = spawn(process.execPath, [TAKER], { env: bob.env, stdio: ['pipe', 'pipe', 'inherit'] })
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { process: child, said: said.toString().trim() }
}

async function kill({ process: child }: Taker): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

test('of many processes that start at once one gets the lock, round after round, though each holder is killed', async () => {
  await using bob = laptop()
  prepareHome(bob.home)
  for (let round = 0; round < ROUNDS_COUNT; round += 1) {
    const takers = await Promise.all(Array.from({ length: AT_ONCE_COUNT }, () => taker(bob)))
    const holders = takers.filter(({ said }) => said.startsWith('held'))
    expect(holders).toHaveLength(1)
    const pid = holders[0]?.process.pid
    expect(takers.filter(({ said }) => said === `taken by ${pid}`)).toHaveLength(AT_ONCE_COUNT - 1)
    expect(lockHolder(bob.home)).toBe(pid)
    await Promise.all(takers.map(kill))
    expect(lockHolder(bob.home)).toBeUndefined()
  }
  expect(readdirSync(bob.home.home).filter((name) => name.startsWith('lock.'))).toEqual([`lock.${ROUNDS_COUNT}`])
})

test('a released lock is free for the same process and for others', async () => {
  await using bob = laptop()
  prepareHome(bob.home)
  const first = takeLock(bob.home)
  expect(first.held).toBe(true)
  expect(takeLock(bob.home)).toEqual({ held: false, pid: process.pid })
  if (first.held) first.release()
  expect(lockHolder(bob.home)).toBeUndefined()
  const other = await taker(bob)
  expect(other.said).toBe(`held ${other.process.pid}`)
  await kill(other)
})

test('a lock of a process number that another program has now is stale', async () => {
  await using bob = laptop()
  prepareHome(bob.home)
  writeFileSync(join(bob.home.home, 'lock.7'), `${process.pid} some-earlier-boot:1\n`)
  expect(isAlive(process.pid)).toBe(true)
  expect(lockHolder(bob.home)).toBeUndefined()
  const lock = takeLock(bob.home)
  expect(lock.held).toBe(true)
  expect(readdirSync(bob.home.home).filter((name) => name.startsWith('lock.'))).toEqual(['lock.8'])
})

test('a lock file that holds anything else is nobody’s', async () => {
  await using bob = laptop()
  prepareHome(bob.home)
  writeFileSync(join(bob.home.home, 'lock.3'), '\0\0\0\0')
  expect(takeLock(bob.home).held).toBe(true)
})
