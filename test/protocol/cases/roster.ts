/** Refusals of roster entries. */
import {
  chainTo,
  decodeCanonical,
  emptyRosterLog,
  encodeCanonical,
  hash,
  parseRosterEntry,
  type RosterCtl,
  type RosterEntry,
  type RosterHeader,
  type RosterKind,
  sign,
  signingKey,
  signRosterEntry,
  type Value,
} from '../../../protocol/index.ts'
import {
  alice,
  type Actor,
  bob,
  carol,
  deviceCtl,
  genesisOf,
  mallory,
  mustAdmit,
  seedOf,
  type Workspace,
  wrapFor,
} from '../../cast.ts'
import { admitted, weighed } from '../vector-exhibits.ts'
import { team } from '../vector-history.ts'
import { refusalCase, type RefusalCase } from './refusal-case.ts'

/** Encodings of points of small order, and one whose y is not reduced. */
export const WEAK_KEYS = {
  'the identity': `01${'00'.repeat(31)}`,
  'order 2': `ec${'ff'.repeat(30)}7f`,
  'order 4': '00'.repeat(32),
  'order 8': 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'the identity, not reduced': `ee${'ff'.repeat(30)}7f`,
  'the identity with a sign': `01${'00'.repeat(30)}80`,
} as const

/** R is the base point and S is 1: [S]B = R + [k]A for whatever k, since A is the identity. */
const SIGNATURE_OF_IDENTITY = `58${'66'.repeat(31)}01${'00'.repeat(31)}`

const owner2 = signingKey(seedOf('successor', 'acme'))

function judge<K extends RosterKind>(
  workspace: Workspace,
  kind: K,
  ctl: RosterCtl<K>,
  options: { by?: Actor; header?: Partial<RosterHeader> } = {},
) {
  const { by = bob, header = {} } = options
  const plain = workspace.draft(kind, ctl, header).header
  return admitted(workspace.log, signRosterEntry(plain, by.key))
}

/** The plain value of a roster entry's header. */
export function headerOf(entry: RosterEntry): { readonly [key: string]: Value } {
  const outer = decodeCanonical(entry.envelope, { bytesMax: 8192 })
  const [header] = outer.ok ? (outer.value as readonly Uint8Array[]) : []
  const value = decodeCanonical(header ?? new Uint8Array(0), { bytesMax: 8192 })
  if (!value.ok) throw new Error(value.refusal)
  return value.value as { readonly [key: string]: Value }
}

export const ROSTER_CASES: readonly RefusalCase[] = [
  ...Object.entries(WEAK_KEYS).map(([name, key]) =>
    refusalCase('weak_key', `an Ed25519 key: ${name}`, (wrong) => weighed(wrong ? key : bob.device)),
  ),
  refusalCase('weak_key', 'a laptop enrolled with a key under which one signature holds for everything', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    const device = WEAK_KEYS['the identity']
    const weak = { ...ctl, device, device_signature: SIGNATURE_OF_IDENTITY, wraps: [wrapFor(device)] }
    return judge(workspace, 'add-device', wrong ? weak : ctl)
  }),
  refusalCase('weak_key', 'an invite with a key of small order', (wrong) =>
    judge(team([alice]), 'invite', {
      key: wrong ? WEAK_KEYS['order 4'] : carol.device,
      name: 'carol',
      role: 'member',
      kind: 'person',
      expires: 0,
    }),
  ),
  refusalCase('roster_chain', 'a number skipped', (wrong) => {
    const workspace = team([alice])
    const n = workspace.roster().point[0] + (wrong ? 2 : 1)
    return judge(workspace, 'set-bootstrap', { addresses: [] }, { header: { n } })
  }),
  refusalCase('roster_chain', 'a second genesis', (wrong) => {
    const log = wrong ? team([alice]).log : emptyRosterLog()
    return admitted(log, genesisOf(bob, 'other'))
  }),
  refusalCase('roster_author', 'signed by a member who is not the owner', (wrong) =>
    judge(team([alice]), 'set-bootstrap', { addresses: [] }, { by: wrong ? mallory : bob }),
  ),
  refusalCase('roster_author', 'handed over by another key than the successor', (wrong) => {
    const key = wrong ? mallory.key : owner2
    const by = { ...mallory, key }
    return judge(
      team([alice]),
      'handover',
      { key: key.public, device: alice.device, successor: '77'.repeat(32) },
      { by },
    )
  }),
  refusalCase('bad_signature', 'a handover that names the successor and is signed by another', (wrong) => {
    const by = { ...mallory, key: wrong ? mallory.key : owner2 }
    return judge(
      team([alice]),
      'handover',
      { key: owner2.public, device: alice.device, successor: '77'.repeat(32) },
      { by },
    )
  }),
  refusalCase('bad_signature', 'a genesis signed by another than its owner', (wrong) => {
    const { header } = genesisOf(bob, 'acme')
    return admitted(emptyRosterLog(), signRosterEntry(header, wrong ? mallory.key : bob.key))
  }),
  refusalCase('workspace_mismatch', 'an entry of another roster', (wrong) =>
    judge(team([alice]), 'set-bootstrap', { addresses: [] }, wrong ? { header: { ws: hash('payload', []) } } : {}),
  ),
  refusalCase('roster_state', 'a name that is taken', (wrong) =>
    judge(team([alice]), 'add-member', {
      name: wrong ? 'alice' : 'carol',
      role: 'member',
      kind: 'person',
      invite: null,
    }),
  ),
  refusalCase('roster_state', 'a removed key that comes back', (wrong) => {
    const workspace = team([alice])
    workspace.write('remove-device', { device: alice.device })
    return judge(workspace, 'add-device', deviceCtl(workspace, workspace.member('alice'), wrong ? alice : carol))
  }),
  refusalCase('roster_state', 'the owner’s own laptop removed', (wrong) =>
    judge(team([alice]), 'remove-device', { device: wrong ? bob.device : alice.device }),
  ),
  refusalCase('roster_state', 'an invite used twice', (wrong) => {
    const workspace = team([alice])
    const invite = workspace.write('invite', {
      key: carol.device,
      name: 'carol',
      role: 'member',
      kind: 'person',
      expires: 0,
    })[1]
    if (wrong) workspace.write('revoke-invite', { invite })
    return judge(workspace, 'add-member', { name: 'carol', role: 'member', kind: 'person', invite })
  }),
  refusalCase('roster_state', 'another role than the invite says', (wrong) => {
    const workspace = team([alice])
    const invite = workspace.write('invite', {
      key: carol.device,
      name: 'carol',
      role: 'reader',
      kind: 'person',
      expires: 0,
    })[1]
    return judge(workspace, 'add-member', { name: 'carol', role: wrong ? 'member' : 'reader', kind: 'person', invite })
  }),
  refusalCase('roster_state', 'an epoch skipped', (wrong) => {
    const workspace = team([alice])
    const wraps = [...workspace.roster().devices.keys()].map(wrapFor)
    return judge(workspace, 'rekey', { epoch: wrong ? 2 : 1, commit: '66'.repeat(32), wraps })
  }),
  refusalCase('wrap_cover', 'a new key that leaves a laptop out', (wrong) => {
    const workspace = team([alice])
    const wraps = [...workspace.roster().devices.keys()].map(wrapFor)
    return judge(workspace, 'rekey', { epoch: 1, commit: '66'.repeat(32), wraps: wrong ? wraps.slice(1) : wraps })
  }),
  refusalCase('roster_proof', 'the joiner’s signature is over another key', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    return judge(workspace, 'add-device', wrong ? { ...ctl, prekey: hash('payload', ['swapped']) } : ctl)
  }),
  refusalCase('roster_proof', 'an invite’s place taken without its key', (wrong) => {
    const workspace = team([alice])
    const ctl = deviceCtl(workspace, workspace.member('alice'), carol)
    return judge(workspace, 'add-device', wrong ? { ...ctl, invite_signature: '88'.repeat(64) } : ctl)
  }),
  refusalCase('wrap_cover', 'a genesis that wraps to nobody', (wrong) => {
    const { header } = genesisOf(bob, 'acme')
    if (header.kind !== 'genesis') throw new Error('no genesis')
    const ctl = { ...header.ctl, wraps: wrong ? [] : header.ctl.wraps }
    return admitted(emptyRosterLog(), signRosterEntry({ ...header, ctl }, bob.key))
  }),
  refusalCase('schema', 'a genesis with a predecessor', (wrong) =>
    admitted(emptyRosterLog(), genesisOf(bob, 'acme', wrong ? { prev: hash('payload', []) } : {})),
  ),
  refusalCase('unknown_kind', 'a roster kind that does not exist', (wrong) => {
    const plain = headerOf(genesisOf(bob, 'acme'))
    const header = encodeCanonical({ ...plain, kind: wrong ? 'toString' : 'genesis' })
    const envelope = encodeCanonical([header, sign(bob.key, 'roster', [header])])
    return admitted(emptyRosterLog(), { envelope })
  }),
]

/** Kept here so that a workspace can be rebuilt from its bytes alone. */
export function replay(workspace: Workspace) {
  const log = emptyRosterLog()
  for (const entry of chainTo(workspace.log, workspace.roster().point)) {
    const parsed = parseRosterEntry(entry.envelope)
    if (!parsed.ok) throw new Error(parsed.refusal)
    mustAdmit(log, parsed.value)
  }
  return log
}
