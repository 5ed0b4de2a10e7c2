/** Founds a workspace: the roster's first entry, with this device as its owner. */
import {
  commitWorkspaceKey,
  hash,
  fromHex,
  phraseWords,
  signingKey,
  signRosterEntry,
  toHex,
  wrapWorkspaceKey,
} from '../../protocol/index.ts'
import type { Store } from '../store/store.ts'
import type { System } from '../system.ts'
import { ApiError } from './api-error.ts'
import { makePrekey } from './identity.ts'
import { putRosterEntry, putSecret } from './rows.ts'

export interface FoundOptions {
  readonly store: Store
  readonly system: System
  /** 32-byte seed of this device's key. */
  readonly seed: Uint8Array
  readonly member: string
  readonly team: string
  readonly deviceName: string
}

/**
 * Writes the new workspace to an empty store. The 24 words are the offline key that can hand the
 * workspace over should the owner's device be lost; they are kept nowhere.
 */
export async function foundWorkspace(options: FoundOptions): Promise<{ handle: string; successorWords: string[] }> {
  const { store, system, seed, member, team, deviceName } = options
  const held = await store.range('roster', { limit: 1 })[Symbol.asyncIterator]().next()
  if (held.done !== true) {
    throw new ApiError('invalid_params', 'This home has a workspace already.', {
      hint: 'Run relay-node status to see it, or set RELAY_NODE_HOME to another folder for a second one.',
    })
  }
  const key = signingKey(seed)
  const nonce = system.dice(32)
  const w = system.dice(32)
  const place = { nonce: toHex(nonce), epoch: 0 }
  const successor = system.dice(32)
  // The prekey record names the workspace, which is the id of the entry that wraps to it: the wrap
  // names a prekey of no workspace yet, and the record for teammates is made afterwards.
  const first = await makePrekey({ system, deviceSeed: seed, ws: toHex(nonce), counter: 0 })
  const wrap = await wrapWorkspaceKey(w, place, {
    device: key.public,
    prekey: first.prekey.id,
    x25519: first.prekey.x25519,
    ekm: system.dice(32),
  })
  const genesis = signRosterEntry(
    {
      v: 1,
      ws: null,
      n: 0,
      prev: null,
      kind: 'genesis',
      ctl: {
        name: team,
        member,
        device: key.public,
        device_name: deviceName,
        successor: hash('successor', [fromHex(signingKey(successor).public)]),
        nonce: place.nonce,
        commit: commitWorkspaceKey(w, place),
        wraps: [wrap],
      },
      ts: system.clock.now(),
    },
    key,
  )
  const own = await makePrekey({ system, deviceSeed: seed, ws: genesis.id, counter: 1 })
  await store.batch([
    putRosterEntry(0, genesis.id, genesis.envelope),
    putSecret(`prekey/${first.prekey.id}`, first.seed),
    putSecret('workspace/0', w),
    ...own.writes,
  ])
  return { handle: `${member}@${team}`, successorWords: phraseWords(successor) }
}
