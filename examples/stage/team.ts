/** A team of two on this machine: laptops with homes of their own, joined by a standalone code. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLaptop, type Laptop } from './laptop.ts'

const PLACE = ['--listen', '127.0.0.1:0', '--no-lan', '--no-start']

export interface TeamOfTwo {
  readonly folder: string
  readonly bob: Laptop
  readonly frank: Laptop
  /** Ends both nodes and removes what they left. */
  close(): Promise<void>
}

/** Bob makes the workspace `acme` and invites Frank; both nodes run. */
export async function createTeamOfTwo(): Promise<TeamOfTwo> {
  const folder = mkdtempSync(join(tmpdir(), 'relay-example-'))
  const bob = createLaptop('bobs-mbp', join(folder, 'bob'))
  const frank = createLaptop('frank-xps', join(folder, 'frank'))
  async function close(): Promise<void> {
    await Promise.allSettled([bob.stop(), frank.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await bob.json(['init', '--yes', '--name', 'bob', '--team', 'acme', '--device', bob.name, ...PLACE])
    await bob.start()
    const { code } = await bob.json<{ code: string }>(['invite', 'frank', '--standalone'])
    await frank.json(['init', '--yes', '--device', frank.name, ...PLACE])
    await frank.start()
    await frank.json(['join', '--code-stdin'], code)
  } catch (error) {
    await close()
    throw error
  }
  return { folder, bob, frank, close }
}
