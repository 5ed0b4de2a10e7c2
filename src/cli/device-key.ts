/** The device key on disk: its Ed25519 seed, in a file for this user alone. */
import { readFileSync, statSync } from 'node:fs'
import { fromHex, toHex } from '../../protocol/index.ts'
import { type Home, homeError, HomeError, placeFile } from '../home.ts'
import type { System } from '../system.ts'

const SEED_BYTES = 32
const SEED_TEXT = /^[0-9a-f]{64}\n?$/

/** The seed, or undefined where no key was made yet. Throws HomeError for a file that is damaged or not readable. */
export function readKey(home: Home): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(home.key, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw homeError(error, home.key)
  }
  if (!SEED_TEXT.test(text)) {
    throw new HomeError('HOME_KEY', `The device key is damaged: ${home.key} does not hold 64 hexadecimal digits.`, {
      hint: 'Put the file back from a backup. Without it begin in another home (RELAY_NODE_HOME): a laptop has to be invited anew, a bootstrap server gets new addresses.',
    })
  }
  return fromHex(text.trim())
}

/** The seed of this home, made now if there is none. */
export function ensureKey(home: Home, system: System): { seed: Uint8Array; made: boolean } {
  const present = readKey(home)
  if (present !== undefined) return { seed: present, made: false }
  const seed = system.dice(SEED_BYTES)
  try {
    if (placeFile(home.key, `${toHex(seed)}\n`)) return { seed, made: true }
  } catch (error) {
    throw homeError(error, home.key)
  }
  // Another process was faster: its key is the key.
  return { seed: requireKey(home), made: false }
}

/** The seed; throws HomeError where nothing was set up. */
export function requireKey(home: Home): Uint8Array {
  const seed = readKey(home)
  if (seed !== undefined) return seed
  throw new HomeError('HOME_EMPTY', `Nothing is set up yet in ${home.home}.`, {
    hint: 'Run relay-node init to make a workspace, or relay-node join if a teammate invited you.',
  })
}

/** Permission bits of the key and its folder that let others in, as `path: mode`; none on Windows, where modes say nothing. */
export function loosePermissions(home: Home): string[] {
  if (process.platform === 'win32') return []
  return [home.home, home.key].flatMap((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & 0o077) === 0 ? [] : [`${path}: ${(mode & 0o777).toString(8)}`]
  })
}
